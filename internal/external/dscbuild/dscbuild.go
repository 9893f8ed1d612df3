// Package dscbuild makes ExternalTypes from the manifests of DSC resources.
package dscbuild

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/aliases"
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

// suffixes are the ends of the names of manifests.
func suffixes() []string {
	return []string{".dsc.resource.json", ".dsc.resource.yaml", ".dsc.resource.yml"}
}

// IsManifest reports whether a file has the name of a manifest.
func IsManifest(name string) bool { return stem(name) != name }

func stem(name string) string {
	for _, s := range suffixes() {
		if before, ok := strings.CutSuffix(name, s); ok {
			return before
		}
	}
	return name
}

// Overlay returns the name of the file with the parts of types that a manifest does not have: x.fettle.yaml for
// x.dsc.resource.json.
func Overlay(manifest string) string { return stem(manifest) + ".fettle.yaml" }

// Read makes the types of a manifest: one for each document of its overlay, or one if there is no overlay.
func Read(ctx context.Context, name string, run Runner) ([]*v1alpha1.ExternalType, error) {
	b, err := newBuilder(name, run)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	overlays, err := readOverlay(Overlay(name))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Overlay(name), err)
	}
	var all []*v1alpha1.ExternalType
	for _, o := range overlays {
		one := *b // an adapter's manifest is limited to what each resource supports
		t, err := one.build(ctx, o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, t)
	}
	return all, nil
}

// A builder makes types from one manifest.
type builder struct {
	name     string // of the manifest in its directory
	overlay  string // the name of the overlay, for messages
	dir      string
	text     []byte
	manifest *dsc.Manifest
	run      Runner
}

func newBuilder(name string, run Runner) (*builder, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	asJSON := text
	if filepath.Ext(name) != ".json" {
		if err := aliases.Check(text); err != nil {
			return nil, err
		}
		if asJSON, err = yaml.YAMLToJSONStrict(text); err != nil {
			return nil, err
		}
	}
	m, err := dsc.Parse(asJSON)
	if err != nil {
		return nil, err
	}
	b := &builder{name: filepath.Base(name), overlay: filepath.Base(Overlay(name)), dir: filepath.Dir(name), text: text, manifest: m, run: run}
	return b, nil
}

// readOverlay reads incomplete ExternalTypes. No file is one that says nothing.
func readOverlay(name string) ([]*v1alpha1.ExternalType, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return []*v1alpha1.ExternalType{{}}, nil
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

// mentioned returns the names that commands have as executables and arguments, without ./ at the beginning.
func (b *builder) mentioned() []string {
	var all []string
	for _, op := range b.commands() {
		names := []string{op.Executable}
		for _, a := range op.Args {
			names = append(names, a.Text)
		}
		for _, name := range names {
			if name = strings.TrimPrefix(name, "./"); filepath.IsLocal(name) && name != "." {
				all = append(all, filepath.ToSlash(filepath.Clean(name)))
			}
		}
	}
	return all
}

// commands returns all commands of the manifest.
func (b *builder) commands() []*dsc.Operation {
	var all []*dsc.Operation
	for _, op := range b.manifest.Operations() {
		all = append(all, op)
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
