// Package typenew begins external types with the types of other tools, which the tools themselves describe.
package typenew

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	jsonutil "sigs.k8s.io/json"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/objects"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/external/scaffold"
	"github.com/fettle-dev/fettle/internal/external/store"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/state"
	"github.com/fettle-dev/fettle/providers/external"
	"github.com/fettle-dev/fettle/sdk"
)

// A Request is for the external type of a type of another tool.
type Request struct {
	Kind      string // of the external type
	Describer sdk.Describer
	Type      string // of the other tool
	// Module is a directory of the author with the library of the type in lib; "" if hosts have it.
	Module string
	// Example is the name of the example and its attributes as NAME=VALUE. The name is "example" if there is none.
	Example []string
}

// Files returns the files of the type's directory by name. The describer runs on a host, in a sandbox: the host's files
// are changed only below the directory of Fettle's state, so give it a copy.
func Files(ctx context.Context, h host.Host, r Request) (map[string]string, error) {
	files, err := library(r.Module)
	if err != nil {
		return nil, err
	}
	described, err := describe(ctx, h, r, files)
	if err != nil {
		return nil, err
	}
	t := complete(r.Kind, described, files)
	d, err := definition.New(t)
	if err != nil {
		return nil, fmt.Errorf("cannot describe %s as an external type: %w", r.Type, err)
	}
	example, err := attributes(d, r.Example)
	if err != nil {
		return nil, err
	}
	files[scaffold.TypeFile], err = scaffold.Adopted(t.Spec, example)
	return files, err
}

// library returns the files of a module below lib, by their names in the module.
func library(dir string) (map[string]string, error) {
	files := map[string]string{}
	if dir == "" {
		return files, nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // nothing is written
	err = fs.WalkDir(root.FS(), "lib", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(root.FS(), name)
		files[name] = string(text)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s has no lib: give the directory of a module", dir)
	}
	return files, err
}

// describe runs the describer.
func describe(ctx context.Context, h host.Host, r Request, library map[string]string) (v1alpha1.ExternalTypeSpec, error) {
	files := maps.Clone(r.Describer.Files)
	maps.Copy(files, library)
	d := &definition.Definition{Digest: "describer", Spec: v1alpha1.ExternalTypeSpec{Source: v1alpha1.ExternalSource{Files: files}}}
	dir, err := store.New(h, path.Join(state.DefaultDir, "describers")).Dir(ctx, h, d)
	if err != nil {
		return v1alpha1.ExternalTypeSpec{}, err
	}
	const memory, tasks, limit, output = 512 << 20, 256, 2 * time.Minute, 4 << 20
	res, err := h.Query(ctx, host.Cmd{
		Args: append(slices.Clone(r.Describer.Command), r.Type), Dir: dir, Timeout: limit, MaxOutput: output,
		Confinement: &host.Confinement{ReadOnly: true, Memory: memory, Tasks: tasks},
	})
	if err == nil && res.ExitCode != 0 {
		err = errors.New(cmp.Or(strings.TrimSpace(string(res.Stderr)), fmt.Sprintf("%s exited with %d", r.Describer.Command[0], res.ExitCode)))
	}
	if err != nil {
		return v1alpha1.ExternalTypeSpec{}, fmt.Errorf("cannot describe %s: %w; it needs the packages %s", r.Type, err, r.Describer.Packages)
	}
	return decode(res.Stdout)
}

// decode decodes a part of a spec.
func decode(text []byte) (spec v1alpha1.ExternalTypeSpec, err error) {
	type plain v1alpha1.ExternalTypeSpec // without its own decoding, which accepts unknown fields
	unknown, err := jsonutil.UnmarshalStrict(text, (*plain)(&spec))
	if err = errors.Join(append(unknown, err)...); err != nil {
		err = fmt.Errorf("cannot read the description: %w", err)
	}
	return spec, err
}

// complete returns the type with what its author may change later.
func complete(kind string, spec v1alpha1.ExternalTypeSpec, library map[string]string) *v1alpha1.ExternalType {
	spec.Kind, spec.Version, spec.Source.Files = kind, "0.1.0", map[string]string{}
	for _, p := range spec.Providers {
		spec.Source.Files[strings.TrimPrefix(p.Command[0], "./")] = ""
	}
	for name := range library {
		spec.Source.Files[name] = ""
	}
	t := &v1alpha1.ExternalType{Spec: spec}
	t.Name = strings.ToLower(kind) + "s"
	return t
}

// attributes returns the attributes of the example, which may lack some that are required.
func attributes(d *definition.Definition, words []string) (map[string]any, error) {
	name, rest := "example", words
	if len(words) > 0 && !strings.Contains(words[0], "=") {
		name, rest = words[0], words[1:]
	}
	kind := external.Kind(d, nil)
	raw, err := objects.Attributes(kind, d, name, rest)
	if err != nil {
		return nil, err
	}
	if _, err := kind.Bind(resource.Ref{Kind: d.Spec.Kind, Name: "example"}, raw); errors.Is(err, resource.ErrUnknownAttribute) {
		return nil, err
	}
	all := map[string]any{}
	return all, json.Unmarshal(raw, &all)
}
