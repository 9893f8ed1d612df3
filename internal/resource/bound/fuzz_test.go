package bound_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
)

// A parsed reference formats to the same text.
func FuzzParseRef(f *testing.F) {
	for _, s := range []string{"File/motd", "User/ann", "File/etc/hosts", "", "/", "File", "/motd", "File/", "a/\x00/\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ref, err := resource.ParseRef(s)
		if err != nil {
			if kind, name, _ := strings.Cut(s, "/"); kind != "" && name != "" {
				t.Errorf("%q is refused: %v", s, err)
			}
			return
		}
		if again, err := resource.ParseRef(ref.String()); err != nil || again != ref || ref.String() != s || ref.Compare(again) != 0 {
			t.Errorf("%q is %#v, and again %#v, %v", s, ref, again, err)
		}
	})
}

// A condition either holds or returns reasons. An invalid condition never holds.
func FuzzWhere(f *testing.F) {
	f.Add("Debian", "debian", "Ubuntu")
	f.Add("12", "/^1[0-9]$/", "/(/")
	f.Add("", "", "//")
	f.Add("/x", "/", "/x")
	f.Fuzz(func(t *testing.T, is, one, two string) {
		facts := resource.Facts{"fact": is}
		where := resource.Where{"fact": {one, two}}
		needs := resource.Needs{Facts: where}
		if holds, unmet := where.Holds(facts), needs.Unmet(facts, nil); holds != (unmet == nil) {
			t.Errorf("%v holds for %q: %t, but what is unmet is %v", where, is, holds, unmet)
		}
		if either := (resource.Where{"fact": {one}}).Holds(facts) || (resource.Where{"fact": {two}}).Holds(facts); either != where.Holds(facts) {
			t.Errorf("%v holds for %q as a whole alone", where, is)
		}
		if plain := !strings.HasPrefix(one, "/"); plain && is != "" && strings.EqualFold(is, one) != (resource.Where{"fact": {one}}).Holds(facts) {
			t.Errorf("%q is not compared with %q as a whole", is, one)
		}
		if err := bound.Kind(lamps(picky{plain: plain{name: "p"}, needs: needs})).Problems(); err != nil && where.Holds(facts) && one == two {
			t.Errorf("%v holds for %q and is none: %v", where, is, err)
		}
	})
}

// Attributes that bind also bind a second time to the same, and are either compared or unsupported.
func FuzzBind(f *testing.F) {
	for _, s := range []string{`{}`, ``, `{"colour":"RED","watts":7,"rooms":["a","a"],"allOf":true}`, `{"watts":-1}`, `{"ensure":"absent"}`, `{"dimming":null}`, `[]`, `{"name":"x"}{}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, attributes []byte) {
		typ := lamps(plain{name: "switch", is: lamp{Ensure: new("present"), Colour: new("red")}})
		ref := resource.Ref{Kind: "Lamp", Name: "desk"}
		r, err := bound.Kind(typ).Bind(ref, json.RawMessage(attributes))
		if err != nil {
			return
		}
		again, err := bound.Kind(typ).Bind(ref, json.RawMessage(attributes))
		if err != nil || again.Namevar() != r.Namevar() || r.Namevar() == "" {
			t.Fatalf("%q binds to %q and then to %v, %v", attributes, r.Namevar(), again, err)
		}
		must(t, r.Choose(nil, nil, ""))
		must(t, r.Read(t.Context(), resource.Call{}.Reader(nil)))
		c := r.Compare()
		for _, change := range c.Changes {
			if change.Property == resource.Ensure && len(c.Changes) > 1 || change.Message == "" {
				t.Errorf("%q changes %+v", attributes, c.Changes)
			}
		}
	})
}
