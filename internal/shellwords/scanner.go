package shellwords

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const blanks = " \t\n"

// A scanner reads a line up to its end or its first fault.
type scanner struct {
	line  string
	at    int // of the next byte
	words []string
	first string // the first word up to its first quote
	fault string // what only a shell understands, and how to avoid it

	word   []byte
	start  int  // of the word
	quoted bool // a part of the word was in quotes, or escaped
}

// skipBlanks advances to the next word and reports whether there is one to read.
func (s *scanner) skipBlanks() bool {
	const continued = "\\\n"
	newline := -1
	for s.fault == "" && s.at < len(s.line) {
		switch rest := s.line[s.at:]; {
		case strings.HasPrefix(rest, continued):
			s.at += len(continued)
			continue
		case rest[0] == '\n':
			newline = s.at
		case !isBlank(rest[0]):
			if newline >= 0 && len(s.words) > 0 {
				s.fault = fmt.Sprintf("has a line break at character %d, where a shell would end the command: put a backslash before it", s.position(newline))
			}
			return s.fault == ""
		}
		s.at++
	}
	return false
}

func isBlank(c byte) bool { return strings.IndexByte(blanks, c) >= 0 }

// position counts characters, from 1.
func (s *scanner) position(at int) int { return utf8.RuneCountInString(s.line[:at]) + 1 }

func (s *scanner) readWord() {
	s.word, s.start, s.quoted = nil, s.at, false
	for s.fault == "" && s.at < len(s.line) && !isBlank(s.line[s.at]) {
		s.readPart(s.line[s.at])
	}
	if !s.quoted {
		s.noteFirst()
	}
	s.words = append(s.words, string(s.word))
}

// readPart reads what is in quotes or escaped, or the next byte that is not.
func (s *scanner) readPart(c byte) {
	switch c {
	case '\'', '"', '\\':
		s.readQuoted(c)
	default:
		s.fault = s.plain(c)
		s.take()
	}
}

func (s *scanner) readQuoted(c byte) {
	if !s.quoted {
		s.noteFirst()
		s.quoted = true
	}
	switch c {
	case '\'':
		s.readSingle()
	case '"':
		s.readDouble()
	default:
		s.readEscape()
	}
}

// noteFirst remembers the part of the first word that has been read.
func (s *scanner) noteFirst() {
	if len(s.words) == 0 {
		s.first = string(s.word)
	}
}

// take adds the next byte to the word.
func (s *scanner) take() {
	s.word = append(s.word, s.line[s.at])
	s.at++
}

func (s *scanner) readEscape() {
	s.at++
	switch {
	case s.at == len(s.line):
		s.fault = "ends in a backslash: remove it"
	case s.line[s.at] == '\n':
		s.at++
	default:
		s.take()
	}
}

func (s *scanner) readSingle() {
	quoted, rest, closed := strings.Cut(s.line[s.at+1:], "'")
	if !closed {
		s.fault = fmt.Sprintf("has a single quote at character %d that nothing closes: close it", s.position(s.at))
		return
	}
	s.word = append(s.word, quoted...)
	s.at = len(s.line) - len(rest)
}

// escapes reports whether a backslash in double quotes has a meaning.
func (s *scanner) escapes() bool {
	return s.at+1 < len(s.line) && strings.IndexByte("$`\"\\\n", s.line[s.at+1]) >= 0
}

// expandsQuoted reports whether a shell would expand the next byte in double quotes.
func (s *scanner) expandsQuoted(c byte) bool { return c == '`' || c == '$' && s.expands("") }

func (s *scanner) readDouble() {
	open := s.at
	for s.at++; s.at < len(s.line) && s.fault == ""; {
		switch c := s.line[s.at]; {
		case c == '"':
			s.at++
			return
		case c == '\\' && s.escapes():
			s.readEscape()
		case s.expandsQuoted(c):
			s.fault = s.expanded(c)
		default:
			s.take()
		}
	}
	if s.fault == "" {
		s.fault = fmt.Sprintf("has a double quote at character %d that nothing closes: close it", s.position(open))
	}
}
