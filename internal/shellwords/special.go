package shellwords

import (
	"fmt"
	"strings"
)

// plain returns what a shell would do about the next byte, which is not in quotes; "" if it has no meaning there.
func (s *scanner) plain(c byte) string {
	switch c {
	case '|', '&', ';', '<', '>', '(', ')':
		return s.unquoted(c, "which only a shell understands")
	case '`':
		return s.expanded(c)
	case '$':
		if s.expands(`'"`) {
			return s.expanded(c)
		}
	case '*', '?', '[', '{':
		if s.isPattern(c) {
			return s.unquoted(c, "which a shell would expand")
		}
	case '~', '#':
		return s.firstInWord(c)
	}
	return ""
}

// firstInWord is plain for bytes that have a meaning only where a word begins.
func (s *scanner) firstInWord(c byte) string {
	switch {
	case s.at != s.start:
		return ""
	case c == '#':
		return s.unquoted(c, "where a shell would begin a comment")
	}
	return s.unquoted(c, "which a shell would expand")
}

func (s *scanner) unquoted(c byte, meaning string) string {
	return fmt.Sprintf("has an unquoted %c at character %d, %s: quote it", c, s.position(s.at), meaning)
}

func (s *scanner) expanded(c byte) string {
	return fmt.Sprintf("has a %c at character %d, which a shell would expand: put it in single quotes", c, s.position(s.at))
}

// expands reports whether a dollar sign begins a variable or something else that a shell replaces, which quotes do here as well.
func (s *scanner) expands(quotes string) bool {
	if s.at+1 == len(s.line) {
		return false
	}
	next := s.line[s.at+1]
	return inName(next) || strings.IndexByte("{(*@#?-$!"+quotes, next) >= 0
}

// isPattern reports whether a shell would compare the word with the names of files, or make words from it. No file has the name of a
// URL, and the shells that know braces want a comma or two dots in them.
func (s *scanner) isPattern(c byte) bool {
	rest := s.line[s.at+1:]
	if end := strings.IndexAny(rest, blanks); end >= 0 {
		rest = rest[:end]
	}
	switch c {
	case '[':
		return strings.LastIndexByte(rest, ']') > 0 && !s.inURL()
	case '{':
		inside, _, closed := strings.Cut(rest, "}")
		return closed && (strings.Contains(inside, ",") || strings.Contains(inside, ".."))
	}
	return !s.inURL()
}

func (s *scanner) inURL() bool { return strings.Contains(string(s.word), "://") }
