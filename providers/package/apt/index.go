package apt

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/internal/host"
)

// Apt's index, and what it is downloaded from.
const (
	listsDir    = "/var/lib/apt/lists"
	partialDir  = "/var/lib/apt/lists/partial" // touched by every update, also if nothing changed
	sourcesFile = "/etc/apt/sources.list"
	sourcesDir  = "/etc/apt/sources.list.d"
)

// NewerThanIndex returns a file that is newer than apt's index, so that the index may be
// outdated: a source, or the directory from which the index was deleted. It is "" if there is
// none.
func NewerThanIndex(h host.Reader) (string, error) {
	updated, err := modified(h, partialDir)
	if err != nil {
		return "", err
	}
	candidates, err := dependencies(h)
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

// SourcesChanged returns when the sources of the index changed last; zero without sources.
func SourcesChanged(h host.Reader) (last time.Time, err error) {
	files, err := sources(h)
	for _, file := range files {
		changed, err := modified(h, file)
		if err != nil {
			return last, err
		}
		if changed.After(last) {
			last = changed
		}
	}
	return last, err
}

// dependencies returns the files that the index must not be older than.
func dependencies(h host.Reader) ([]string, error) {
	files, err := sources(h)
	if err != nil {
		return nil, err
	}
	lists, err := names(h, listsDir)
	downloaded := func(name string) bool { return strings.Contains(name, "_") } // from its URL
	if !slices.ContainsFunc(lists, downloaded) {
		files = append(files, listsDir)
	}
	return files, err
}

// sources returns the files that name apt's sources, and their directory.
func sources(h host.Reader) ([]string, error) {
	files := []string{sourcesFile, sourcesDir}
	parts, err := names(h, sourcesDir)
	for _, name := range parts {
		if ext := path.Ext(name); ext == ".list" || ext == ".sources" {
			files = append(files, path.Join(sourcesDir, name))
		}
	}
	return files, err
}

// names lists a directory, which need not exist.
func names(h host.Reader, dir string) ([]string, error) {
	all, err := h.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return all, err
}

// modified returns the time when a file changed; zero if it does not exist.
func modified(h host.Reader, path string) (time.Time, error) {
	info, err := h.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	}
	return info.ModTime, err
}
