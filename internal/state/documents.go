package state

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Documents are named texts on disk: a node's last good catalogs. Each has a checksum, so a
// document is either intact or missing. Safe for concurrent use of different names.
type Documents struct {
	stateDir, dir string
	now           func() time.Time
}

// NewDocuments returns the documents in a folder of a state directory. Both are created by the
// first Put.
func NewDocuments(stateDir, folder string, opts Options) *Documents {
	return &Documents{stateDir: stateDir, dir: filepath.Join(stateDir, folder), now: opts.now}
}

// A DamagedError reports that a document was damaged. The file was set aside, so the document is
// missing from now on.
type DamagedError struct {
	Name  string
	Aside string // the path of the damaged file
}

// Error names the document and the path of the damaged file.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("document %s on disk is damaged: it was set aside as %s", e.Name, e.Aside)
}

// Get returns a document. One that is missing is fs.ErrNotExist; one that is damaged
// is a *DamagedError.
func (d *Documents) Get(name string) ([]byte, error) {
	file, err := d.file(name)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read document %s: %w", name, err)
	}
	sum, body, whole := bytes.Cut(text, []byte("\n"))
	if whole && string(sum) == checksum(body) {
		return body, nil
	}
	aside, err := setAsideFile(file, nil, d.now())
	if err != nil {
		return nil, err
	}
	return nil, &DamagedError{Name: name, Aside: aside}
}

// SetAside renames a document that its reader can't use, and returns the new path.
func (d *Documents) SetAside(name string) (string, error) {
	file, err := d.file(name)
	if err != nil {
		return "", err
	}
	return setAsideFile(file, nil, d.now())
}

// Put replaces a document. It is on disk when Put returns. Putting an identical document writes
// nothing.
func (d *Documents) Put(name string, body []byte) error {
	file, err := d.file(name)
	if err != nil {
		return err
	}
	text := append([]byte(checksum(body)+"\n"), body...)
	if is, err := os.ReadFile(file); err == nil && bytes.Equal(is, text) {
		return nil
	}
	for _, dir := range []string{d.stateDir, d.dir} {
		if err := makeDir(dir); err != nil {
			return fmt.Errorf("cannot make %s: %w", dir, err)
		}
	}
	if err := ReplaceFile(file, text); err != nil {
		return fmt.Errorf("cannot write document %s: %w", name, err)
	}
	return nil
}

// Retain removes all other documents and the temporary files of interrupted calls of Put. Documents
// that were set aside stay.
func (d *Documents) Retain(names ...string) error {
	keep := map[string]bool{}
	for _, n := range names {
		keep[n+suffix] = true
	}
	there, err := os.ReadDir(d.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, f := range there {
		ours := strings.HasSuffix(f.Name(), suffix) || strings.HasPrefix(f.Name(), tempPrefix)
		if ours && !keep[f.Name()] {
			errs = append(errs, os.Remove(filepath.Join(d.dir, f.Name())))
		}
	}
	return errors.Join(errs...)
}

const (
	suffix     = ".json"
	tempPrefix = ".new-"
)

func (d *Documents) file(name string) (string, error) {
	if name == "" || strings.ContainsAny(name, "/\x00") || strings.HasPrefix(name, ".") {
		return "", fmt.Errorf("invalid document name %q", name)
	}
	return filepath.Join(d.dir, name+suffix), nil
}

func checksum(body []byte) string {
	sum := sha256.Sum256(body)
	return "sha256-" + hex.EncodeToString(sum[:])
}
