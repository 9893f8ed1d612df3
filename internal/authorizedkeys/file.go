// Package authorizedkeys reads and edits the files with the keys by which users can log in by SSH.
//
// It recognizes every line that sshd accepts as a key, so that no key is overlooked. All other lines
// are preserved byte for byte and in their place.
package authorizedkeys

import (
	"fmt"
	"strings"
)

// A Key is a line with which somebody can log in.
type Key struct {
	Options []string // as written: a word, or a word, = and a value in quotes
	Type    string   // as in ssh-ed25519
	Key     string   // in base64
	Comment string   // canonical; "" if there is none
}

// String returns the line without its line end.
func (k Key) String() string {
	words := []string{k.Type, k.Key}
	if len(k.Options) > 0 {
		words = append([]string{strings.Join(k.Options, ",")}, words...)
	}
	if k.Comment != "" {
		words = append(words, k.Comment)
	}
	return strings.Join(words, " ")
}

// A File is the content of one file. The zero value is empty.
type File struct{ lines []line }

// A line is a key, or any number of consecutive other lines: a user may have millions of them.
type line struct {
	text  string // with its line ends
	key   Key
	isKey bool
}

// Parse parses a file. It accepts any text.
func Parse(text []byte) File {
	var f File
	rest, others := string(text), 0 // others are the bytes before the next key
	for l := range strings.Lines(rest) {
		key, ok := parseLine(l)
		if !ok {
			others += len(l)
			continue
		}
		f.add(rest[:others])
		f.lines = append(f.lines, line{l, key, true})
		rest, others = rest[others+len(l):], 0
	}
	f.add(rest)
	return f
}

// add adds lines that are not keys.
func (f *File) add(text string) {
	if text != "" {
		f.lines = append(f.lines, line{text: text})
	}
}

// Bytes returns the content of the file.
func (f File) Bytes() []byte {
	var b strings.Builder
	for _, l := range f.lines {
		b.WriteString(l.text)
	}
	return []byte(b.String())
}

// A Named is a key and its name in the file: its comment or, without one, PATH:unnamed-N, its number
// among such keys. Several may have one name.
type Named struct {
	Name string
	Key
}

// Keys returns all keys of the file at path, in order.
func (f File) Keys(path string) []Named {
	var all []Named
	unnamed := 0
	for _, l := range f.lines {
		if !l.isKey {
			continue
		}
		name := l.key.Comment
		if name == "" {
			unnamed++
			name = fmt.Sprintf("%s:unnamed-%d", path, unnamed)
		}
		all = append(all, Named{name, l.key})
	}
	return all
}

// Put makes key the only one of this name in the file at path: it replaces the first one with the
// name, otherwise at the end.
func (f *File) Put(path, name string, key Key) {
	at := f.take(path, func(n string) bool { return n == name })
	if at < 0 {
		f.endLine()
		at = len(f.lines)
	}
	text := key.String() + "\n"
	parsed, ok := parseLine(text)
	f.lines = append(f.lines[:at:at], append([]line{{text, parsed, ok}}, f.lines[at:]...)...)
}

// Drop removes all keys of this name in the file at path.
func (f *File) Drop(path, name string) { f.DropAll(path, func(n string) bool { return n == name }) }

// DropAll removes all keys with certain names in the file at path.
func (f *File) DropAll(path string, named func(string) bool) { f.take(path, named) }

// take removes the keys with certain names and returns the place of the first, -1 if there was none.
func (f *File) take(path string, named func(string) bool) (at int) {
	at = -1
	names := f.Keys(path)
	var kept []line
	for _, l := range f.lines {
		if l.isKey {
			isIt := named(names[0].Name)
			names = names[1:]
			if isIt && at < 0 {
				at = len(kept)
			}
			if isIt {
				continue
			}
		}
		kept = append(kept, l)
	}
	f.lines = kept
	return at
}

// endLine adds a missing line end to the last line.
func (f *File) endLine() {
	if n := len(f.lines); n > 0 && !strings.HasSuffix(f.lines[n-1].text, "\n") {
		f.lines[n-1].text += "\n"
	}
}
