package purge_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/providers/purge"
)

// The first number in login.defs counts. Without one,
// the default applies.
func FuzzSetting(f *testing.F) {
	f.Add("# UID_MIN 5\nUID_MIN\t\t 1000 # first\nUID_MIN 7\n", uint16(500))
	f.Add("UID_MIN\nUID_MIN x\nUID_MIN 0x10\nUID_MINX 3", uint16(0))
	f.Add("\x00UID_MIN 1\r\nUID_MIN 99999999999999999999", uint16(1))
	f.Fuzz(func(t *testing.T, text string, n uint16) {
		const none = -7
		got := purge.Setting(text, "UID_MIN", none)
		if other := purge.Setting(text, "UID_MIN", none-1); got != other && (got != none || other != none-1) {
			t.Errorf("%q has %d or %d", text, got, other)
		}
		if first := purge.Setting(fmt.Sprintf("UID_MIN %d\n%s", n, text), "UID_MIN", none); first != int64(n) {
			t.Errorf("UID_MIN %d before %q is %d", n, text, first)
		}
		if last := purge.Setting(fmt.Sprintf("%s\nUID_MIN %d", text, n), "UID_MIN", none); got != none && last != got || got == none && last != int64(n) && last != none {
			t.Errorf("UID_MIN %d behind %q, which has %d, is %d", n, text, got, last)
		}
	})
}

func BenchmarkSetting(b *testing.B) {
	text := strings.Repeat("# a comment as login.defs has many of them\nMAIL_DIR /var/mail\n", 100) + "UID_MIN 1000\n"
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if n := purge.Setting(text, "UID_MIN", 0); n != 1000 {
			b.Fatal(n)
		}
	}
}
