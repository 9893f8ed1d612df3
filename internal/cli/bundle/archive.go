// Package bundle collects what a bug report needs, from a cluster and from a host, into an archive without secrets.
//
// It copies only fields that a list allows, so that a field that nobody has thought of stays out.
package bundle

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/internal/version"
)

// An Archive is a .tar.gz file that is being written. What can't be collected is listed in its file errors.txt. It is not
// safe for concurrent use.
type Archive struct {
	dir      string
	now      time.Time
	gzip     *gzip.Writer
	tar      *tar.Writer
	problems []string
	err      error // of writing
}

// NewArchive starts an archive whose files are in one directory.
func NewArchive(to io.Writer, dir string, now time.Time) *Archive {
	compressed := gzip.NewWriter(to)
	return &Archive{dir: dir, now: now, gzip: compressed, tar: tar.NewWriter(compressed)}
}

// Version adds the version of this program.
func (a *Archive) Version() { a.Add("version.txt", []byte(version.String()+"\n")) }

// Add adds a file.
func (a *Archive) Add(name string, content []byte) {
	if a.err != nil {
		return
	}
	header := &tar.Header{Name: path.Join(a.dir, name), Mode: 0o600, Size: int64(len(content)), ModTime: a.now, Typeflag: tar.TypeReg}
	if a.err = a.tar.WriteHeader(header); a.err == nil {
		_, a.err = a.tar.Write(content)
	}
}

// AddYAML adds a value as a YAML file.
func (a *Archive) AddYAML(name string, value any) {
	text, err := yaml.Marshal(value)
	if err != nil {
		a.Problem(name, err)
		return
	}
	a.Add(name, text)
}

// Problem records why a file is missing or incomplete; nil records nothing.
func (a *Archive) Problem(name string, err error) {
	if err != nil {
		a.problems = append(a.problems, fmt.Sprintf("%s: %v", name, err))
	}
}

// Close completes the archive, and returns how many parts could not be collected.
func (a *Archive) Close() (problems int, err error) {
	if len(a.problems) > 0 {
		a.Add("errors.txt", []byte(strings.Join(a.problems, "\n")+"\n"))
	}
	if err := errors.Join(a.err, a.tar.Close(), a.gzip.Close()); err != nil {
		return 0, fmt.Errorf("cannot write the support bundle: %w", err)
	}
	return len(a.problems), nil
}
