package policytest_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
)

// securityDoc lists guarantees and the tests that verify them.
const securityDoc = "docs/security.md"

// securityRows returns the rows of the tables whose last column is "Shown by".
func securityRows(root fs.FS) ([]row, error) {
	text, err := fs.ReadFile(root, securityDoc)
	if err != nil {
		return nil, fmt.Errorf("cannot read the guarantees: %w", err)
	}
	var all []row
	section, inTable, shows := "", false, false
	for line := range strings.Lines(string(text)) {
		if title, ok := strings.CutPrefix(line, "#"); ok {
			section = strings.Trim(title, "# \n")
		}
		if !strings.HasPrefix(line, "|") {
			inTable = false
			continue
		}
		cells := cellsOf(line)
		switch {
		case !inTable:
			inTable, shows = true, cells[len(cells)-1] == "Shown by"
		case shows && len(cells) != 2:
			return nil, fmt.Errorf("%s: a row has %d cells instead of 2: %s", securityDoc, len(cells), line)
		case shows && !strings.HasPrefix(cells[0], "---"):
			all = append(all, row{Section: section, Name: cells[0], Shown: cells[1]})
		}
	}
	if len(all) == 0 {
		return nil, errors.New("no table of " + securityDoc + " has a last column \"Shown by\"")
	}
	return all, nil
}

// The tests that docs/security.md cites exist. Citations have the form of docs/parity.md; a Ginkgo specification is a subtest
// of the function that runs it.
func TestGuaranteesInSecurityDocCiteExistingTests(t *testing.T) {
	t.Parallel()

	rows, err := securityRows(checkout())
	if err != nil {
		t.Fatal(err)
	}
	d := declarations(t)
	for _, r := range rows {
		for _, cited := range r.cited() {
			if problem := d.find(cited); problem != "" {
				t.Errorf("%s, %s, %q: `%s` %s", securityDoc, r.Section, r.Name, cited, problem)
			}
		}
		if len(r.tests()) == 0 {
			t.Errorf("%s, %s, %q has no test: cite one as folder.TestName/subtest, or remove the guarantee", securityDoc, r.Section, r.Name)
		}
	}
	const least = 60
	if len(rows) < least {
		t.Errorf("%s has %d guarantees, expected at least %d: the parser is probably broken", securityDoc, len(rows), least)
	}
}
