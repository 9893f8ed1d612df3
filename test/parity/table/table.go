// Package table reads docs/parity.md, whose rows say where each mechanism of Puppet's is and which test shows it, and
// the breaks of test/parity/breaks: for each row, edits of the source that take its behaviour away.
package table

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"
)

// Doc is the table's file, relative to the repository's root.
const Doc = "docs/parity.md"

// A Row is one line of the table: what it is about, where that is, and what shows it.
type Row struct{ Section, Name, Where, Shown string }

// Excused reports whether the row needs no test, for a reason that it gives.
func (r Row) Excused() bool {
	return strings.HasPrefix(r.Shown, "does not apply: ") || strings.HasPrefix(r.Shown, "not yet: ")
}

// Rows returns those of the table in the repository at root, in its order. A line that has not three cells is an error.
func Rows(root fs.FS) ([]Row, error) {
	text, err := fs.ReadFile(root, Doc)
	if err != nil {
		return nil, fmt.Errorf("cannot read the table: %w", err)
	}
	var all []Row
	section := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section, _, _ = strings.Cut(title, " ")
		}
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") || strings.HasPrefix(line, "| Row ") {
			continue
		}
		row, err := parse(line)
		if err != nil {
			return nil, err
		}
		row.Section = section
		all = append(all, row)
	}
	return all, nil
}

// parse takes a line apart at its bars, but for those that are escaped.
func parse(line string) (Row, error) {
	const bar = "\x00"
	cells := strings.Split(strings.Trim(strings.ReplaceAll(line, `\|`, bar), "|"), "|")
	if len(cells) != 3 {
		return Row{}, fmt.Errorf("%s: a row has %d cells in place of 3: %s", Doc, len(cells), line)
	}
	for i, c := range cells {
		cells[i] = strings.TrimSpace(strings.ReplaceAll(c, bar, "|"))
	}
	return Row{Name: cells[0], Where: cells[1], Shown: cells[2]}, nil
}

var quoted = regexp.MustCompile("`([^`]+)`")

// Cited are the files, symbols and tests that the row names.
func (r Row) Cited() []string {
	var all []string
	for _, m := range quoted.FindAllStringSubmatch(r.Where+" "+r.Shown, -1) {
		all = append(all, m[1])
	}
	return all
}

// A Test is one that a row cites: a folder of the repository, a function, and the name of a subtest or a spec, "" for
// the whole function.
type Test struct{ Folder, Func, Sub string }

// Tests are those that show the row.
func (r Row) Tests() []Test {
	var all []Test
	for _, m := range quoted.FindAllStringSubmatch(r.Shown, -1) {
		if test, ok := ParseTest(m[1]); ok {
			all = append(all, test)
		}
	}
	return all
}

// ParseTest reads a citation such as internal/graph.TestOrder/of two; ok is false for what is no test.
func ParseTest(cited string) (test Test, ok bool) {
	for _, prefix := range []string{".Test", ".Fuzz"} {
		if i := strings.Index(cited, prefix); i >= 0 {
			name, sub, _ := strings.Cut(cited[i+1:], "/")
			return Test{cited[:i], name, sub}, true
		}
	}
	return Test{}, false
}
