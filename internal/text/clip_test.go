package text_test

import (
	"testing"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/internal/text"
)

func TestClipSplitsNoCharacter(t *testing.T) {
	for _, c := range []struct {
		s           string
		n           int
		clip, front string
	}{
		{"", 3, "", ""},
		{"abc", 3, "abc", "abc"},
		{"abcdefg", 6, "abc...", "...efg"},
		{"abcd", 3, "...", "..."},
		{"añbcde", 5, "a...", "...de"},
		{"abcdñe", 5, "ab...", "...e"},
		{"añbcdñe", 6, "añ...", "...ñe"},
		{"日本", 5, "...", "..."},
		{"a👩b👩c", 7, "a...", "...c"},
		{"a👩b👩c", 8, "a👩...", "...👩c"},
		{"\xff\xfe\xfd\xfc\xfb", 4, "\xff...", "...\xfb"},
		{"\x80\x80\x80\x80\x80\x80\x80\x80\x80", 8, "\x80\x80\x80\x80\x80...", "...\x80\x80\x80\x80\x80"},
		{"é\x80\x80\x80\x80\xc3", 6, "é\x80...", "...\x80\x80\xc3"},
	} {
		if got := text.Clip(c.s, c.n); got != c.clip {
			t.Errorf("Clip(%q, %d): got %q, want %q", c.s, c.n, got, c.clip)
		}
		if got := text.ClipFront(c.s, c.n); got != c.front {
			t.Errorf("ClipFront(%q, %d): got %q, want %q", c.s, c.n, got, c.front)
		}
	}
}

func TestClipMiddleRetainsBothEnds(t *testing.T) {
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{
		{"", 3, ""},
		{"abcdefg", 7, "abcdefg"},
		{"abcdefgh", 7, "ab...gh"},
		{"abcdefgh", 6, "a...gh"},
		{"abcd", 3, "..."},
		{"añbcdeñf", 7, "a...ñf"},
		{"cannot write /a: no space left", 20, "cannot w...pace left"},
	} {
		if got := text.ClipMiddle(c.s, c.n); got != c.want {
			t.Errorf("ClipMiddle(%q, %d): got %q, want %q", c.s, c.n, got, c.want)
		}
	}
}

func FuzzClip(f *testing.F) {
	f.Add("añb日", 5)
	f.Add("\x80\x80\x80\xff\xe6\x97", 4)
	f.Fuzz(func(t *testing.T, s string, n int) {
		if n < len("...") {
			return
		}
		for i, got := range []string{text.Clip(s, n), text.ClipFront(s, n), text.ClipMiddle(s, n)} {
			if len(got) > n || utf8.ValidString(s) && !utf8.ValidString(got) {
				t.Errorf("%q in %d bytes: %q", s, n, got)
			}
			if len(s) <= n && got != s {
				t.Errorf("%q fits %d bytes and became %q", s, n, got)
			}
			cuts := max(1, i) // the third one cuts twice
			if len(s) > n && len(got) < n-cuts*(utf8.UTFMax-1) {
				t.Errorf("%q in %d bytes has lost more than a character: %q", s, n, got)
			}
		}
	})
}

func TestTrimIncompleteRemovesTheBeginningOfACharacter(t *testing.T) {
	for s, want := range map[string]string{
		"": "", "aé": "aé", "a\xc3": "a", "a\xe6\x97": "a", "日\xf0\x9f\x91": "日", "a\xff": "a\xff", "\x80\x80\x80\x80": "\x80\x80\x80\x80",
	} {
		if got := text.TrimIncomplete(s); got != want {
			t.Errorf("%q: got %q, want %q", s, got, want)
		}
	}
}

func TestFirstLine(t *testing.T) {
	for s, want := range map[string]string{
		"": "", " ": " ", "a b": "a b", "a\n": "a\n", "\n a \r\n\tb": "a...", "set -e\n\nrun\n": "set -e...",
	} {
		if got := text.FirstLine(s); got != want {
			t.Errorf("%q: got %q, want %q", s, got, want)
		}
	}
}
