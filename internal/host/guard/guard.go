// Package guard wraps the host that providers get, so that each rule about what they may do is in one place.
//
// Runs use [Host], which refuses Fettle's own files. [Simulation] is for plans and noop runs, whose resources may come from
// authors who may not change the host: it also runs each command where that can't change the host, ends with its context and
// is bounded.
package guard

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/own"
)

// Host returns a host that refuses Fettle's own files with an [*own.Error], and leaves their names out of directories above
// them. Commands are not affected.
func Host(h host.Host, files *own.Files) host.Host {
	return guarded{reader{h, rules{files: files}}, h}
}

// rules say what is refused. Those of a Host have no simulation.
type rules struct {
	files *own.Files
	*simulation
}

// admit returns why a file is refused.
func (r rules) admit(path string, info host.FileInfo) error {
	if err := r.check(); err != nil {
		return err
	}
	if r.simulation != nil {
		return r.files.RefuseNew(path, info)
	}
	return r.files.Refuse(path, info)
}

// check returns why everything is refused.
func (r rules) check() error {
	if r.simulation == nil {
		return nil
	}
	return r.ended()
}

// listed returns the names in a directory, without refused files.
func (r rules) listed(dir host.Handle) ([]string, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	names, err := dir.ReadDir()
	if err == nil && r.simulation != nil {
		err = r.spend(&r.left.names, int64(len(names)))
	}
	if err != nil || !r.files.Below(dir.Info()) {
		return names, err
	}
	return slices.DeleteFunc(names, func(name string) bool {
		child, err := dir.Child(name)
		if err != nil {
			return false
		}
		defer child.Close()
		return r.files.Refuse(child.Path(), child.Info()) != nil
	}), nil
}

// A reader refuses files.
type reader struct {
	host.Reader
	rules
}

// anyLinks are those that a method with a path follows.
var anyLinks = host.Links{Follow: host.FollowAll, AtEnd: true}

// Open implements [host.Reader].
func (r reader) Open(path string) (io.ReadCloser, error) {
	file, err := r.lookup(path, "open")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return file.Open()
}

// lookup opens the file that a path leads to, for an operation.
func (r reader) lookup(path, op string) (host.Handle, error) {
	file, err := r.Lookup(path, anyLinks)
	if named, ok := errors.AsType[*fs.PathError](err); ok && named.Op == "lookup" {
		err = &fs.PathError{Op: op, Path: named.Path, Err: named.Err}
	}
	return file, err
}

// ReadFile implements [host.Reader].
func (r reader) ReadFile(path string) ([]byte, error) {
	file, err := r.lookup(path, "open")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := file.Open()
	if err != nil {
		return nil, err
	}
	defer content.Close()
	data := bytes.NewBuffer(make([]byte, 0, min(file.Info().Size, host.MaxReadFile)+bytes.MinRead))
	if _, err := data.ReadFrom(io.LimitReader(content, host.MaxReadFile+1)); err != nil {
		return nil, err
	}
	if data.Len() > host.MaxReadFile {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("is larger than %d bytes: stream it instead", host.MaxReadFile)}
	}
	return data.Bytes(), nil
}

// Stat implements [host.Reader].
func (r reader) Stat(path string) (host.FileInfo, error) {
	info, err := r.Reader.Stat(path)
	if err == nil {
		err = r.admit(path, info)
	}
	return info, err
}

// Lstat implements [host.Reader].
func (r reader) Lstat(path string) (host.FileInfo, error) {
	info, err := r.Reader.Lstat(path)
	if err == nil {
		err = r.admit(path, info)
	}
	return info, err
}

// Lookup implements [host.Reader].
func (r reader) Lookup(path string, links host.Links) (host.Handle, error) {
	return r.handle(r.Reader.Lookup(path, links))
}

// LookupParent implements [host.Reader].
func (r reader) LookupParent(path string, links host.Links) (host.Handle, string, error) {
	dir, name, err := r.Reader.LookupParent(path, links)
	dir, err = r.handle(dir, err)
	return dir, name, err
}

// ReadDir implements [host.Reader].
func (r reader) ReadDir(path string) ([]string, error) {
	dir, err := r.lookup(path, "open")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.ReadDir()
}

// LookAs implements [host.Reader].
func (r reader) LookAs(who host.Credentials) host.Reader {
	return reader{r.Reader.LookAs(who), r.rules}
}
