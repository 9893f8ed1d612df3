// Package store puts the programs of external types on hosts, and checks them before each use.
package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/host"
)

// A Store has the files of programs in a directory of a host, by digest. Only root can write there. Safe for concurrent
// use.
type Store struct {
	host host.Host
	dir  string
	mu   sync.Mutex
}

// New returns the store in a directory of a host, which need not exist.
func New(h host.Host, dir string) *Store { return &Store{host: h, dir: dir} }

// Dir returns the directory with the files of a type. Files that come with the type are compared with it, and written
// again if they differ. For a type with a path on the host, the error names what others than root can write to.
func (s *Store) Dir(ctx context.Context, _ host.Reader, d *definition.Definition) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := d.Spec.Source.HostPath; p != "" {
		return p, checkOwner(s.host, p)
	}
	dir := path.Join(s.dir, d.Digest)
	if s.matches(dir, d.Spec.Source.Files) {
		return dir, nil
	}
	if err := s.write(ctx, dir, d.Spec.Source.Files); err != nil {
		return "", fmt.Errorf("cannot store the program of %s: %w", d.Spec.Kind, err)
	}
	return dir, nil
}

// Retain removes the programs of all other digests.
func (s *Store) Retain(digests ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	names, err := s.host.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, name := range names {
		if !slices.Contains(digests, name) {
			errs = append(errs, s.host.RemoveAll(path.Join(s.dir, name)))
		}
	}
	return errors.Join(errs...)
}

// matches reports whether a directory has exactly these files.
func (s *Store) matches(dir string, files map[string]string) bool {
	found := 0
	for name, content := range files {
		text, err := s.host.ReadFile(path.Join(dir, name))
		if err != nil || string(text) != content {
			return false
		}
	}
	err := walk(s.host, dir, func(string, host.FileInfo) error { found++; return nil })
	return err == nil && found == len(files)
}

// walk calls a function for each file below a directory that is not a directory itself.
func walk(h host.Reader, dir string, each func(name string, info host.FileInfo) error) error {
	names, err := h.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		full := path.Join(dir, name)
		info, err := h.Lstat(full)
		if err == nil && info.IsDir() {
			err = walk(h, full, each)
		} else if err == nil {
			err = each(full, info)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// write writes all files anew. What remains of an interrupted write does not match, and is written again.
func (s *Store) write(ctx context.Context, dir string, files map[string]string) error {
	if err := s.host.RemoveAll(dir); err != nil {
		return err
	}
	if err := s.mkdirAll(dir); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		full := path.Join(dir, name)
		if err := s.mkdirAll(path.Dir(full)); err != nil {
			return err
		}
		_, err := s.host.WriteFile(ctx, full, host.NewFile{Content: strings.NewReader(files[name]), Mode: new(uint32(0o755))})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) mkdirAll(dir string) error {
	err := s.host.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrNotExist) && dir != "/" {
		if err = s.mkdirAll(path.Dir(dir)); err == nil {
			err = s.host.Mkdir(dir, 0o755)
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// writableByOthers are the permission bits of group and others to write.
const writableByOthers = 0o022

// checkOwner returns an error if others than root can replace a file in a directory, or the directory itself.
func checkOwner(h host.Reader, dir string) error {
	for p := dir; ; p = path.Dir(p) {
		info, err := h.Lstat(p)
		if err != nil {
			return fmt.Errorf("cannot use the program in %s: %w", dir, err)
		}
		if err := trusted(p, info); err != nil {
			return err
		}
		if p == "/" {
			break
		}
	}
	return walk(h, dir, trusted)
}

func trusted(p string, info host.FileInfo) error {
	switch {
	case info.IsSymlink():
		return fmt.Errorf("cannot use the program: %s is a symlink: name the directory itself, and copy files", p)
	case info.UID != 0 || info.Mode&writableByOthers != 0:
		return fmt.Errorf("cannot use the program: others than root can change %s: chown it to root, and chmod go-w", p)
	}
	return nil
}
