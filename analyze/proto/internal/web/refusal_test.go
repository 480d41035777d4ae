package web

import "testing"

// TestRefusal tells bodies that refuse from those that only speak of errors.
func TestRefusal(t *testing.T) {
	t.Parallel()
	for body, refuses := range map[string]bool{
		"INVALIDPASSWORDID|Password or key and/or id are incorrect\n": true,
		"ERROR: no such user":         true,
		"  Error: no such user":       true,
		"error=invalid_token&state=1": true,
		"FAILED":                      true,
		"failed: try again":           true,
		`{"error":{"code":-32601,"message":"Method not found"}}`: true,
		`{"data":null, "errors" : [{"message":"no"}]}`:           true,
		`{"success": false, "id": 7}`:                            true,
		`{"status":"error"}`:                                     true,
		"":                                                       false,
		"OK":                                                     false,
		"Errors of the day":                                      false,
		"Failure is not an option, a film":                       false,
		"<html>ERROR</html>":                                     false,
		`{"error":null,"data":1}`:                                false,
		`{"errors":[],"success":true}`:                           false,
		`{"items":[{"error":"x"}],"error": ""}`:                  false,
		`{"title":"error","text":"\"error\": 1"}`:                false,
		`{"error":`:                                              false,
		`{"a":"error`:                                            false,
		`{"status":"ok","error":0}`:                              false,
	} {
		if got := Refusal([]byte(body)); (got != "") != refuses {
			t.Errorf("%q: got %q, refuses %v", body, got, refuses)
		}
	}
}

// FuzzRefusal: hostile bodies do no harm.
func FuzzRefusal(f *testing.F) {
	f.Add([]byte(`{"error":{"a":"\\"}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if got := Refusal(b); len(got) > maxWords {
			t.Errorf("%d bytes kept", len(got))
		}
	})
}
