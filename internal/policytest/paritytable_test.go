package policytest_test

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"
)

// parityDoc is the table's file, relative to the repository's root.
const parityDoc = "docs/parity.md"

// A row is one line of the table: what it is about, where that is, and what shows it.
type row struct{ Section, Name, Where, Shown string }

// excused reports whether the row needs no test, for a reason that it gives.
func (r row) excused() bool {
	return strings.HasPrefix(r.Shown, "does not apply: ") || strings.HasPrefix(r.Shown, "not yet: ")
}

// parityRows returns those of the table in the repository at root, in its order. A line that has not three cells is an error.
func parityRows(root fs.FS) ([]row, error) {
	text, err := fs.ReadFile(root, parityDoc)
	if err != nil {
		return nil, fmt.Errorf("cannot read the table: %w", err)
	}
	var all []row
	section := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section, _, _ = strings.Cut(title, " ")
		}
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") || strings.HasPrefix(line, "| Row ") {
			continue
		}
		r, err := parseRow(line)
		if err != nil {
			return nil, err
		}
		r.Section = section
		all = append(all, r)
	}
	return all, nil
}

// parseRow takes a line of the parity table apart.
func parseRow(line string) (row, error) {
	cells := cellsOf(line)
	if len(cells) != 3 {
		return row{}, fmt.Errorf("%s: a row has %d cells in place of 3: %s", parityDoc, len(cells), line)
	}
	return row{Name: cells[0], Where: cells[1], Shown: cells[2]}, nil
}

// cellsOf takes a line of a table apart at its bars, but for those that are escaped.
func cellsOf(line string) []string {
	const bar = "\x00"
	cells := strings.Split(strings.Trim(strings.ReplaceAll(strings.TrimSpace(line), `\|`, bar), "|"), "|")
	for i, c := range cells {
		cells[i] = strings.TrimSpace(strings.ReplaceAll(c, bar, "|"))
	}
	return cells
}

var quoted = regexp.MustCompile("`([^`]+)`")

// cited are the files, symbols and tests that the row names.
func (r row) cited() []string {
	var all []string
	for _, m := range quoted.FindAllStringSubmatch(r.Where+" "+r.Shown, -1) {
		all = append(all, m[1])
	}
	return all
}

// A citedTest is one that a row cites: a folder of the repository, a function, and the name of a subtest or a spec, "" for
// the whole function.
type citedTest struct{ Folder, Func, Sub string }

// tests are those that show the row.
func (r row) tests() []citedTest {
	var all []citedTest
	for _, m := range quoted.FindAllStringSubmatch(r.Shown, -1) {
		if test, ok := parseCitedTest(m[1]); ok {
			all = append(all, test)
		}
	}
	return all
}

// parseCitedTest reads a citation such as internal/graph.TestOrder/of two; ok is false for what is no test.
func parseCitedTest(cited string) (test citedTest, ok bool) {
	for _, prefix := range []string{".Test", ".Fuzz"} {
		if i := strings.Index(cited, prefix); i >= 0 {
			name, sub, _ := strings.Cut(cited[i+1:], "/")
			return citedTest{cited[:i], name, sub}, true
		}
	}
	return citedTest{}, false
}
