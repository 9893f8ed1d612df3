package pkg_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
	pkg "github.com/fettle-dev/fettle/providers/package"
)

// The commands of apt, by the present and the desired state of a package.
// The index has versions 1.0 and 2.0.
func TestAptCommands(t *testing.T) {
	t.Parallel()

	const (
		gone, leftovers = "", "deinstall ok config-files 1.0"
		old, held       = "install ok installed 1.0", "hold ok installed 1.0"
		half            = "install ok half-configured 1.0"
	)
	policy := "? apt-cache -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= policy -- tree"
	aptGet := func(words string) string {
		return "! apt-get -q -y -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=600 -o DPkg::Options::=--force-confold " + words
	}
	const selections, configure = "! dpkg --set-selections", "! dpkg --force-confold --configure --pending"

	for what, c := range map[string]struct {
		is, attributes, becomes string
		commands                []string
	}{
		"not installed to present":     {gone, `"ensure":"present"`, old, []string{policy, aptGet("install tree")}},
		"not installed to latest":      {gone, `"ensure":"latest"`, "install ok installed 2.0", []string{policy, aptGet("install tree")}},
		"not installed to a version":   {gone, `"ensure":"1.0"`, old, []string{policy, aptGet("install --allow-downgrades tree=1.0")}},
		"not installed to held":        {gone, `"mark":"hold"`, old, []string{policy, aptGet("install tree"), selections}},
		"removed to present":           {leftovers, `"ensure":"present"`, old, []string{policy, aptGet("install tree")}},
		"removed to purged":            {leftovers, `"ensure":"purged"`, gone, []string{aptGet("purge tree")}},
		"installed to absent":          {old, `"ensure":"absent"`, leftovers, []string{aptGet("remove tree")}},
		"installed to purged":          {old, `"ensure":"purged"`, gone, []string{aptGet("purge tree")}},
		"installed to latest":          {old, `"ensure":"latest"`, "install ok installed 2.0", []string{policy, aptGet("install tree")}},
		"installed to another version": {old, `"ensure":"2.0"`, "install ok installed 2.0", []string{policy, aptGet("install --allow-downgrades tree=2.0")}},
		"held to latest":               {held, `"ensure":"latest"`, "hold ok installed 2.0", []string{policy, selections, aptGet("install tree"), selections}},
		"held to absent":               {held, `"ensure":"absent"`, leftovers, []string{selections, aptGet("remove tree")}},
		"held to another version without a hold": {
			held, `"ensure":"2.0","mark":"none"`, "install ok installed 2.0",
			[]string{policy, selections, aptGet("install --allow-downgrades tree=2.0")},
		},
		"interrupted to present": {half, `"ensure":"present"`, old, []string{configure, policy, aptGet("install tree")}},
		"with options": {
			gone, `"ensure":"present","installOptions":["-t","backports"],"uninstallOptions":["--unused"]`, old,
			[]string{policy, aptGet("install -t backports tree")},
		},
		"with new configuration files": {
			gone, `"ensure":"present","configFiles":"replace"`, old,
			[]string{policy, strings.Replace(aptGet("install tree"), "confold", "confnew", 1)},
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()

			h := hostWith(t, c.is)
			h.Handle("apt-get", func(host.Cmd) host.Result {
				h.Put(statusFile, database(c.becomes))
				return host.Result{}
			})
			if err := write(t.Context(), h, c.attributes); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(c.commands, h.Transcript()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// hostWith returns a fake host with an up-to-date index and the package tree in this
// state, with the version.
func hostWith(t *testing.T, state string) *hosttest.Host {
	t.Helper()
	h := debianHost(t, database(state))
	h.PutDir("/var/lib/apt/lists/partial")
	h.Put("/var/lib/apt/lists/archive_Packages", "")
	h.Handle("dpkg", func(host.Cmd) host.Result { return host.Result{} })
	h.Handle("apt-cache", func(host.Cmd) host.Result {
		return host.Result{Stdout: []byte("tree:\n  Installed: 1.0\n  Candidate: 2.0\n  Version table:\n     2.0 500\n        500 http://archive\n     1.0 500\n")}
	})
	return h
}

func database(state string) string {
	text := "Package: dpkg\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1\n"
	if i := strings.LastIndex(state, " "); i > 0 {
		text += fmt.Sprintf("\nPackage: tree\nStatus: %s\nArchitecture: amd64\nVersion: %s\n", state[:i], state[i+1:])
	}
	return text
}

// write writes the desired state of the package tree without reading it first.
func write(ctx context.Context, h *hosttest.Host, attributes string) error {
	r, err := bound.Kind(pkg.Type(pkg.DefaultLock())).Bind(resource.Ref{Kind: "Package", Name: "tree"}, json.RawMessage("{"+attributes+"}"))
	if err != nil {
		return err
	}
	if err := r.Choose(resource.Facts{}, h, "apt"); err != nil {
		return err
	}
	return r.Write(ctx, resourcetest.Writer(h), []resource.Change{{Property: resource.Ensure}})
}

// A package that another one has installed as a dependency needs nothing.
func TestPackagesInSyncAreNotChanged(t *testing.T) {
	t.Parallel()

	h := hostWith(t, "install ok installed 2.0")
	for _, attributes := range []string{`"ensure":"latest"`, `"ensure":"2.0"`, `"ensure":"present"`} {
		if err := write(t.Context(), h, attributes); err != nil {
			t.Error(err)
		}
	}
	if changes := slices.DeleteFunc(h.Transcript(), func(line string) bool { return line[0] == '?' }); len(changes) > 0 {
		t.Errorf("there were changes: %v", changes)
	}
}

func TestFalseSuccessIsAFailure(t *testing.T) {
	t.Parallel()

	h := hostWith(t, "install ok installed 1.0")
	h.Handle("apt-get", func(host.Cmd) host.Result { return host.Result{} })
	err := write(t.Context(), h, `"ensure":"latest"`)
	if err == nil || err.Error() != `cannot install package "tree": apt-get succeeded, but it is 1.0` {
		t.Errorf("an apt-get that did nothing gave: %v", err)
	}
}

func TestPackagesAreHeldAgainAfterCancellation(t *testing.T) {
	t.Parallel()

	h := hostWith(t, "hold ok installed 1.0")
	ctx, stop := context.WithCancel(t.Context())
	var selected []string
	h.Handle("dpkg", func(cmd host.Cmd) host.Result {
		selected = append(selected, string(cmd.Stdin))
		return host.Result{}
	})
	h.Handle("apt-get", func(host.Cmd) host.Result {
		stop()
		return host.Result{ExitCode: 100, Stderr: []byte("E: called off\n")}
	})
	h.Handle("touch", func(host.Cmd) host.Result { return host.Result{} }) // the index is as old as before
	err := write(ctx, h, `"ensure":"latest"`)
	if err == nil {
		t.Error("there was no error")
	}
	expect(t, []string{"tree install\n", "tree hold\n"}, selected)
}

func TestCommandThatCannotRunIsTriedOnce(t *testing.T) {
	t.Parallel()

	h := hostWith(t, "")
	ctx, stop := context.WithCancel(t.Context())
	h.Handle("apt-cache", func(host.Cmd) host.Result {
		stop()
		return host.Result{Stdout: []byte("tree:\n  Candidate: 2.0\n")}
	})
	if err := write(ctx, h, `"ensure":"present"`); !errors.Is(err, context.Canceled) {
		t.Errorf("a run that was called off gave: %v", err)
	}
}

func TestAptSuitsHostsThatHaveItAndIsTheDefaultOfDebian(t *testing.T) {
	t.Parallel()

	debian := resource.Facts{"os": map[string]any{"family": "Debian"}}
	features := []resource.Feature{
		"installable", "uninstallable", "upgradeable", "purgeable", "versionable", "version_ranges",
		"reinstallable", "virtual_packages", "holdable", "install_options", "uninstall_options",
	}
	want := []resource.Suitability{{
		Provider: "apt", Features: features, Specificity: 1, Chosen: true,
		Needs:    resource.Needs{Commands: []string{"apt-get", "apt-cache", "dpkg"}, Remedy: "only Debian and its derivatives have them"},
		Defaults: resource.Defaults{For: []resource.Where{{"os.family": {"Debian"}}}},
	}}
	if diff := cmp.Diff(want, bound.Kind(pkg.Type(pkg.DefaultLock())).Suitability(debian, debianHost(t, ""))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	bare := bound.Kind(pkg.Type(pkg.DefaultLock())).Suitability(resource.Facts{}, hosttest.New(t))[0]
	if bare.Chosen || bare.Specificity != 0 || bare.Err == nil || !strings.HasPrefix(bare.Err.Error(), "the command apt-get is not installed; ") {
		t.Errorf("on a host without apt: %+v", bare)
	}
}
