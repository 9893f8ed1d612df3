package redact

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// add adds a value in JSON.
func (s *Secrets) add(value any) {
	switch v := value.(type) {
	case nil:
	case string:
		s.addString(v)
	case bool:
		s.classes = append(s.classes, booleans)
	case []any:
		for _, e := range v {
			s.add(e)
		}
	case map[string]any:
		for _, e := range v {
			s.add(e)
		}
	default:
		if digits, err := json.Marshal(v); err == nil {
			s.addNumber(string(digits))
		}
	}
}

// addString adds a text, or a number if it is one: programs read it and print it in other ways.
func (s *Secrets) addString(value string) {
	if number.MatchString(value) {
		s.addNumber(strings.TrimSpace(value))
	} else {
		s.addText(value)
	}
}

// addNumber adds a number, which may be encoded as a text, too.
func (s *Secrets) addNumber(digits string) {
	if len(digits) >= minSecret {
		s.addText(digits)
	}
	s.classes = append(s.classes, numbers)
}

// Texts that may be numbers and booleans. They are never changed.
var (
	number   = regexp.MustCompile(`^\s*[+-]?(?i:0x[0-9a-f]+|([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?)\s*$`)
	numbers  = regexp.MustCompile(`(?i)0x[0-9a-f]+|[0-9]+([.,_'][0-9]+)*(e[+-]?[0-9]+)?`)
	booleans = regexp.MustCompile(`(?i)true|false|\b(yes|no|on|off|0|1)\b`)
)

// addText adds a text, its words and its parts.
func (s *Secrets) addText(value string) {
	form := plain(value)
	switch {
	case strings.TrimSpace(value) == "":
		return
	case len(form) < minSecret && len(strings.TrimSpace(value)) >= minSecret:
		s.opaque = true
		return
	case len(form) < minSecret:
		s.short = append(s.short, wordOf(value))
		return
	}
	s.literals, s.wholes = append(s.literals, value), append(s.wholes, form)
	s.addParts(form)
	s.addDivided(lettersOf(view{text: form}).text)
	if ascii := asciiOf(view{text: form}).text; ascii != form {
		s.beyond = true
		s.addParts(ascii)
		s.wholes = append(s.wholes, questioned(form))
	}
}

// questioned returns a text as programs print it that know only ASCII.
func questioned(form string) string {
	return strings.Map(func(r rune) rune {
		if r >= utf8.RuneSelf {
			return '?'
		}
		return r
	}, form)
}

// addDivided adds the letters and digits of a text, and their parts.
func (s *Secrets) addDivided(letters string) {
	if len(letters) >= minDivided {
		s.divided = append(s.divided, letters)
		s.addEach(letters)
	}
}

// addEach adds each part of a text.
func (s *Secrets) addEach(form string) {
	for at := 0; at+part <= len(form); at++ {
		if len(s.parts) >= maxParts {
			s.opaque = true
			return
		}
		s.addPart(form[at : at+part])
	}
}

// addParts adds the parts and the words of a text.
func (s *Secrets) addParts(form string) {
	s.addEach(form)
	for _, word := range append(strings.Fields(form), form) {
		if len(word) >= minSecret && len(word) < part {
			s.addPart(word)
		}
	}
}

func (s *Secrets) addPart(p string) {
	if s.parts == nil {
		s.parts = map[uint64]struct{}{}
	}
	s.parts[keyOf(p)] = struct{}{}
	if at, found := slices.BinarySearch(s.lengths, len(p)); !found {
		s.lengths = slices.Insert(s.lengths, at, len(p))
	}
}

// keyOf returns a part as a number. No part has a zero byte, so parts of other lengths have other numbers.
func keyOf(p string) (key uint64) {
	for i := range len(p) {
		key = key<<8 | uint64(p[i])
	}
	return key
}

// plain returns a text in the form in which texts are searched: decoded and comparable.
func plain(value string) string {
	return strings.TrimSpace(squeezed(decoded(view{text: value})).text)
}

// wordOf returns a text in the form in which short secrets are searched.
func wordOf(value string) string {
	return strings.TrimSpace(lowerAll(decoded(view{text: value}).text))
}
