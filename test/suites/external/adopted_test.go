//go:build rare

package external_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/internal/cli"
	"github.com/fettle-dev/fettle/internal/cli/place"
	"github.com/fettle-dev/fettle/internal/cli/program"
	"github.com/fettle-dev/fettle/internal/engine/enginetest"
	"github.com/fettle-dev/fettle/internal/external/authoring"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/external/store"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/providers"
	"github.com/fettle-dev/fettle/providers/external"
	"github.com/fettle-dev/fettle/providers/purge"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
	"github.com/fettle-dev/fettle/test/fixtures/golden"
)

// An author writes types on a Debian root, which is also the host.
type author struct {
	enginetest.Machine
	root, dir string
	source    string // of these tests
	counter   *counter
}

func newAuthor(t *testing.T, packages ...string) *author {
	t.Helper()
	a := &author{root: debian.Root(t, debian.Layer{Install: packages}), dir: t.TempDir(), source: absolute(t, ".")}
	h, err := linux.Open(linux.Options{Root: a.root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() }) // nothing is buffered
	a.counter = &counter{Host: h}
	a.Host = a.counter
	a.Kinds = append(a.Kinds, bound.Kind(purge.Type()))
	return a
}

// fettle runs a command in the author's directory. The copy of the machine's files is the root itself.
func (a *author) fettle(t *testing.T, args ...string) (string, error) {
	t.Helper()
	t.Chdir(a.dir)
	var out bytes.Buffer
	err := cli.Run(t.Context(), cli.Options{
		Kinds:      providers.Kinds(),
		Hosts:      place.Hosts{Root: func(root string) (place.Host, error) { return linux.Open(linux.Options{Root: root}) }},
		CopyOfRoot: func(use func(string) error) error { return use(a.root) },
		Streams:    program.Streams{Out: &out, Err: &out},
	}, args)
	return out.String(), err
}

// test checks types with fettle type test.
func (a *author) test(t *testing.T, kinds ...string) {
	t.Helper()
	for _, kind := range kinds {
		out, err := a.fettle(t, "type", "test", strings.ToLower(kind))
		if err != nil || strings.Contains(out, "FAIL") || !strings.Contains(out, "ok    "+kind+": a second removal changes nothing") {
			t.Errorf("%s: %v\n%s", kind, err, out)
		}
	}
}

// adopt writes a type, and adds its kind to the machine.
func (a *author) adopt(t *testing.T, kind string, args ...string) {
	t.Helper()
	if out, err := a.fettle(t, append([]string{"type", "new", kind}, args...)...); err != nil {
		t.Fatalf("%s: %v\n%s", kind, err, out)
	}
	a.Kinds = append(a.Kinds, a.kind(t, kind))
}

// compareSpec compares type.yaml with a golden file, without the contents of files.
func (a *author) compareSpec(t *testing.T, kind, file string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(a.dir, strings.ToLower(kind), "type.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var object any
	if err := yaml.Unmarshal(text, &object); err != nil {
		t.Fatal(err)
	}
	golden.YAML(t, filepath.Join(a.source, file), object)
}

// kind reads a type of the author.
func (a *author) kind(t *testing.T, name string) resource.Kind {
	t.Helper()
	all, err := authoring.Read(t.Context(), filepath.Join(a.dir, strings.ToLower(name)), nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := definition.New(all[0])
	if err != nil {
		t.Fatal(err)
	}
	return external.Kind(d, store.New(a.Host.(*counter).Host, "/var/lib/fettle/programs"))
}

// declareSecret marks an attribute of a type as sensitive.
func (a *author) declareSecret(t *testing.T, kind, attribute string) {
	t.Helper()
	file := filepath.Join(a.dir, strings.ToLower(kind), "type.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head := "  - name: " + attribute + "\n"
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), head, head+"    sensitive: true\n", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(a.Kinds, func(k resource.Kind) bool { return k.Name() == kind })
	a.Kinds[i] = a.kind(t, kind)
}

func (a *author) read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(a.root, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}

func (a *author) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(a.root, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func absolute(t *testing.T, name string) string {
	t.Helper()
	full, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return full
}
