package aidiag

import (
	"encoding/json"

	"netwhy/aidiag/faulttest"
)

// mustJSON is what a model says to a request; "{}" where there is no case.
func mustJSON(r faulttest.Request, think func(faulttest.Evidence) faulttest.Say) string {
	e, err := faulttest.ReadEvidence(r)
	if err != nil {
		return "{}"
	}
	b, err := json.Marshal(think(e))
	if err != nil {
		return "{}"
	}
	return string(b)
}
