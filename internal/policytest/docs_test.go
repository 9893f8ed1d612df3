package policytest_test

import (
	"io/fs"
	"regexp"
	"testing"
)

// What holds is shown by tests that exist: docs/security.md names them as the table of
// docs/parity.md does.
func TestSecurityPointsAtTestsThatExist(t *testing.T) {
	t.Parallel()

	const doc, least = "docs/security.md", 15
	text, err := fs.ReadFile(checkout(), doc)
	if err != nil {
		t.Fatal(err)
	}
	d := declarations(t)
	cited := regexp.MustCompile("`([^`]+\\.Test[A-Z][^`]*|[^` ]+_test\\.go)`").FindAllStringSubmatch(string(text), -1)
	for _, c := range cited {
		if problem := d.find(c[1]); problem != "" {
			t.Errorf("%s: `%s` %s", doc, c[1], problem)
		}
	}
	if len(cited) < least {
		t.Errorf("%s names %d tests: something is wrong with how it is read", doc, len(cited))
	}
}
