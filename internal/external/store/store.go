// Package store puts the programs of external types on hosts, and checks them before each use.
package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/external/image/archive"
	"github.com/fettle-dev/fettle/internal/external/image/signature"
	"github.com/fettle-dev/fettle/internal/host"
)

// A Store has the files of programs in a directory of a host, by digest. Only root can write there. Safe for concurrent
// use.
type Store struct {
	host host.Host
	dir  string
	keys func() (signature.Keys, error)

	mu       sync.Mutex
	pulling  map[string]chan struct{} // names of directories; closed at the end of the pull
	retained []string                 // names of directories after the last Retain; nil if there may be others
}

// New returns the store in a directory of a host, which need not exist. It checks no signatures of images.
func New(h host.Host, dir string) *Store {
	return &Store{host: h, dir: dir, pulling: map[string]chan struct{}{}}
}

// NewSigned is New for images that one of the keys must have signed; a nil function checks no signatures.
func NewSigned(h host.Host, dir string, keys func() (signature.Keys, error)) *Store {
	s := New(h, dir)
	s.keys = keys
	return s
}

// Dir returns the directory with the files of a type. Files that come with the type are compared with it, and written
// again if they differ. For a type with a path on the host, the error names what others than root can write to. For one with an
// image it is a *[MissingError] if the image has to be pulled first.
func (s *Store) Dir(ctx context.Context, _ host.Reader, d *definition.Definition) (string, error) {
	switch from := d.Spec.Source; {
	case from.HostPath != "":
		return from.HostPath, checkOwner(s.host, from.HostPath)
	case from.Image != "":
		return path.Join(s.dir, nameOf(d), contents), s.Check(d)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	dir := path.Join(s.dir, nameOf(d))
	if s.matches(dir, entriesOf(d.Spec.Source.Files)) == nil {
		return dir, nil
	}
	s.retained = nil
	if err := s.write(ctx, dir, d.Spec.Source.Files); err != nil {
		return "", fmt.Errorf("cannot store the program of %s: %w", d.Spec.Kind, err)
	}
	return dir, nil
}

// nameOf returns the name of the directory with the files of a type. Types that have the same image share it.
func nameOf(d *definition.Definition) string {
	if d.Spec.Source.Image == "" {
		return d.Digest
	}
	return "image-" + definition.ImageDigest(d.Spec.Source.Image)
}

// Retain removes the programs of all other types, and what is left of interrupted pulls.
func (s *Store) Retain(types ...*definition.Definition) error {
	return s.retain(time.Time{}, types)
}

// RetainNewer is Retain for programs that were stored before a time.
func (s *Store) RetainNewer(than time.Time, types ...*definition.Definition) error {
	return s.retain(than, types)
}

func (s *Store) retain(newer time.Time, types []*definition.Definition) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	keep := slices.AppendSeq(make([]string, 0, len(types)), maps.Keys(s.pulling))
	for _, d := range types {
		keep = append(keep, nameOf(d))
	}
	slices.Sort(keep)
	if s.retained != nil && newer.IsZero() && slices.Equal(keep, s.retained) {
		return nil
	}
	names, err := s.host.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var errs []error
	for _, name := range names {
		if !slices.Contains(keep, name) {
			errs = append(errs, s.remove(path.Join(s.dir, name), newer))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	s.retained = keep
	return nil
}

func (s *Store) remove(dir string, newer time.Time) error {
	if !newer.IsZero() {
		info, err := s.host.Lstat(dir)
		if err != nil || info.ModTime.After(newer) {
			return err
		}
	}
	return s.host.RemoveAll(dir)
}

// programMode is the mode of directories and executable files; dataMode is the mode of other files.
const (
	programMode = 0o755
	dataMode    = 0o644
)

// entriesOf returns what a directory with files of a type contains.
func entriesOf(files map[string]string) []archive.Entry {
	var all []archive.Entry
	dirs := map[string]bool{}
	for name, content := range files {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			dirs[dir] = true
		}
		sum := sha256.Sum256([]byte(content))
		all = append(all, archive.Entry{Name: name, Kind: archive.File, Executable: true, Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:])})
	}
	for dir := range dirs {
		all = append(all, archive.Entry{Name: dir, Kind: archive.Directory})
	}
	return all
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
		_, err := s.host.WriteFile(ctx, full, host.NewFile{Content: strings.NewReader(files[name]), Mode: new(uint32(programMode))})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) mkdirAll(dir string) error {
	err := s.host.Mkdir(dir, programMode)
	if errors.Is(err, fs.ErrNotExist) && dir != "/" {
		if err = s.mkdirAll(path.Dir(dir)); err == nil {
			err = s.host.Mkdir(dir, programMode)
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
