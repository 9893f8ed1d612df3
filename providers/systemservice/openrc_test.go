package systemservice_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
	"github.com/fettle-dev/fettle/providers/systemservice"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// openrcScript returns a script that can reload or not. It has started once its command runs:
// OpenRC returns after the fork, and can't stop a process that has not written its PID yet, or is
// not the command.
func openrcScript(name, more string) string {
	const started = "start_post() { until [ \"$(cat /proc/$(cat $pidfile)/comm 2>/dev/null)\" = sleep ]; do sleep 0.01; done; }\n"
	return "#!/sbin/openrc-run\ncommand=/bin/sleep\ncommand_args=infinity\ncommand_background=true\npidfile=/run/" + name + ".pid\n" + started + more
}

func TestOpenRCInARealRoot(t *testing.T) {
	r := newScriptRoot(t, "openrc", map[string]string{
		"real":     openrcScript("real", ""),
		"other":    openrcScript("other", ""),
		"reloads":  openrcScript("reloads", "extra_started_commands=reload\nreload() { echo reloaded >>/run/reloads; }\n"),
		"refusing": "#!/sbin/openrc-run\nstart() { eerror 'no such port'; return 1; }\n",
	})
	r.install(t, debian.Debs(t, "openrc"))
	t.Cleanup(func() { r.stopAll(t, "real", "other", "reloads") })
	t.Run("it is the default if it is installed", r.isDefault)
	t.Run("the laws hold", r.openrcLawsHold)
	t.Run("a service is started and enabled, stopped and disabled", r.startsAndStopsByOpenRC)
	t.Run("a service is disabled in all of its runlevels", r.disablesEverywhere)
	t.Run("a service of the shutdown runlevel does not start at boot", r.leavesWhatEnds)
	t.Run("the error of a failed start has the reason", r.openrcSaysWhy)
	t.Run("a service without a script is stopped and can't be started", r.handlesMissing)
	t.Run("a notified service is restarted or reloaded", r.refreshesByOpenRC)
	t.Run("services are listed", r.lists)
}

// install installs packages in the root, and makes openrc believe that it was booted.
func (r scriptRoot) install(t *testing.T, debs []string) {
	t.Helper()
	command := []string{"dpkg", "--install"}
	for _, deb := range debs {
		text, err := os.ReadFile(deb)
		if err != nil {
			t.Fatal(err)
		}
		name := "/var/cache/apt/archives/" + filepath.Base(deb)
		write(t, r.host, name, string(text))
		command = append(command, name)
	}
	debian.Chroot(t, r.dir, command...)
	debian.Chroot(t, r.dir, "mkdir", "--parents", "/run/openrc")
	write(t, r.host, "/run/openrc/softlevel", "default\n")
}

// runlevels returns the runlevels of the service.
func (r scriptRoot) runlevels(t *testing.T, service string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(r.dir, "etc/runlevels/*", service))
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		names[i] = filepath.Base(filepath.Dir(name))
	}
	return strings.Join(names, " ")
}

func (r scriptRoot) openrcLawsHold(t *testing.T) {
	resourcetest.Run(t, systemservice.Type(), resourcetest.Case{
		Host:     r.host,
		Name:     "other",
		Absent:   "{ensure: stopped, enable: false}",
		Present:  "{ensure: running, enable: true}",
		Changed:  []string{"{ensure: stopped, enable: true}", "{ensure: running, enable: false}"},
		Snapshot: func(t *testing.T) string { t.Helper(); return r.runlevels(t, "other") },
	})
}

func (r scriptRoot) startsAndStopsByOpenRC(t *testing.T) {
	apply(t, r.host, "{name: real, ensure: running, enable: true}")
	if got := r.runlevels(t, "real"); got != "default" {
		t.Errorf("it is in the runlevels %s", got)
	}
	debian.Chroot(t, r.dir, "rc-service", "real", "status")
	if changes := apply(t, r.host, "{name: real.service, ensure: running, enable: true}"); changes != nil {
		t.Errorf("a second time it changed %v", changes)
	}
	apply(t, r.host, "{name: real, ensure: stopped, enable: false}")
	if got := r.runlevels(t, "real"); got != "" {
		t.Errorf("it is in the runlevels %s", got)
	}
}

func (r scriptRoot) disablesEverywhere(t *testing.T) {
	debian.Chroot(t, r.dir, "rc-update", "add", "real", "boot", "default")
	apply(t, r.host, "{name: real, enable: false}")
	if got := r.runlevels(t, "real"); got != "" {
		t.Errorf("it is in the runlevels %s", got)
	}
}

func (r scriptRoot) leavesWhatEnds(t *testing.T) {
	for _, level := range []string{"off", "shutdown"} { // Debian's and Gentoo's name
		debian.Chroot(t, r.dir, "mkdir", "--parents", "/etc/runlevels/"+level)
		debian.Chroot(t, r.dir, "rc-update", "add", "real", level)
		if changes := apply(t, r.host, "{name: real, enable: false}"); changes != nil {
			t.Errorf("in the runlevel %s it counts as enabled: %v", level, changes)
		}
		debian.Chroot(t, r.dir, "rc-update", "delete", "real", level)
	}
}

func (r scriptRoot) openrcSaysWhy(t *testing.T) {
	got := refused(t, r.host, "{name: refusing, ensure: running}")
	if !strings.HasPrefix(got, "cannot set ensure: cannot start refusing: ") || !strings.HasSuffix(got, "no such port; ERROR: refusing failed to start") {
		t.Errorf("error: %s", got)
	}
}

func (r scriptRoot) refreshesByOpenRC(t *testing.T) {
	if err := r.refresh(t, "{name: reloads}"); !errors.Is(err, resource.ErrNothingToRefresh) {
		t.Errorf("refresh of a stopped service: %v", err)
	}
	apply(t, r.host, "{name: reloads, ensure: running}")
	apply(t, r.host, "{name: real, ensure: running}")
	first, firstReal := r.read(t, "run/reloads.pid"), r.read(t, "run/real.pid")
	for _, attributes := range []string{"{name: reloads, reloadOnRefresh: true}", "{name: real, reloadOnRefresh: true}"} {
		if err := r.refresh(t, attributes); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.read(t, "run/reloads"); got != "reloaded\n" || r.read(t, "run/reloads.pid") != first {
		t.Errorf("reloads: %q", got)
	}
	if r.read(t, "run/real.pid") == firstReal {
		t.Error("one that can't reload was not restarted")
	}
	if err := r.refresh(t, "{name: reloads}"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, r.read(t, "run/reloads.pid")); diff == "" {
		t.Error("a refresh did not restart it")
	}
	apply(t, r.host, "{name: real, ensure: stopped}")
}
