package systemservice_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
	"github.com/fettle-dev/fettle/providers/systemservice"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// A rootDir is a Debian root directory that is not booted.
type rootDir struct {
	dir  string
	host host.Host
}

func TestSystemdOfflineInARealRoot(t *testing.T) {
	dir := debian.Root(t)
	h, err := linux.Open(linux.Options{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	for _, name := range []string{"plain", "other", "static", "of@", "named"} {
		write(t, h, "/lib/systemd/system/"+name+".service", units[name])
	}
	root := rootDir{dir, h}
	t.Run("the laws hold", root.theLawsHold)
	t.Run("an alias enables and disables its unit", root.followsAliases)
	t.Run("an instance is enabled", root.enablesInstances)
	t.Run("a static unit is in sync with any enable", root.leavesStatic)
	t.Run("a missing unit can be masked but not enabled", root.handlesMissing)
	t.Run("attributes that need a running systemd are rejected", root.refusesToStart)
}

// wanted returns the units that the next boot starts, by name and link target.
func (r rootDir) wanted(t *testing.T) string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"etc/systemd/system/multi-user.target.wants/*", "etc/systemd/system/*.service"} {
		names, err := filepath.Glob(filepath.Join(r.dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := os.Readlink(name)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, strings.TrimPrefix(name, r.dir)+" -> "+text)
		}
	}
	return strings.Join(all, "\n")
}

func (r rootDir) theLawsHold(t *testing.T) {
	resourcetest.Run(t, systemservice.Type(), resourcetest.Case{
		Host:     r.host,
		Name:     "other",
		Absent:   "{enable: false, mask: false}",
		Present:  "{enable: true}",
		Changed:  []string{"{mask: true}", "{mask: false, enable: true}"},
		Snapshot: r.wanted,
	})
}

func (r rootDir) followsAliases(t *testing.T) {
	before := r.wanted(t)
	apply(t, r.host, "{name: named, enable: true}")
	if changes := apply(t, r.host, "{name: nick, enable: true}"); changes != nil {
		t.Errorf("the alias differs from its unit: %v", changes)
	}
	apply(t, r.host, "{name: nick, enable: false}")
	if diff := cmp.Diff(before, r.wanted(t)); diff != "" {
		t.Errorf("left behind (-want +got):\n%s", diff)
	}
}

func (r rootDir) enablesInstances(t *testing.T) {
	apply(t, r.host, "{name: of@one, enable: true}")
	const link = "/etc/systemd/system/multi-user.target.wants/of@one.service -> /lib/systemd/system/of@.service"
	if got := r.wanted(t); !strings.Contains(got, link) {
		t.Errorf("the next boot starts:\n%s", got)
	}
	apply(t, r.host, "{name: of@one, enable: false}")
}

func (r rootDir) leavesStatic(t *testing.T) {
	for _, attributes := range []string{"{name: static, enable: true}", "{name: static, enable: false}"} {
		if changes := apply(t, r.host, attributes); changes != nil {
			t.Errorf("%s changed %v", attributes, changes)
		}
	}
}

func (r rootDir) handlesMissing(t *testing.T) {
	if changes := apply(t, r.host, "{name: missing, enable: false, mask: false}"); changes != nil {
		t.Errorf("it changed %v", changes)
	}
	const want = "service missing.service does not exist on the host: install its package first, for example with require: [Package/...]"
	if got := refused(t, r.host, "{name: missing, enable: true}"); got != want {
		t.Errorf("error: %s", got)
	}
	apply(t, r.host, "{name: missing, mask: true}")
	apply(t, r.host, "{name: missing, mask: false}")
}

func (r rootDir) refusesToStart(t *testing.T) {
	for attributes, want := range map[string]string{
		`{"ensure": "running"}`:     "provider systemd-offline lacks the feature controllable, which ensure needs, because no systemd runs on this host; leave the attribute out or choose another provider",
		`{"reloadOnRefresh": true}`: "provider systemd-offline lacks the feature refreshable, which reloadOnRefresh needs, because no systemd runs on this host; leave the attribute out or choose another provider",
	} {
		p, err := bound.Kind(systemservice.Type()).Bind(resource.Ref{Kind: "SystemService", Name: "plain"}, []byte(attributes))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Choose(nil, r.host, ""); err != nil {
			t.Fatal(err)
		}
		if err := p.Unsupported(); err == nil || err.Error() != want {
			t.Errorf("error: %v", err)
		}
	}
}
