// Package source finds the manifests named on a command line: files, directories, URLs, a kustomization and standard
// input.
//
// [Loader.Expand] lists them in order, and each is read when its Read is called.
package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Stdin is the name of the source that is standard input, and its path on a command line.
const (
	Stdin     = "stdin"
	stdinPath = "-"
)

// A Source is one text.
type Source struct {
	Name string // for messages: a path, a URL, "stdin"
	// Read returns the whole text. Its error names the source. It is called once.
	Read func(context.Context) ([]byte, error)
}

// A Request has the values of flags that mean the same as in kubectl.
type Request struct {
	Files     []string // -f: a file, a directory, an http(s) URL, or - for standard input
	Recursive bool     // -R: also subdirectories of those in Files
	Kustomize string   // -k: a directory with a kustomization; may be ""
}

// Empty reports whether there are no manifests.
func (r Request) Empty() bool { return len(r.Files) == 0 && r.Kustomize == "" }

// A Loader reads from this machine and the network.
type Loader struct {
	// Local returns the path to read for a path of the request, such as one below the root of another host; nil reads
	// the path itself. Names of sources are those of the request.
	Local func(path string) (string, error)
	Stdin io.Reader
	// HTTP makes the requests for URLs; nil uses one with the default transport.
	HTTP *http.Client
	// Kustomize builds the kustomization of a directory.
	Kustomize func(ctx context.Context, dir string) ([]byte, error)
}

// Expand lists the sources of a request, in order. The files of a directory are sorted by
// path. The error joins all errors; the list has the other sources.
func (l Loader) Expand(r Request) ([]Source, error) {
	if r.Kustomize != "" {
		if len(r.Files) > 0 || r.Recursive {
			return nil, errors.New("-k cannot be combined with -f or -R: build one kustomization of all, or run twice")
		}
		return []Source{l.kustomization(r.Kustomize)}, nil
	}
	var all []Source
	var errs []error
	for _, name := range r.Files {
		found, err := l.expand(name, r.Recursive)
		all, errs = append(all, found...), append(errs, err)
	}
	return all, errors.Join(errs...)
}

func (l Loader) expand(name string, recursive bool) ([]Source, error) {
	switch {
	case name == stdinPath:
		return []Source{{Stdin, l.readStdin}}, nil
	case strings.HasPrefix(name, "http://"), strings.HasPrefix(name, "https://"):
		return []Source{l.web(name)}, nil
	}
	local, err := l.local(name)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", name, err)
	}
	info, err := os.Stat(local)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", name, errors.Unwrap(err))
	}
	if !info.IsDir() {
		return []Source{l.file(name)}, nil
	}
	return l.directory(name, local, recursive)
}

func (l Loader) local(name string) (string, error) {
	if l.Local == nil {
		return name, nil
	}
	return l.Local(name)
}

// readStdin stops when ctx ends, because input may never come.
func (l Loader) readStdin(ctx context.Context) ([]byte, error) {
	type result struct {
		text []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := io.ReadAll(l.Stdin)
		done <- result{text, err}
	}()
	select {
	case all := <-done:
		return all.text, all.err
	case <-ctx.Done():
		return nil, fmt.Errorf("cannot read stdin: %w", ctx.Err())
	}
}

func (l Loader) kustomization(dir string) Source {
	return Source{dir, func(ctx context.Context) ([]byte, error) {
		text, err := l.Kustomize(ctx, dir)
		if err != nil {
			return nil, fmt.Errorf("cannot build the kustomization %s: %w", dir, err)
		}
		return text, nil
	}}
}

// kustomizations are the names of the file that makes a directory a kustomization. One without an extension is not read, as
// in kubectl.
var kustomizations = []string{"kustomization.yaml", "kustomization.yml"}

// file is a manifest. A kustomization is none: without its patches, the manifests beside it are only half of the truth.
func (l Loader) file(name string) Source {
	return Source{name, func(context.Context) ([]byte, error) {
		if slices.Contains(kustomizations, filepath.Base(name)) {
			return nil, fmt.Errorf("%s is a kustomization, which -f does not build: use -k %s", name, filepath.Dir(name))
		}
		local, err := l.local(name)
		if err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", name, err)
		}
		return os.ReadFile(local)
	}}
}

// extensions of manifests in a directory.
var extensions = []string{".yaml", ".yml", ".json"}

// directory lists the manifests in a directory. As in kubectl, -R enters subdirectories
// but no symlinks to directories.
func (l Loader) directory(name, top string, recursive bool) ([]Source, error) {
	var all []Source
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != top && !recursive:
			return fs.SkipDir
		case !d.IsDir() && slices.Contains(extensions, filepath.Ext(path)):
			all = append(all, l.file(filepath.Join(name, strings.TrimPrefix(path, top))))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read directory %s: %w", name, err)
	}
	if len(all) == 0 {
		hint := ""
		if !recursive {
			hint = "; -R also looks in its subdirectories"
		}
		return nil, fmt.Errorf("directory %s has no .yaml, .yml or .json file%s", name, hint)
	}
	return all, nil
}
