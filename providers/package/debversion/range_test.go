package debversion_test

import (
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/providers/package/debversion"
)

func TestRange(t *testing.T) {
	t.Parallel()

	versions := []string{"2.0", "0.9", "1.9", "1.0", "1.0-1", "2.0~rc1", "1:0.1"}
	for text, want := range map[string]string{
		">=1.0 <2.0":   "1.9 1.0 1.0-1 2.0~rc1, newest 2.0~rc1",
		"<2.0~ >1.0":   "1.9 1.0-1, newest 1.9",
		"<=1.0":        "0.9 1.0, newest 1.0",
		">2.0":         "1:0.1, newest 1:0.1",
		"=1.0-0":       "1.0, newest 1.0",
		">=1.0 <=1.0":  "1.0, newest 1.0",
		">1.9 <2.0~rc": ", newest ",
		">0.9 >1.9":    "2.0 2.0~rc1 1:0.1, newest 1:0.1",
	} {
		r, err := debversion.ParseRange(text)
		if err != nil {
			t.Fatal(err)
		}
		var in []string
		for _, v := range versions {
			if r.Has(v) {
				in = append(in, v)
			}
		}
		if got := strings.Join(in, " ") + ", newest " + r.Newest(versions); got != want {
			t.Errorf("%s has %s; want %s", text, got, want)
		}
	}
}

func TestInvalidRange(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]string{
		"":             `"" is not a range of versions: use one or two bounds, such as >=1.0 <2.0`,
		"1.0":          `"1.0" is not a range of versions: use one or two bounds, such as >=1.0 <2.0`,
		">=1.0  <2.0":  `">=1.0  <2.0" is not a range of versions: use one or two bounds, such as >=1.0 <2.0`,
		">= 1.0":       `">= 1.0" is not a range of versions: use one or two bounds, such as >=1.0 <2.0`,
		">1 <3 <2":     `">1 <3 <2" is not a range of versions: use one or two bounds, such as >=1.0 <2.0`,
		"=>1":          `"=>1" is not a range of versions: use one or two bounds, such as >=1.0 <2.0`,
		">2.0 <1.0":    `no version is in the range ">2.0 <1.0": swap its bounds`,
		">=1.0 <1.0":   `no version is in the range ">=1.0 <1.0": swap its bounds`,
		"=1.0 =2.0":    `no version is in the range "=1.0 =2.0": swap its bounds`,
		">=1.0 <1.0-0": `no version is in the range ">=1.0 <1.0-0": swap its bounds`,
	} {
		_, err := debversion.ParseRange(text)
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v, not %s", text, err, want)
		}
	}
}
