package debversion_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/providers/package/debversion"
	"github.com/fettle-dev/fettle/test/fixtures/budget"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// ordered returns versions from the oldest to the newest. Those in one line are equal.
func ordered() [][]string {
	return [][]string{
		{"~~"},
		{"~~a"},
		{"~"},
		{"", "0", "00", "0:0-0", "0-"},
		{"0-0.1"},
		{"0.0.1~rc1"},
		{"0.0.1", "00.00.01", "0:0.0.1-0"},
		{"1.0~"},
		{"1.0~beta1~svc1245"},
		{"1.0~beta1"},
		{"1.0~rc1-1"},
		{"1.0", "1.0-0", "0:1.0", "1.00", "01.0-00"},
		{"1.0-0+b1"},
		{"1.0-1~bpo12+1"},
		{"1.0-1"},
		{"1.0-1A"},
		{"1.0-1a"},
		{"1.0-1+b1"},
		{"1.0-1.1"},
		{"1.0-9"},
		{"1.0-10"},
		{"1.0a"},
		{"1.0+dfsg"},
		{"1.0-rc-1"},
		{"1.0.1"},
		{"1.2.3-99999999999999999999999"},
		{"1.2.3-100000000000000000000000"},
		{"1.10"},
		{"20240101"},
		{"1:0.1"},
		{"2:0~"},
		{"10:0~"},
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()

	for i, line := range ordered() {
		for j, other := range ordered() {
			for _, a := range line {
				for _, b := range other {
					if got := debversion.Compare(a, b); sign(got) != sign(i-j) {
						t.Errorf("Compare(%q, %q) is %d, not like %d", a, b, got, i-j)
					}
				}
			}
		}
	}
}

func sign(i int) int { return min(max(i, -1), 1) }

func TestCompareAgreesWithDpkg(t *testing.T) {
	t.Parallel()

	pairs, r := budget.Events(t, 200, 2000), budget.Random(t)
	root := debian.Root(t)
	var script strings.Builder
	var want []string
	for range pairs {
		a := version(r)
		b := mutation(r, a)
		fmt.Fprintf(&script, "dpkg --compare-versions %s lt %s 2>/dev/null && echo -1 || { dpkg --compare-versions %s eq %s 2>/dev/null && echo 0 || echo 1; }\n", a, b, a, b)
		want = append(want, fmt.Sprintf("%s %s %d", a, b, sign(debversion.Compare(a, b))))
	}
	if err := os.WriteFile(filepath.Join(root, "ask"), []byte(script.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	got := strings.Fields(debian.Chroot(t, root, "sh", "/ask"))
	if len(got) != pairs {
		t.Fatalf("dpkg gave %d answers", len(got))
	}
	for i, w := range want {
		if !strings.HasSuffix(w, " "+got[i]) {
			t.Errorf("dpkg printed %s for: %s", got[i], w)
		}
	}
}

// version generates a version that dpkg accepts: it begins with a digit, and has an epoch, a revision
// both or neither.
func version(r *rand.Rand) string {
	text := fmt.Sprint(r.IntN(3)) + letters(r, "0019aZ.+~", 6)
	if r.IntN(3) == 0 {
		text = fmt.Sprint(r.IntN(3)) + ":" + text
	}
	if r.IntN(2) == 0 {
		text += "-" + letters(r, "0019aZ.+~", 4) + "1"
	}
	return text
}

func letters(r *rand.Rand, from string, most int) string {
	var b strings.Builder
	for range r.IntN(most + 1) {
		b.WriteByte(from[r.IntN(len(from))])
	}
	return b.String()
}

// mutation returns a version similar to another one, or an unrelated one.
func mutation(r *rand.Rand, v string) string {
	epoch, rest, found := strings.Cut(v, ":")
	if !found {
		epoch, rest = "0", v
	}
	switch r.IntN(5) {
	case 0:
		return epoch + ":" + rest
	case 1:
		return v + letters(r, "0~a+.", 2)
	case 2:
		return epoch + ":" + strings.Replace(rest, "1", "01", 1)
	case 3:
		return epoch + ":" + rest[:1] + strings.Replace(rest[1:], "0", "0~", 1)
	default:
		return version(r)
	}
}

// FuzzCompare looks for panics, and for violations of a total order.
func FuzzCompare(f *testing.F) {
	f.Add("1:1.0-1", "1.0~rc1", "2")
	f.Add("-", ":", "~")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		ab, bc, ac := debversion.Compare(a, b), debversion.Compare(b, c), debversion.Compare(a, c)
		if debversion.Compare(a, a) != 0 || sign(debversion.Compare(b, a)) != -sign(ab) {
			t.Errorf("%q and %q have no order", a, b)
		}
		if ab <= 0 && bc <= 0 && ac > 0 {
			t.Errorf("%q <= %q <= %q, but not the first and the last", a, b, c)
		}
	})
}
