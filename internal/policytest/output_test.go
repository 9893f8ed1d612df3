package policytest_test

import (
	"bytes"
	"io/fs"
	"path"
	"testing"
)

// The output that pages and golden files show has no message in which a library, or the output of a command, was left with its line
// breaks: they would be escaped.
func TestNoOutputHasAnEscapedLineBreakAndTab(t *testing.T) {
	t.Parallel()

	read := 0
	for _, dir := range []string{"docs", "test/suites"} {
		err := fs.WalkDir(checkout(), dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || path.Ext(name) != ".md" && path.Base(path.Dir(name)) != "testdata" {
				return err
			}
			text, err := fs.ReadFile(checkout(), name)
			read++
			for i, line := range bytes.Split(text, []byte("\n")) {
				if bytes.Contains(line, []byte(`\n\t`)) {
					t.Errorf("%s:%d: %s", name, i+1, line)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if read < 30 {
		t.Errorf("only %d files were read", read)
	}
}
