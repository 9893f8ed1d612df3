// Package redact removes secrets from text that people will see.
//
// A program that prints a secret prints it in its own way: as JSON, as its language writes a value, quoted for a shell, or encoded
// for a URL, for XML, in base64 or in hexadecimal. [Secrets] finds all of these. It decodes the text instead of encoding the secrets,
// because encodings leave much to the encoder, and occur within each other. It does not find what a program computes from a secret,
// such as a digest.
package redact

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/text"
)

// Mark replaces a secret wherever it would be shown.
const Mark = "[redacted]"

// Lengths of secrets, in bytes.
const (
	// minSecret is the minimum length of what is replaced wherever it occurs. Shorter values would match everywhere, and what
	// surrounds the marks would tell them.
	minSecret = 4
	// part is the length of a part of a sensitive value that is a secret, too: programs shorten and divide what they print.
	part = 8
	// minDivided is the minimum number of letters and digits of what is found if others are between them.
	minDivided = 6
)

// maxParts bounds the memory for parts, which a program can make large: a value that it reads may be secret.
const maxParts = 500_000

// Secrets are values that must not be shown. The zero value has none. It is immutable.
type Secrets struct {
	literals []string // as they are
	wholes   []string // see plain
	divided  []string // see lettersOf
	parts    map[uint64]struct{}
	lengths  []int    // of parts
	short    []string // see wordOf
	beyond   bool     // some are not ASCII
	opaque   bool     // some cannot be searched: no text is shown
	classes  []*regexp.Regexp
}

// Of returns sensitive values in JSON, without null: every element and every value of an attribute is a secret, but no name of an
// attribute is.
//
//   - A text is replaced, and each part of it of 8 bytes and each word of at least 4.
//   - A text that contains a shorter one as a word is replaced entirely: what remained would tell the secret.
//   - No text is shown beside one that has little else than quotes and backslashes, because encodings change these most, or beside more
//     than half a megabyte of secrets.
//   - For a number, every number is replaced, and for a boolean every word that may be one, for the same reason, and because programs
//     write numbers in many ways.
func Of(values ...any) Secrets {
	var s Secrets
	for _, v := range values {
		s.add(v)
	}
	return s
}

// OfEnvironment returns the values of an environment, given as NAME=value, that may be secret, and the lines of each. Parts of them are
// none, because most environments have no secrets.
func OfEnvironment(environment []string) Secrets {
	var s Secrets
	for _, entry := range environment {
		_, value, _ := strings.Cut(entry, "=")
		for _, line := range append(strings.Split(value, "\n"), value) {
			if form := plain(line); len(form) >= minSecret {
				s.literals, s.wholes = append(s.literals, line), append(s.wholes, form)
			}
		}
	}
	return s
}

// And returns the secrets of both.
func (s Secrets) And(other Secrets) Secrets {
	out := Secrets{
		literals: slices.Concat(s.literals, other.literals), wholes: slices.Concat(s.wholes, other.wholes), short: slices.Concat(s.short, other.short),
		divided: slices.Concat(s.divided, other.divided),
		lengths: slices.Concat(s.lengths, other.lengths), classes: slices.Concat(s.classes, other.classes), beyond: s.beyond || other.beyond, opaque: s.opaque || other.opaque,
		parts: make(map[uint64]struct{}, len(s.parts)+len(other.parts)),
	}
	for _, all := range []map[uint64]struct{}{s.parts, other.parts} {
		for key := range all {
			out.parts[key] = struct{}{}
		}
	}
	slices.Sort(out.lengths)
	out.lengths = slices.Compact(out.lengths)
	return out
}

// Text replaces every secret in a text by [Mark]; overlapping ones by a single mark. The text must not be truncated, since the rest of a
// secret is not recognized if it is short.
func (s Secrets) Text(from string) string {
	switch {
	case s.isEmpty(), from == "":
		return from
	case s.opaque:
		return Mark
	}
	return s.marked(from, whole).text(from)
}

// truncated is Text for a text whose end may have been cut off.
func (s Secrets) truncated(from string) string {
	from = text.TrimIncomplete(from)
	if s.isEmpty() || s.opaque {
		return s.Text(from)
	}
	from = incompleteEscape.ReplaceAllString(from, "")
	m := s.marked(from, truncated)
	return m.text(from[:m.end])
}

// In reports whether Text would replace anything.
func (s Secrets) In(text string) bool { return s.Text(text) != text }

// Value replaces the secrets in the texts of a JSON value, including names. Only what is long enough to be found wherever it occurs is
// replaced: other values need not be what they equal.
func (s Secrets) Value(value any) any {
	s.short, s.classes, s.opaque = nil, nil, false
	return s.every(value, func(v any) any { return v })
}

// Tree is Text for all texts, numbers and booleans of a JSON value, and for names.
func (s Secrets) Tree(value any) any {
	return s.every(value, func(v any) any {
		encoded, err := json.Marshal(v)
		if shown := s.Text(string(encoded)); err != nil || shown != string(encoded) {
			return Mark
		}
		return v
	})
}

// every replaces the texts of a value, and calls other for what is neither a text nor composed.
func (s Secrets) every(value any, other func(any) any) any {
	switch v := value.(type) {
	case string:
		return s.Text(v)
	case []any:
		all := make([]any, len(v))
		for i, e := range v {
			all[i] = s.every(e, other)
		}
		return all
	case map[string]any:
		all := make(map[string]any, len(v))
		for name, e := range v {
			all[s.Text(name)] = s.every(e, other)
		}
		return all
	case nil:
		return nil
	}
	return other(value)
}

// Output is Text for the output of a command. If output was dropped, each stream may end within a secret or a character, so an
// incomplete one is removed from its end.
func (s Secrets) Output(res host.Result) host.Result {
	redacted := func(stream []byte) []byte {
		if res.Truncated {
			return []byte(s.truncated(string(stream)))
		}
		return []byte(s.Text(string(stream)))
	}
	res.Stdout, res.Stderr = redacted(res.Stdout), redacted(res.Stderr)
	return res
}

func (s Secrets) isEmpty() bool {
	return !s.opaque && len(s.literals)+len(s.wholes)+len(s.short)+len(s.parts)+len(s.classes) == 0
}

// Attributes returns attributes in JSON without those that are hidden, and without their values in the others: see [Secrets.Value].
func Attributes(attributes json.RawMessage, hidden []string) json.RawMessage {
	all, secrets := map[string]any{}, []any{}
	d := json.NewDecoder(bytes.NewReader(attributes))
	d.UseNumber()
	if len(hidden) == 0 || d.Decode(&all) != nil {
		return attributes
	}
	for _, name := range hidden {
		if value, ok := all[name]; ok {
			secrets = append(secrets, value)
			delete(all, name)
		}
	}
	if len(secrets) == 0 {
		return attributes
	}
	shown, err := json.Marshal(Of(secrets...).Value(all))
	if err != nil { // it was JSON before
		return json.RawMessage("{}")
	}
	return shown
}
