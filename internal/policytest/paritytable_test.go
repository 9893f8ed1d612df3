package policytest_test

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"
)

// parityDoc is the path of the comparison, relative to the root of the repository.
const parityDoc = "docs/parity.md"

// A row is one line of a table: a mechanism, its implementation and its tests.
type row struct{ Section, Name, Where, Shown string }

// excused reports whether the row states why it needs no test.
func (r row) excused() bool {
	return strings.HasPrefix(r.Shown, "does not apply: ") || strings.HasPrefix(r.Shown, "not yet: ")
}

// parityRows returns the rows of the comparison in order. A row without exactly three cells is an error.
func parityRows(root fs.FS) ([]row, error) {
	text, err := fs.ReadFile(root, parityDoc)
	if err != nil {
		return nil, fmt.Errorf("cannot read the comparison: %w", err)
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

// parseRow parses a row of the comparison.
func parseRow(line string) (row, error) {
	cells := cellsOf(line)
	if len(cells) != 3 {
		return row{}, fmt.Errorf("%s: a row has %d cells instead of 3: %s", parityDoc, len(cells), line)
	}
	return row{Name: cells[0], Where: cells[1], Shown: cells[2]}, nil
}

// cellsOf splits a row of a table at its bars, except for escaped ones.
func cellsOf(line string) []string {
	const bar = "\x00"
	cells := strings.Split(strings.Trim(strings.ReplaceAll(strings.TrimSpace(line), `\|`, bar), "|"), "|")
	for i, c := range cells {
		cells[i] = strings.TrimSpace(strings.ReplaceAll(c, bar, "|"))
	}
	return cells
}

var quoted = regexp.MustCompile("`([^`]+)`")

// cited returns the files, symbols and tests that the row cites.
func (r row) cited() []string {
	var all []string
	for _, m := range quoted.FindAllStringSubmatch(r.Where+" "+r.Shown, -1) {
		all = append(all, m[1])
	}
	return all
}

// A citedTest is a test that a row cites: a folder of the repository, a function, and the name of a subtest or a spec, or "" for
// the whole function.
type citedTest struct{ Folder, Func, Sub string }

// tests returns the tests that the row cites.
func (r row) tests() []citedTest {
	var all []citedTest
	for _, m := range quoted.FindAllStringSubmatch(r.Shown, -1) {
		if test, ok := parseCitedTest(m[1]); ok {
			all = append(all, test)
		}
	}
	return all
}

// parseCitedTest parses a citation such as internal/graph.TestOrder/of two; ok is false if it does not cite a test.
func parseCitedTest(cited string) (test citedTest, ok bool) {
	for _, prefix := range []string{".Test", ".Fuzz"} {
		if i := strings.Index(cited, prefix); i >= 0 {
			name, sub, _ := strings.Cut(cited[i+1:], "/")
			return citedTest{cited[:i], name, sub}, true
		}
	}
	return citedTest{}, false
}
