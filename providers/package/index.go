package pkg

import (
	"errors"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/internal/host"
)

// Where apt keeps its index, and what the index is made from.
const (
	aptLists   = "/var/lib/apt/lists"
	aptPartial = "/var/lib/apt/lists/partial" // touched by every update, also by one that brings nothing new
	aptSources = "/etc/apt/sources.list"
	aptParts   = "/etc/apt/sources.list.d"
)

// staleIndex reports whether apt's index is missing or older than its sources.
func staleIndex(h host.Reader) (bool, error) {
	updated, err := modified(h, aptPartial)
	if err != nil {
		return false, err
	}
	emptied, err := missingIndex(h)
	if err != nil || emptied.After(updated) {
		return err == nil, err
	}
	changed, err := sourcesModified(h)
	return changed.After(updated), err
}

// missingIndex is when the last of the index went away; zero if there is one.
func missingIndex(h host.Reader) (time.Time, error) {
	names, err := h.ReadDir(aptLists)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, err
	}
	for _, name := range names {
		if strings.Contains(name, "_") { // the names of what is downloaded are addresses
			return time.Time{}, nil
		}
	}
	return modified(h, aptLists)
}

func sourcesModified(h host.Reader) (time.Time, error) {
	names, err := h.ReadDir(aptParts)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, err
	}
	paths := []string{aptSources, aptParts}
	for _, name := range names {
		if ext := path.Ext(name); ext == ".list" || ext == ".sources" {
			paths = append(paths, path.Join(aptParts, name))
		}
	}
	var newest time.Time
	for _, p := range paths {
		t, err := modified(h, p)
		if err != nil {
			return newest, err
		}
		if t.After(newest) {
			newest = t
		}
	}
	return newest, nil
}

// modified is when a file changed; zero if it is not there.
func modified(h host.Reader, path string) (time.Time, error) {
	info, err := h.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	}
	return info.ModTime, err
}
