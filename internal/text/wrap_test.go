package text_test

import (
	"testing"

	"github.com/fettle-dev/fettle/internal/text"
)

func TestTextIsWrappedBetweenWords(t *testing.T) {
	t.Parallel()

	for in, want := range map[string]string{
		"one two three": "> one two\n> three", "": "", "ünüs düo": "> ünüs düo", "averyverylongword a": "> averyverylongword\n> a", "a\n\nb\n": "> a\n>\n> b",
		"  an: example that is long": ">   an: example that is long",
	} {
		if in == "" {
			want = ">"
		}
		if got := text.Wrap(in, 8, "> "); got != want {
			t.Errorf("%q became %q, not %q", in, got, want)
		}
	}
}
