package pkg

import (
	"errors"
	"io/fs"
	"path"
	"slices"
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

// newerThanIndex names a file that is newer than apt's index, so that the index does
// not say what it could: a source, or the directory that the index went away from. ""
// says that there is none.
func newerThanIndex(h host.Reader) (string, error) {
	updated, err := modified(h, aptPartial)
	if err != nil {
		return "", err
	}
	candidates, err := aroundIndex(h)
	if err != nil {
		return "", err
	}
	newest := ""
	for _, c := range candidates {
		changed, err := modified(h, c)
		if err != nil {
			return "", err
		}
		if changed.After(updated) {
			newest, updated = c, changed
		}
	}
	return newest, nil
}

// aroundIndex are the files that the index must not be older than.
func aroundIndex(h host.Reader) ([]string, error) {
	files := []string{aptSources, aptParts}
	lists, err := names(h, aptLists)
	if err != nil {
		return nil, err
	}
	downloaded := func(name string) bool { return strings.Contains(name, "_") } // from its address
	if !slices.ContainsFunc(lists, downloaded) {
		files = append(files, aptLists)
	}
	parts, err := names(h, aptParts)
	for _, name := range parts {
		if ext := path.Ext(name); ext == ".list" || ext == ".sources" {
			files = append(files, path.Join(aptParts, name))
		}
	}
	return files, err
}

// names are those in a directory, which may not be there.
func names(h host.Reader, dir string) ([]string, error) {
	all, err := h.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return all, err
}

// modified is when a file changed; zero if it is not there.
func modified(h host.Reader, path string) (time.Time, error) {
	info, err := h.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	}
	return info.ModTime, err
}
