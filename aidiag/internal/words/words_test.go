package words

import (
	"reflect"
	"regexp"
	"slices"
	"testing"

	"netwhy/aidiag/internal/llm"
)

// TestLanguages: each line stands in each language, with the same verbs.
func TestLanguages(t *testing.T) {
	t.Parallel()
	verb := regexp.MustCompile(`%(?:\[\d\])?[a-z]`)
	index := regexp.MustCompile(`\[\d\]`)
	en, zh := reflect.ValueOf(*In("en")), reflect.ValueOf(*In("zh-CN"))
	for i := range en.NumField() {
		name := en.Type().Field(i).Name
		if name == "causes" {
			continue
		}
		if en.Field(i).Kind() == reflect.Array {
			for j := range en.Field(i).Len() {
				if en.Field(i).Index(j).String() == "" || zh.Field(i).Index(j).String() == "" {
					t.Errorf("%s %d is missing in a language", name, j)
				}
			}
			continue
		}
		if en.Field(i).String() == "" || zh.Field(i).String() == "" || en.Field(i).String() == zh.Field(i).String() {
			t.Errorf("%s is missing in a language", name)
		}
		var verbs [2][]string
		for k, v := range []reflect.Value{en, zh} {
			for _, s := range verb.FindAllString(v.Field(i).String(), -1) {
				verbs[k] = append(verbs[k], index.ReplaceAllString(s, ""))
			}
			slices.Sort(verbs[k])
		}
		if !slices.Equal(verbs[0], verbs[1]) {
			t.Errorf("%s takes %v in English and %v in Chinese", name, verbs[0], verbs[1])
		}
	}
	if got := In("zh").Cause(llm.ErrTTFB.Error()); got == llm.ErrTTFB.Error() || In("zh").Cause("connection refused") != "connection refused" || In("en").Cause(llm.ErrTTFB.Error()) != llm.ErrTTFB.Error() {
		t.Errorf("causes: %q", got)
	}
	if In("fr").Back != In("").Back {
		t.Error("an unknown language is not English")
	}
}
