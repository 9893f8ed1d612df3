package text_test

import (
	"testing"

	"github.com/fettle-dev/fettle/internal/text"
)

func TestParagraphsAreWrappedAndExamplesStay(t *testing.T) {
	t.Parallel()

	in := "one two\nthree four five\n\n- a list item\n  goes on\n- second\n\n| a | table that is wide |\n\n    code that is long\n\n```sh\nverbatim and long\n```\n1. one\n"
	want := "> one two\n> three four\n> five\n>\n> - a list\n> item goes\n> on\n> - second\n>\n> | a | table that is wide |\n>\n>     code that is long\n>\n" +
		"> ```sh\n> verbatim and long\n> ```\n> 1. one"
	if got := text.Reflow(in, 13, "> "); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
