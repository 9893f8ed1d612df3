package manifest_test

import (
	"io"
	"testing"

	"github.com/fettle-dev/fettle/internal/manifest"
	"github.com/fettle-dev/fettle/internal/source"
)

// read reads what -f would name.
func read(t testing.TB, files []string, stdin io.Reader) (*manifest.Set, error) {
	t.Helper()
	all, err := source.Loader{Stdin: stdin}.Expand(source.Request{Files: files})
	if err != nil {
		return nil, err
	}
	return manifest.Read(t.Context(), all)
}
