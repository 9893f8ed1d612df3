package pkg_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
	pkg "github.com/fettle-dev/fettle/providers/package"
	"github.com/fettle-dev/fettle/providers/package/apt"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

// A machine is a Debian root with available packages.
type machine struct {
	t    *testing.T
	root string
	host host.Host
	kind resource.Kind
}

// impatient is the type with a short timeout for locks.
func impatient(timeout time.Duration) *resource.Type[pkg.Attributes] {
	return pkg.Type(apt.Lock{Timeout: timeout, Poll: 50 * time.Millisecond})
}

// newMachine returns a machine whose index has these packages.
func newMachine(t *testing.T, debs ...debian.Deb) machine {
	t.Helper()
	root := debian.Root(t)
	debian.Repository(t, root, debs...)
	debian.UpdateIndex(t, root)
	host, err := linux.Open(linux.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := host.Close(); err != nil {
			t.Error(err)
		}
	})
	return machine{t, root, host, bound.Kind(impatient(patient.Limit))}
}

// apply applies packages like the engine, in one batch: it reads, compares and writes.
// It returns for each package "in sync", its changes, or its error.
func (m machine) apply(attributes ...string) []string {
	m.t.Helper()
	resources := m.read(attributes...)
	outcomes := make([]string, len(resources))
	var batch []resource.BatchItem
	var places []int
	for i, r := range resources {
		c := r.Compare()
		outcomes[i] = messages(c.Changes)
		switch {
		case len(c.Changes) == 0:
		case c.Changes[0].Property == resource.Ensure:
			batch, places = append(batch, resource.BatchItem{Resource: r, Changes: c.Changes}), append(places, i)
		default:
			if err := r.Write(m.t.Context(), resourcetest.Writer(m.host), c.Changes); err != nil {
				outcomes[i] = err.Error()
			}
		}
	}
	for i, err := range resources[0].Provider().WriteAll(m.t.Context(), resourcetest.Writer(m.host), batch) {
		if err != nil {
			outcomes[places[i]] = err.Error()
		}
	}
	return outcomes
}

// read reads packages in one batch.
func (m machine) read(attributes ...string) []resource.Resource {
	m.t.Helper()
	resources := make([]resource.Resource, len(attributes))
	for i, a := range attributes {
		r, err := m.kind.Bind(resource.Ref{Kind: "Package", Name: fmt.Sprint(i)}, json.RawMessage(a))
		if err = errors.Join(err, r.Choose(resource.Facts{}, m.host, "apt"), r.Unsupported()); err != nil {
			m.t.Fatal(err)
		}
		resources[i] = r
	}
	if err := errors.Join(resources[0].Provider().ReadAll(m.t.Context(), resourcetest.Reader(m.host), resources)...); err != nil {
		m.t.Fatal(err)
	}
	return resources
}

func messages(changes []resource.Change) string {
	all := []string{}
	for _, c := range changes {
		all = append(all, c.Message)
	}
	if len(all) == 0 {
		return "in sync"
	}
	return strings.Join(all, ", ")
}

// states returns the states of packages in dpkg's words: "hold ok installed 1.0".
func (m machine) states(names ...string) []string {
	m.t.Helper()
	out := debian.Chroot(m.t, m.root, "dpkg-query", "--show", "--showformat", "${Package} ${Status} ${Version}\\n")
	states := make([]string, len(names))
	for i, name := range names {
		for line := range strings.Lines(out) {
			if rest, ok := strings.CutPrefix(line, name+" "); ok {
				states[i] = strings.TrimSpace(rest)
			}
		}
	}
	return states
}

func (m machine) file(name string) string {
	m.t.Helper()
	content, err := os.ReadFile(filepath.Join(m.root, name))
	if err != nil && !os.IsNotExist(err) {
		m.t.Fatal(err)
	}
	return string(content)
}

func (m machine) put(name, content string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.root, name), []byte(content), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

func expect(t *testing.T, want, got []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// deb returns a package whose configuration file contains its version.
func deb(name, version string) debian.Deb {
	conf := "/etc/" + name + ".conf"
	return debian.Deb{
		Name: name, Version: version,
		Files:     map[string]string{conf: "version " + version + "\n"},
		Conffiles: []string{conf},
	}
}

func TestEnsureTransitions(t *testing.T) {
	t.Parallel()

	m := newMachine(t, deb("tree", "1.0"), deb("tree", "2.0"))
	steps := []struct{ ensure, outcome, state string }{
		{"purged", "in sync", ""},
		{"absent", "in sync", ""},
		{"1.0", "created", "install ok installed 1.0"},
		{"1.0", "in sync", "install ok installed 1.0"},
		{"present", "in sync", "install ok installed 1.0"},
		{"installed", "in sync", "install ok installed 1.0"},
		{"latest", "ensure changed 1.0 to 2.0", "install ok installed 2.0"},
		{"latest", "in sync", "install ok installed 2.0"},
		{"1.0", "ensure changed 2.0 to 1.0", "install ok installed 1.0"},
		{"absent", "removed", "deinstall ok config-files 1.0"},
		{"absent", "in sync", "deinstall ok config-files 1.0"},
		{"purged", "purged", ""},
		{"purged", "in sync", ""},
		{"absent", "in sync", ""},
		{"latest", "created", "install ok installed 2.0"},
		{"purged", "purged", ""},
		{"present", "created", "install ok installed 2.0"},
		{"absent", "removed", "deinstall ok config-files 2.0"},
		{"present", "created", "install ok installed 2.0"},
	}
	for _, step := range steps {
		outcome := m.apply(fmt.Sprintf(`{"name":"tree","ensure":%q}`, step.ensure))
		expect(t, []string{step.ensure, step.outcome, step.state},
			[]string{step.ensure, outcome[0], m.states("tree")[0]})
	}
}
