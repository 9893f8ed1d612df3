package debversion_test

import (
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/providers/package/debversion"
)

// A range has the versions that each bound allows, and the newest of some versions is in
// it and not older than any other in it.
func FuzzRange(f *testing.F) {
	f.Add(">=1.0 <2.0", "1.5", "2.0~rc1")
	f.Add("=1.0", "1.0-0", "1.0")
	f.Add("<1 >2", "1", "2")
	f.Add(">=1:0 <=1:0", "1:0", "1:0-0")
	f.Add("> 1", "", "~")
	f.Fuzz(func(t *testing.T, text, one, two string) {
		r, err := debversion.ParseRange(text)
		if err != nil {
			return
		}
		if !debversion.IsRange(text) {
			t.Errorf("%q is parsed as a range, but IsRange is false", text)
		}
		for _, v := range []string{one, two} {
			all := true
			for word := range strings.SplitSeq(text, " ") {
				bound, err := debversion.ParseRange(word)
				if err != nil {
					t.Fatalf("%q of %q: %v", word, text, err)
				}
				all = all && bound.Has(v)
			}
			if r.Has(v) != all {
				t.Errorf("%q has %q: %t, but its bounds allow it: %t", text, v, r.Has(v), all)
			}
		}
		newest := r.Newest([]string{one, two})
		if newest != "" && !r.Has(newest) {
			t.Errorf("the newest in %q is %q, which is not in it", text, newest)
		}
		for _, v := range []string{one, two} {
			if v != "" && r.Has(v) && debversion.Compare(v, newest) > 0 {
				t.Errorf("the newest in %q is %q, but %q is newer", text, newest, v)
			}
		}
	})
}

func BenchmarkRange(b *testing.B) {
	const text = ">=2:8.2.2434-3 <2:9.1~"
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if r, err := debversion.ParseRange(text); err != nil || !r.Has("2:9.0.1378-2+deb12u2") {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompare(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if debversion.Compare("2:9.0.1378-2+deb12u2", "2:9.0.1378-2+deb12u10") >= 0 {
			b.Fatal("not older")
		}
	}
}
