package typenew

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Write writes the files of a new directory, and returns their names.
func Write(dir string, files map[string]string) (written []string, err error) {
	if err := os.Mkdir(dir, 0o755); err != nil { //nolint:forbidigo // of the author, not of a host
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil { //nolint:forbidigo // of the author, not of a host
			return written, err
		}
		if err := os.WriteFile(full, []byte(files[name]), 0o755); err != nil { //nolint:forbidigo // of the author, not of a host
			return written, err
		}
		written = append(written, full)
	}
	return written, nil
}
