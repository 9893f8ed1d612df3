package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/fettle-dev/fettle/internal/external/image/archive"
	"github.com/fettle-dev/fettle/internal/host"
)

// walk calls a function for everything below a directory.
func walk(h host.Reader, dir string, each func(name string, info host.FileInfo) error) error {
	names, err := h.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		full := path.Join(dir, name)
		info, err := h.Lstat(full)
		if err == nil {
			err = each(full, info)
		}
		if err == nil && info.IsDir() {
			err = walk(h, full, each)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// matches returns an error unless a directory has exactly these entries. It reads all files.
func (s *Store) matches(dir string, entries []archive.Entry) error {
	left := make(map[string]archive.Entry, len(entries))
	for _, e := range entries {
		left[path.Join(dir, e.Name)] = e
	}
	top, err := s.host.Lstat(dir)
	if err == nil {
		err = matchesInfo(archive.Entry{Kind: archive.Directory}, dir, top)
	}
	if err != nil {
		return err
	}
	err = walk(s.host, dir, func(full string, info host.FileInfo) error {
		e, ok := left[full]
		if !ok {
			return fmt.Errorf("%s does not belong there", full)
		}
		delete(left, full)
		if err := matchesInfo(e, full, info); err != nil {
			return err
		}
		return s.matchesContent(e, full)
	})
	if err != nil {
		return err
	}
	for full := range left {
		return fmt.Errorf("%s is missing", full)
	}
	return nil
}

// matchesInfo returns an error unless a file has the type, the owner, the mode and the size of an entry.
func matchesInfo(e archive.Entry, full string, info host.FileInfo) error {
	mode := uint32(programMode)
	is := archive.File
	switch {
	case info.IsDir():
		is = archive.Directory
	case info.IsSymlink():
		is, mode = archive.Symlink, info.Mode
	case !info.IsRegular():
		is = "special file"
	case !e.Executable:
		mode = dataMode
	}
	switch {
	case is != e.Kind:
		return fmt.Errorf("%s is a %s, not a %s", full, strings.ToLower(is), strings.ToLower(e.Kind))
	case info.UID != 0 || info.Mode != mode:
		return fmt.Errorf("%s has the owner %d and the mode %04o, not root and %04o", full, info.UID, info.Mode, mode)
	case is == archive.File && info.Size != e.Size:
		return fmt.Errorf("%s has %d bytes, not %d", full, info.Size, e.Size)
	}
	return nil
}

func (s *Store) matchesContent(e archive.Entry, full string) error {
	switch e.Kind {
	case archive.File:
		sum, err := s.sum(full)
		if err == nil && sum != e.SHA256 {
			err = fmt.Errorf("%s has another content than the artifact", full)
		}
		return err
	case archive.Symlink:
		target, err := s.host.Readlink(full)
		if err == nil && target != e.Target {
			err = fmt.Errorf("%s leads to %.80q, not to %.80q", full, target, e.Target)
		}
		return err
	}
	return nil
}

func (s *Store) sum(full string) (string, error) {
	file, err := s.host.Open(full)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	_, err = io.Copy(hash, file)
	return hex.EncodeToString(hash.Sum(nil)), errors.Join(err, file.Close())
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

// A sink is a directory of the host into which an artifact is unpacked.
type sink struct {
	host host.Host
	dir  string
}

func (s sink) Mkdir(name string) error { return s.host.Mkdir(path.Join(s.dir, name), programMode) }

func (s sink) WriteFile(ctx context.Context, name string, executable bool, content io.Reader) ([sha256.Size]byte, error) {
	mode := uint32(dataMode)
	if executable {
		mode = programMode
	}
	return s.host.WriteFile(ctx, path.Join(s.dir, name), host.NewFile{Content: content, Mode: &mode})
}

func (s sink) Symlink(target, name string) error {
	return s.host.Symlink(target, path.Join(s.dir, name))
}

func (s sink) Remove(name string) error { return s.host.RemoveAll(path.Join(s.dir, name)) }
