// Package dscbuild makes ExternalTypes from the manifests of DSC resources.
package dscbuild

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/dsc"
)

// A Command is a command of a manifest that prints something about types, such as their schema.
type Command struct {
	Files map[string]string // by name; the command is started in their directory
	// Executable with a slash is one of the files; any other is searched for on the host.
	Executable string
	Args       []string
}

// A Runner runs a command that cannot change anything, and returns what it prints to stdout. An exit code other than 0 is
// an error.
type Runner func(ctx context.Context, c Command) ([]byte, error)

// IsManifest reports whether a file has the name of a manifest of DSC.
func IsManifest(name string) bool {
	_, form := nameOf(name)
	return form != ""
}

// Overlay returns the name of the file with the parts of types that a manifest does not have: x.fettle.yaml for
// x.dsc.resource.json.
func Overlay(manifest string) string {
	stem, _ := nameOf(manifest)
	return stem + ".fettle.yaml"
}

// Read makes the types of a manifest: one for each document of its overlay, or all that it has if there is no overlay.
func Read(ctx context.Context, name string, run Runner) ([]*v1alpha1.ExternalType, error) {
	f, err := readFile(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	overlays, err := readOverlay(Overlay(name))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Overlay(name), err)
	}
	builders, err := f.builders(overlays)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var all []*v1alpha1.ExternalType
	var errs []error
	for _, b := range builders {
		b.run = run
		t, err := b.build(ctx)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %s%w", name, b.field, err))
			continue
		}
		all = append(all, t)
	}
	return all, errors.Join(errs...)
}

// A builder makes a type from a manifest.
type builder struct {
	name     string // of the manifest in its directory
	field    string // where the manifest is in a list, for messages; "" in a file of its own
	overlay  string // the name of the overlay, for messages
	dir      string
	text     []byte
	manifest *dsc.Manifest // of the adapter for an adapted resource
	adapted  *dsc.Adapted  // nil unless the manifest belongs to an adapter; until it is listed, if the adapter lists it
	partial  *v1alpha1.ExternalType
	run      Runner
}

// readOverlay reads incomplete ExternalTypes; nil if there is no file.
func readOverlay(name string) ([]*v1alpha1.ExternalType, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []*v1alpha1.ExternalType
	for document := range strings.SplitSeq("\n"+string(text), "\n---") {
		if strings.TrimSpace(document) == "" {
			continue
		}
		t := &v1alpha1.ExternalType{}
		if err := yaml.UnmarshalStrict([]byte(document), t); err != nil {
			return nil, err
		}
		if t.Spec.Unknown != "" {
			return nil, fmt.Errorf("spec: %s", t.Spec.Unknown)
		}
		if t.Kind != "ExternalType" || t.APIVersion != v1alpha1.GroupVersion.String() {
			return nil, fmt.Errorf("it has a %s of %q: write ExternalTypes of %s, with only what the manifest does not have", t.Kind, t.APIVersion, v1alpha1.GroupVersion)
		}
		all = append(all, t)
	}
	return all, nil
}

// files returns the files that are stored with the type: the manifest, the files beside it that its commands name, and
// those of the overlay.
func (b *builder) files(overlay map[string]string) (map[string]string, error) {
	root, err := os.OpenRoot(b.dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // nothing is written
	all := map[string]string{b.name: string(b.text)}
	maps.Copy(all, overlay)
	for _, name := range b.mentioned() {
		if info, err := root.Stat(name); err == nil && info.Mode().IsRegular() && all[name] == "" {
			all[name] = ""
		}
	}
	for name, content := range all {
		if content != "" {
			continue
		}
		text, err := fs.ReadFile(root.FS(), name)
		if err != nil {
			return nil, fmt.Errorf("spec.source.files[%s]: %w", name, err)
		}
		all[name] = string(text)
	}
	return all, nil
}

// mentioned returns the names that commands have as executables and in arguments, without ./ at the beginning. A script of
// PowerShell in a directory of its own brings the others there, which it imports.
func (b *builder) mentioned() []string {
	var words []string
	for _, op := range b.commands() {
		words = append(words, op.Executable)
		for _, a := range op.Args {
			words = append(words, append(strings.Fields(a.Text), a.Text)...)
		}
	}
	if b.adapted != nil {
		words = append(words, b.adapted.Path)
	}
	var all []string
	for _, word := range words {
		name := strings.TrimPrefix(word, "./")
		if !filepath.IsLocal(name) || name == "." {
			continue
		}
		name = filepath.ToSlash(filepath.Clean(name))
		all = append(all, name)
		if path.Dir(name) != "." && isScript(name) {
			all = append(all, b.scripts(path.Dir(name))...)
		}
	}
	return all
}

// isScript reports whether a file is one of PowerShell.
func isScript(name string) bool {
	return slices.Contains([]string{".ps1", ".psm1", ".psd1"}, strings.ToLower(path.Ext(name)))
}

// scripts returns the scripts of PowerShell in a directory.
func (b *builder) scripts(dir string) []string {
	root, err := os.OpenRoot(b.dir)
	if err != nil {
		return nil
	}
	defer func() { _ = root.Close() }() // nothing is written
	entries, err := fs.ReadDir(root.FS(), dir)
	if err != nil {
		return nil
	}
	var all []string
	for _, e := range entries {
		if e.Type().IsRegular() && isScript(e.Name()) {
			all = append(all, path.Join(dir, e.Name()))
		}
	}
	return all
}

// commands returns all commands of the manifest.
func (b *builder) commands() []*dsc.Operation {
	var all []*dsc.Operation
	for _, name := range slices.Sorted(maps.Keys(b.manifest.Operations())) {
		all = append(all, b.manifest.Operations()[name])
	}
	if s := b.manifest.Schema; s != nil && s.Command != nil {
		all = append(all, s.Command)
	}
	return all
}

// located returns an executable as a type has it: one beside the manifest begins with ./.
func located(executable string, beside func(name string) bool) string {
	if !strings.Contains(executable, "/") && beside(executable) {
		return "./" + executable
	}
	return executable
}

// beside reports whether a file is beside the manifest.
func (b *builder) beside(name string) bool {
	info, err := os.Stat(filepath.Join(b.dir, name))
	return err == nil && info.Mode().IsRegular() && !slices.Contains([]string{"", "."}, name)
}
