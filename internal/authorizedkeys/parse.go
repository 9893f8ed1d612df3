package authorizedkeys

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

const blanks = " \t"

// parseLine parses a line as sshd does: a type, a key and a comment, after options unless the line
// begins with a type.
func parseLine(text string) (Key, bool) {
	text = strings.TrimLeftFunc(text, unicode.IsSpace)
	if text == "" || text[0] == '#' {
		return Key{}, false
	}
	if k, ok := withoutOptions(text); ok {
		return k, true
	}
	options, rest := cutOptions(text)
	k, ok := withoutOptions(strings.TrimLeft(rest, blanks))
	if ok {
		k.Options = SplitOptions(options)
	}
	return k, ok
}

func withoutOptions(text string) (k Key, ok bool) {
	k.Type, text = cutWord(text)
	k.Key, text = cutWord(text)
	k.Key = strings.Trim(k.Key, space)
	k.Comment = Canonical(text)
	return k, typeWord.MatchString(k.Type) && strings.HasPrefix(withoutSpace(k.Key), keyStart)
}

// keyStart is the beginning of every key: the length of its type's name, four bytes of which the
// first three are zero.
const keyStart = "AAAA"

// typeWord excludes quotes, = and commas, so that it does not match an option.
var typeWord = regexp.MustCompile(`^[A-Za-z0-9@.+-]+$`)

// space has the characters that sshd ignores in a key.
const space = " \t\r\n\v\f"

func withoutSpace(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(space, r) {
			return -1
		}
		return r
	}, s)
}

func cutWord(text string) (word, rest string) {
	text = strings.TrimRight(text, "\n")
	i := strings.IndexAny(text, blanks)
	if i < 0 {
		return text, ""
	}
	return text[:i], strings.TrimLeft(text[i:], blanks)
}

// Canonical returns the form in which comments are compared: without surrounding space, and as valid
// UTF-8.
func Canonical(comment string) string {
	return strings.ToValidUTF8(strings.Trim(comment, space), "\uFFFD")
}

// cutOptions cuts a line behind its options: at the first blank outside of quotes.
func cutOptions(text string) (options, rest string) {
	end := len(text)
	scan(text, func(i int) bool {
		if strings.IndexByte(blanks, text[i]) < 0 {
			return true
		}
		end = i
		return false
	})
	return text[:end], text[end:]
}

// SplitOptions splits at the commas outside of quotes. To join the parts with commas
// gives the same again.
func SplitOptions(text string) []string {
	var all []string
	from := 0
	scan(text, func(i int) bool {
		if text[i] == ',' {
			all = append(all, text[from:i])
			from = i + 1
		}
		return true
	})
	return append(all, text[from:])
}

// scan calls visit with each position outside of quotes until it returns false. It
// reports whether the text ends outside of quotes.
func scan(text string, visit func(i int) bool) bool {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text) && text[i+1] == '"':
			i++
		case text[i] == '"':
			quoted = !quoted
		case !quoted && !visit(i):
			return true
		}
	}
	return !quoted
}

// CheckOption returns what is wrong with an option, nil if sshd can read it.
func CheckOption(text string) error {
	name, value, hasValue := strings.Cut(text, "=")
	switch {
	case !optionName.MatchString(name):
		return errors.New("its name may only contain letters, digits and -")
	case !hasValue:
		return nil
	case strings.ContainsAny(text, "\r\n\x00"):
		return errors.New("it contains a line break")
	case len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"':
		return errors.New("its value is not in double quotes")
	}
	closed := scan(value, func(int) bool { return true })
	if !closed || strings.Contains(strings.ReplaceAll(value[1:len(value)-1], `\"`, ""), `"`) {
		return errors.New(`a quote inside its value is not escaped as \"`)
	}
	return nil
}

var optionName = regexp.MustCompile(`^[A-Za-z0-9-]+$`)

// CheckKey returns what is wrong with a key in base64, nil if it is one of this type.
func CheckKey(kind, key string) error {
	blob, err := base64.StdEncoding.DecodeString(key)
	if err != nil || strings.ContainsAny(key, "\r\n") {
		return errors.New("is not base64: use only the second word of the public key file")
	}
	if len(blob) < 4 || uint64(binary.BigEndian.Uint32(blob)) > uint64(len(blob)-4) {
		return errors.New("is truncated: use the whole second word of the public key file")
	}
	if is := string(blob[4 : 4+binary.BigEndian.Uint32(blob)]); is != kind {
		return fmt.Errorf("has the type %q, but type is %q: make them equal", is, kind)
	}
	return nil
}
