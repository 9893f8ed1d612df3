package catalog_test

import (
	"encoding/json"
	"testing"

	"github.com/fettle-dev/fettle/internal/catalog"
)

// FuzzSortKeys holds that the quick way to sort keys says what the general one does.
func FuzzSortKeys(f *testing.F) {
	f.Add(`{"b":[{"z":1,"a":"x\"y,{}"},[],{}],"a":null,"a!":"\\","a\u003c":1e3,"":-0.5}`)
	f.Add(`["]","[",{"}":"{"}]`)
	f.Add(`"text"`)
	f.Add("\"\xff\"")
	f.Add(`{"A":1,"\u0001":2,"\"":3,"#":{"~":1,"\\":2}}`)
	f.Add(`{"a!":2,"a":3,"a ":4,"b":{"a\u003c":{"b\u003e":"\\","b?":0}}}`)
	f.Add(`{"\"":1,"\n":2}`)
	f.Add(`{"a!":2,"a":3,"a ":4}`)
	f.Add(`{"\ufffd":1,"A":"\\u0041"}`)
	f.Fuzz(func(t *testing.T, in string) {
		var raw json.RawMessage
		if json.Unmarshal([]byte(in), &raw) != nil {
			return
		}
		var v any
		if json.Unmarshal(raw, &v) != nil {
			return
		}
		made, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		want, err := catalog.CanonicalJSON(made)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := catalog.SortKeys(made); err != nil || string(got) != string(want) {
			t.Errorf("got  %s, %v\nwant %s", got, err, want)
		}
		type pair struct {
			Z, A any
			B    string `json:"a!"`
			C    string `json:"a"`
		}
		made, err = json.Marshal(pair{v, in, in, in})
		if err != nil {
			t.Fatal(err)
		}
		want, err = catalog.CanonicalJSON(made)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := catalog.SortKeys(made); err != nil || string(got) != string(want) {
			t.Errorf("got  %s, %v\nwant %s", got, err, want)
		}
	})
}
