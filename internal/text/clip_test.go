package text_test

import (
	"testing"

	"github.com/fettle-dev/fettle/internal/text"
)

func TestClipCutsBetweenCharacters(t *testing.T) {
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{
		{"", 0, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc..."}, {"añb", 2, "a..."}, {"añb", 3, "añ..."}, {"日本", 2, "..."}, {"\xff\xfe\xfd", 1, "\xff..."},
	} {
		if got := text.Clip(c.s, c.n); got != c.want {
			t.Errorf("Clip(%q, %d): got %q, want %q", c.s, c.n, got, c.want)
		}
	}
}
