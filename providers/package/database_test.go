package pkg_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
	pkg "github.com/fettle-dev/fettle/providers/package"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

const statusFile = "/var/lib/dpkg/status"

// status returns the database in testdata.
func status(t testing.TB) string {
	t.Helper()
	content, err := os.ReadFile("testdata/status")
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// debianHost returns a fake host with the tools and a database.
func debianHost(t testing.TB, status string) *hosttest.Host {
	t.Helper()
	h := hosttest.New(t)
	h.Put(statusFile, status)
	for _, tool := range []string{"/usr/bin/apt-get", "/usr/bin/apt-cache", "/usr/bin/dpkg"} {
		h.Put(tool, "")
		if err := os.Chmod(h.Dir()+tool, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func TestDpkgStates(t *testing.T) {
	t.Parallel()

	h := debianHost(t, status(t))
	for name, want := range map[string]string{
		"dpkg":        "1.21.22 none",
		"libc6":       "2.36-9+deb12u10 none",
		"libc6:i386":  "2.36-9+deb12u10 none",
		"libc6:arm64": "purged none",
		"nginx":       "1.22.1-9 hold",
		"nginx:amd64": "1.22.1-9 hold",
		"nginx:all":   "1.22.1-9 hold",
		"nginx:i386":  "purged none",
		"exim4-base":  "absent none",
		"half":        "half-configured none",
		"fresh":       "unpacked none",
		"waits":       "1.1 none",
		"man-db":      "2.11.2-2 none",
		"wreck":       "damaged none",
		"forgotten":   "purged none",
		"planned":     "absent none",
		"unknown":     "purged none",
		"this":        "purged none",
	} {
		expect(t, []string{name, want}, []string{name, stateOf(t, h, name)})
	}
}

// stateOf returns ensure and mark of a package that is read together with others.
func stateOf(t *testing.T, h *hosttest.Host, name string) string {
	t.Helper()
	r := named(t, h, name)
	if err := errors.Join(r.Provider().ReadAll(t.Context(), resourcetest.Reader(h), []resource.Resource{r})...); err != nil {
		t.Fatal(err)
	}
	var is struct{ Ensure, Mark string }
	if err := json.Unmarshal(r.State().Attributes, &is); err != nil {
		t.Fatal(err)
	}
	return is.Ensure + " " + is.Mark
}

func named(t *testing.T, h *hosttest.Host, name string) resource.Resource {
	t.Helper()
	r, err := bound.Kind(pkg.Type(pkg.DefaultLock())).Named(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Choose(resource.Facts{}, h, "apt"); err != nil {
		t.Fatal(err)
	}
	return r
}

// A counting host counts how often a file is opened.
type counting struct {
	host.Reader
	opened map[string]int
}

func (c counting) Open(name string) (io.ReadCloser, error) {
	c.opened[name]++
	return c.Reader.Open(name)
}

func TestPackagesAreReadTogether(t *testing.T) {
	t.Parallel()

	h := debianHost(t, status(t))
	c := counting{h.ReadOnly(), map[string]int{}}
	all := []resource.Resource{named(t, h, "nginx"), named(t, h, "half"), named(t, h, "unknown")}
	if err := errors.Join(all[0].Provider().ReadAll(t.Context(), resourcetest.Reader(c), all)...); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{statusFile: 1}, c.opened); diff != "" {
		t.Errorf("(-want +opened):\n%s", diff)
	}
}

// A journal has newer paragraphs than the file, in the order of its names.
func TestJournalTakesPrecedenceOverTheStatusFile(t *testing.T) {
	t.Parallel()

	paragraph := func(name, arch, version, state string) string {
		return fmt.Sprintf("Package: %s\nStatus: install ok %s\nArchitecture: %s\nVersion: %s\n", name, state, arch, version)
	}
	h := debianHost(t, status(t))
	h.Put("/var/lib/dpkg/updates/0000", paragraph("nginx", "all", "2.0", "half-configured"))
	h.Put("/var/lib/dpkg/updates/0001", paragraph("nginx", "amd64", "2.0", "installed"))
	h.Put("/var/lib/dpkg/updates/0002", paragraph("new", "amd64", "1.0", "installed"))
	h.Put("/var/lib/dpkg/updates/0003", "Package: dpkg\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1.22\n")
	h.Put("/var/lib/dpkg/updates/0004", "Package: forgotten\nStatus: install ok installed\nArchitecture: all\nVersion: 5\n")
	h.Put("/var/lib/dpkg/updates/0005", paragraph("waits", "all", "1.2", "installed"))
	h.Put("/var/lib/dpkg/updates/tmp.i", paragraph("new", "amd64", "9.9", "installed"))

	expect(t, []string{"2.0 none", "1.0 none", "1.22 none", "5 none", "1.2 none", "2.36-9+deb12u10 none"}, []string{
		stateOf(t, h, "nginx"), stateOf(t, h, "new"), stateOf(t, h, "dpkg"), stateOf(t, h, "forgotten"), stateOf(t, h, "waits"), stateOf(t, h, "libc6:i386"),
	})
}

func TestMissingDatabaseIsAnError(t *testing.T) {
	t.Parallel()

	h := debianHost(t, "")
	if err := h.Remove(statusFile); err != nil {
		t.Fatal(err)
	}
	r := named(t, h, "tar")
	err := errors.Join(r.Provider().ReadAll(t.Context(), resourcetest.Reader(h), []resource.Resource{r})...)
	if err == nil || !strings.HasPrefix(err.Error(), "cannot read dpkg's database: ") {
		t.Errorf("reading without a database gave %v", err)
	}
}

// The parser and dpkg agree on a database that dpkg wrote.
func TestListAgreesWithDpkgQuery(t *testing.T) {
	t.Parallel()

	m := newMachine(t, deb("tree", "1.0"), deb("bush", "1.0"))
	m.apply(`{"name":"tree","mark":"hold"}`, `{"name":"bush"}`)
	m.apply(`{"name":"bush","ensure":"absent"}`)

	want := map[string]string{}
	out := debian.Chroot(t, m.root, "dpkg-query", "--show", "--showformat", "${db:Status-Status} ${Package} ${Version} ${db:Status-Want}\\n")
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); f[0] == "installed" {
			want[f[1]] = f[2] + " " + map[string]string{"install": "none", "hold": "hold"}[f[3]]
		}
	}
	got := map[string]string{}
	all, err := m.kind.Instances(t.Context(), resource.Facts{}, resourcetest.Reader(m.host), "apt")
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		var is struct{ Ensure, Mark string }
		if err := json.Unmarshal(i.Attributes, &is); err != nil {
			t.Fatal(err)
		}
		got[i.Namevar] = is.Ensure + " " + is.Mark
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-dpkg-query +list):\n%s", diff)
	}
}

// BenchmarkReadAll reads one package out of a database of a thousand.
func BenchmarkReadAll(b *testing.B) {
	var database strings.Builder
	database.WriteString(status(b))
	for i := range 1000 {
		fmt.Fprintf(&database, "\nPackage: package-%d\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1.%d\n"+
			"Depends: %s\nDescription: one of many\n%s\n", i, i, strings.Repeat("libsome (>= 1.0), ", 10), strings.Repeat(" and a long text\n", 10))
	}
	h := debianHost(b, database.String())
	r, err := bound.Kind(pkg.Type(pkg.DefaultLock())).Named("package-999")
	if err != nil {
		b.Fatal(err)
	}
	if err := r.Choose(resource.Facts{}, h, "apt"); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(database.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if err := r.Read(b.Context(), resourcetest.Reader(h)); err != nil {
			b.Fatal(err)
		}
	}
}
