package pkg_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

func TestOutdatedIndexIsUpdated(t *testing.T) {
	t.Parallel()

	for what, c := range map[string]struct {
		stale      func(m machine)
		attributes string
		state      string
	}{
		"a package missing from the index": {
			func(m machine) { m.publish(deb("tree", "1.0"), deb("new", "1.0")) },
			`{"name":"new"}`, "install ok installed 1.0",
		},
		"a version missing from the index": {
			func(m machine) { m.publish(deb("tree", "1.0"), deb("tree", "2.0")) },
			`{"name":"tree","ensure":"2.0"}`, "install ok installed 2.0",
		},
		"a version removed from the archive": {
			func(m machine) { m.publish(deb("tree", "3.0")) },
			`{"name":"tree"}`, "install ok installed 3.0",
		},
		"a deleted index": {
			func(m machine) { debian.Chroot(t, m.root, "sh", "-c", "rm -r /var/lib/apt/lists/*") },
			`{"name":"tree"}`, "install ok installed 1.0",
		},
		"a source that is newer than the index": {
			newer("etc/apt/sources.list.d/tests.list"), `{"name":"tree"}`, "install ok installed 2.0",
		},
		"a source in the newer format": {newer("etc/apt/sources.list.d/other.sources"), `{"name":"tree"}`, "install ok installed 2.0"},
		"a list of sources":            {newer("etc/apt/sources.list"), `{"name":"tree"}`, "install ok installed 2.0"},
		"a deleted source":             {newer("etc/apt/sources.list.d"), `{"name":"tree"}`, "install ok installed 2.0"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()

			m := newMachine(t, deb("tree", "1.0"))
			c.stale(m)
			expect(t, []string{"created"}, m.apply(c.attributes))
			name := "tree"
			if strings.Contains(c.attributes, "new") {
				name = "new"
			}
			expect(t, []string{c.state}, m.states(name))
		})
	}
}

// newer publishes an archive with a newer version, in which the files of the old index still
// exist. Only this source is newer than the index.
func newer(source string) func(m machine) {
	return func(m machine) {
		m.t.Helper()
		m.publish(deb("tree", "1.0"), deb("tree", "2.0"))
		m.put("etc/apt/sources.list", "")
		m.put("etc/apt/sources.list.d/other.sources", "")
		m.date("etc/apt/sources.list", -time.Hour)
		m.date("etc/apt/sources.list.d/other.sources", -time.Hour)
		m.date("etc/apt/sources.list.d", -time.Hour)
		m.date(source, time.Hour)
	}
}

// publish replaces the content of the archive, and leaves apt with the old index and old
// sources.
func (m machine) publish(debs ...debian.Deb) {
	m.t.Helper()
	debian.Repository(m.t, m.root, debs...)
	m.date("etc/apt/sources.list.d/tests.list", -time.Hour)
}

// date moves the time of a file by this much from now.
func (m machine) date(name string, ahead time.Duration) {
	m.t.Helper()
	then := time.Now().Add(ahead)
	if err := os.Chtimes(filepath.Join(m.root, name), then, then); err != nil {
		m.t.Fatal(err)
	}
}

func TestIndexIsNotUpdatedWithoutNeed(t *testing.T) {
	t.Parallel()

	m := newMachine(t, deb("tree", "1.0"), deb("bush", "1.0"))
	m.apply(`{"name":"bush"}`)
	m.publish(deb("tree", "1.0"), deb("tree", "2.0"))

	index := resourcetest.Files(m.host, "/var/lib/apt/lists")
	before := index(t)
	expect(t, []string{"created", "in sync", "in sync"}, m.apply(`{"name":"tree"}`, `{"name":"tar"}`, `{"name":"tar","ensure":"latest"}`))
	m.date("etc/apt/sources.list", time.Hour) // matters only to installations
	expect(t, []string{"purged"}, m.apply(`{"name":"bush","ensure":"purged"}`))
	if after := index(t); before != after {
		t.Errorf("the index was updated:\n%s", after)
	}
}

func TestLatestIsUnknownWithAnOutdatedIndex(t *testing.T) {
	t.Parallel()

	m := newMachine(t, deb("tree", "1.0"), deb("bush", "1.0"))
	m.apply(`{"name":"tree"}`, `{"name":"bush"}`)
	debian.Repository(t, m.root, deb("tree", "2.0"), deb("bush", "1.0"))
	m.date("etc/apt/sources.list.d/tests.list", time.Hour)

	expect(t, []string{"ensure may change from 1.0", "ensure may change from 1.0"},
		m.apply(`{"name":"tree","ensure":"latest"}`, `{"name":"bush","ensure":"latest"}`))
	expect(t, []string{"install ok installed 2.0", "install ok installed 1.0"}, m.states("tree", "bush"))

	expect(t, []string{"in sync", "in sync"},
		m.apply(`{"name":"tree","ensure":"latest"}`, `{"name":"bush","ensure":"latest"}`))
}

func TestLatestIsUnknownWithoutAnIndex(t *testing.T) {
	t.Parallel()

	m := newMachine(t, deb("tree", "1.0"))
	m.apply(`{"name":"tree"}`)
	m.publish(deb("tree", "2.0"))
	debian.Chroot(t, m.root, "sh", "-c", "rm /var/lib/apt/lists/*_*")

	expect(t, []string{"ensure may change from 1.0"}, m.apply(`{"name":"tree","ensure":"latest"}`))
	expect(t, []string{"install ok installed 2.0"}, m.states("tree"))
}

func TestErrorNamesAFailedUpdate(t *testing.T) {
	t.Parallel()

	m := newMachine(t, deb("tree", "1.0"))
	m.put("etc/apt/sources.list.d/tests.list", "deb file:/srv/nowhere ./\n")
	m.date("etc/apt/sources.list.d/tests.list", time.Hour)

	outcomes := m.apply(`{"name":"unknown"}`, `{"name":"tar","ensure":"latest"}`, `{"name":"tar","ensure":"present"}`)
	for i, want := range []string{
		`package "unknown" is not in apt's index, which can't be updated: `,
		"cannot set ensure: the latest version is unknown, because apt's index can't be updated (correct its sources, or ask for ensure: present): ",
	} {
		if !strings.HasPrefix(outcomes[i], want) || !strings.Contains(outcomes[i], "/srv/nowhere") {
			t.Errorf("the error is %q, want %q and the source in it", outcomes[i], want)
		}
	}
	expect(t, []string{"in sync"}, outcomes[2:])
}

// apt-get update succeeds if it can't reach a mirror, and uses the old index.
func TestUnreachableMirrorIsNotAnUnknownPackage(t *testing.T) {
	t.Parallel()

	m := newMachine(t, deb("tree", "1.0"))
	m.put("etc/apt/sources.list.d/far.list", "deb [trusted=yes] http://127.0.0.1:1/debian ./\n")
	m.date("etc/apt/sources.list.d/far.list", time.Hour)

	outcomes := m.apply(`{"name":"nginx"}`, `{"name":"tree","ensure":"latest"}`)
	const want = `package "nginx" is not in apt's index, which can't be updated: `
	if !strings.HasPrefix(outcomes[0], want) || !strings.Contains(outcomes[0], "127.0.0.1:1") || strings.Contains(outcomes[0], "check its name") {
		t.Errorf("the error is %q, want %q and the mirror in it", outcomes[0], want)
	}
	if want := "cannot set ensure: the latest version is unknown, because apt's index can't be updated (correct its sources, or ask for ensure: present): "; !strings.HasPrefix(outcomes[1], want) {
		t.Errorf("the error is %q, want %q", outcomes[1], want)
	}
	expect(t, []string{"install ok installed 1.0"}, m.states("tree")) // the latest as far as anybody knows
}

func TestUpdateUsesTheEnvironment(t *testing.T) {
	t.Parallel()

	m := newMachine(t, deb("tree", "1.0"))
	m.put("srv/apt.conf", `APT::Update::Pre-Invoke { "echo told $TOKEN >&2; exit 1"; };`)
	outcome := m.apply(`{"name":"unknown","environment":["APT_CONFIG=/srv/apt.conf","TOKEN=hunter2"]}`)[0]
	if strings.Contains(outcome, "hunter2") || !strings.Contains(outcome, "told [redacted]") {
		t.Errorf("the error is: %s", outcome)
	}
}

func TestReadChangesNothing(t *testing.T) {
	t.Parallel()

	m := newMachine(t, deb("tree", "1.0"), deb("tree", "2.0"))
	m.apply(`{"name":"tree","ensure":"1.0"}`)
	debian.Repository(t, m.root, deb("tree", "3.0"))
	m.date("etc/apt/sources.list.d/tests.list", time.Hour)

	everything := resourcetest.Files(m.host, "/var", "/etc")
	before := everything(t)
	r := m.read(`{"name":"tree","ensure":"latest"}`, `{"name":"unknown","ensure":"latest"}`)
	expect(t, []string{"ensure may change from 1.0", "created"},
		[]string{messages(r[0].Compare().Changes), messages(r[1].Compare().Changes)})
	if _, err := m.kind.Instances(t.Context(), resource.Facts{}, resourcetest.Reader(m.host), "apt"); err != nil {
		t.Error(err)
	}
	if after := everything(t); before != after {
		t.Error("a look changed files of the host")
	}
}
