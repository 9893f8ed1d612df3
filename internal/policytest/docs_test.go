package policytest_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
)

// securityDoc says in tables what holds, and by which tests that is shown.
const securityDoc = "docs/security.md"

// securityRows are those of the tables whose last column is "Shown by".
func securityRows(root fs.FS) ([]row, error) {
	text, err := fs.ReadFile(root, securityDoc)
	if err != nil {
		return nil, fmt.Errorf("cannot read what holds: %w", err)
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
			return nil, fmt.Errorf("%s: a row has %d cells in place of 2: %s", securityDoc, len(cells), line)
		case shows && !strings.HasPrefix(cells[0], "---"):
			all = append(all, row{Section: section, Name: cells[0], Shown: cells[1]})
		}
	}
	if len(all) == 0 {
		return nil, errors.New("no table of " + securityDoc + " has a last column \"Shown by\"")
	}
	return all, nil
}

// What holds is shown by tests that exist, cited as in docs/parity.md. A specification of Ginkgo is cited as a subtest
// of the function that runs it.
func TestWhatSecurityPromisesIsShownByTests(t *testing.T) {
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
			t.Errorf("%s, %s, %q has no test: name one as folder.TestName/subtest, or say that it does not hold", securityDoc, r.Section, r.Name)
		}
	}
	const least = 60
	if len(rows) < least {
		t.Errorf("%s promises %d things, there were %d: something is wrong with how it is read", securityDoc, len(rows), least)
	}
}
