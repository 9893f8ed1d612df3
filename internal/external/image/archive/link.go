package archive

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// maxLinks is how many symlinks the path of another one may have, as in Linux.
const maxLinks = 40

// checkLink returns an error unless a symlink leads to another entry, and never outside of the program's directory on the way.
func (u *Unpacker) checkLink(e *Entry) error {
	w := linkWalk{entries: u.entries, at: path.Dir(e.Name)}
	err := w.follow(e.Target)
	for err == nil && len(w.todo) > 0 {
		err = w.step()
	}
	if err != nil {
		return fmt.Errorf("the symlink %q to %.80q %w", e.Name, e.Target, err)
	}
	return nil
}

// A linkWalk resolves a symlink like the kernel, among the entries of an artifact.
type linkWalk struct {
	entries map[string]*Entry
	at      string // a directory
	todo    []string
	links   int
}

// follow puts the target of a symlink in the directory before the rest of the path.
func (w *linkWalk) follow(target string) error {
	if path.IsAbs(target) || target == "" || len(target) > maxName {
		return errors.New("needs a relative path")
	}
	if w.links++; w.links > maxLinks {
		return errors.New("leads to too many others")
	}
	w.todo = append(strings.Split(target, "/"), w.todo...)
	return nil
}

// step resolves the next part of the path.
func (w *linkWalk) step() error {
	part := w.todo[0]
	w.todo = w.todo[1:]
	if part == ".." && w.at == "." {
		return errors.New("leads out of the program's directory")
	}
	name := path.Join(w.at, part)
	next := w.entries[name]
	switch {
	case name == ".":
	case next == nil:
		return fmt.Errorf("leads to %q, which is not in the artifact", name)
	case next.Kind == Symlink:
		return w.follow(next.Target)
	case next.Kind == File && len(w.todo) > 0:
		return fmt.Errorf("leads through %q, which is not a directory", name)
	}
	w.at = name
	return nil
}
