package policytest_test

import (
	"io/fs"
	"regexp"
	"testing"
)

// The packages and the symbols that docs/architecture.md names, as folder.Symbol, exist.
func TestArchitectureNamesWhatExists(t *testing.T) {
	t.Parallel()

	text, err := fs.ReadFile(checkout(), "docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	d := declarations(t)
	cited := regexp.MustCompile("`((?:api|cmd|controllers|internal|nodeagent|providers)[/.][^` ]+)`").FindAllStringSubmatch(string(text), -1)
	for _, m := range cited {
		if problem := d.find(m[1]); problem != "" {
			t.Errorf("docs/architecture.md: `%s` %s", m[1], problem)
		}
	}
	const least = 20
	if len(cited) < least {
		t.Errorf("docs/architecture.md names %d packages and symbols, expected at least %d", len(cited), least)
	}
}
