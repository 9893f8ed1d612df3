package text_test

import (
	"testing"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/internal/text"
)

func TestTextIsClippedBetweenCharacters(t *testing.T) {
	for _, c := range []struct {
		s           string
		n           int
		clip, front string
	}{
		{"", 0, "", ""},
		{"abc", 3, "abc", "abc"},
		{"abcd", 3, "abc...", "...bcd"},
		{"añb", 2, "a...", "...b"},
		{"añb", 3, "añ...", "...ñb"},
		{"日本", 2, "...", "..."},
		{"日本", 0, "...", "..."},
		{"a👩b", 4, "a...", "...b"},
		{"a👩b", 5, "a👩...", "...👩b"},
		{"\xff\xfe\xfd", 1, "\xff...", "...\xfd"},
		{"\x80\x80\x80\x80\x80\x80", 5, "\x80\x80\x80\x80\x80...", "...\x80\x80\x80\x80\x80"},
		{"é\x80\x80\xc3", 3, "é\x80...", "...\x80\x80\xc3"},
	} {
		if got := text.Clip(c.s, c.n); got != c.clip {
			t.Errorf("Clip(%q, %d): got %q, want %q", c.s, c.n, got, c.clip)
		}
		if got := text.ClipFront(c.s, c.n); got != c.front {
			t.Errorf("ClipFront(%q, %d): got %q, want %q", c.s, c.n, got, c.front)
		}
	}
}

func FuzzClip(f *testing.F) {
	f.Add("añb日", 3)
	f.Add("\x80\x80\x80\xff\xe6\x97", 4)
	f.Fuzz(func(t *testing.T, s string, n int) {
		if n < 0 {
			return
		}
		for _, got := range []string{text.Clip(s, n), text.ClipFront(s, n)} {
			if len(got)-len("...") > n && got != s || utf8.ValidString(s) && !utf8.ValidString(got) {
				t.Errorf("%q in %d bytes: %q", s, n, got)
			}
			if len(s) > n && len(got) < n-utf8.UTFMax+1+len("...") {
				t.Errorf("%q in %d bytes has lost more than a character: %q", s, n, got)
			}
		}
	})
}

func TestAnIncompleteCharacterIsTrimmed(t *testing.T) {
	for s, want := range map[string]string{
		"": "", "aé": "aé", "a\xc3": "a", "a\xe6\x97": "a", "日\xf0\x9f\x91": "日", "a\xff": "a\xff", "\x80\x80\x80\x80": "\x80\x80\x80\x80",
	} {
		if got := text.TrimIncomplete(s); got != want {
			t.Errorf("%q: got %q, want %q", s, got, want)
		}
	}
}
