package systemservice_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
	"github.com/fettle-dev/fettle/providers/systemservice"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// A scriptRoot is a Debian whose services are init scripts that one provider runs.
type scriptRoot struct {
	dir      string
	provider string
	host     host.Host
}

// newScriptRoot returns a root without systemctl, with executable files.
func newScriptRoot(t *testing.T, provider string, scripts map[string]string) scriptRoot {
	t.Helper()
	r := scriptRoot{dir: debian.Root(t), provider: provider}
	h, err := linux.Open(linux.Options{Root: r.dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	r.host = h
	for _, name := range []string{"bin", "usr/bin"} {
		if err := os.RemoveAll(filepath.Join(r.dir, name, "systemctl")); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range scripts {
		write(t, h, "/etc/init.d/"+name, text)
		if err := os.Chmod(filepath.Join(r.dir, "etc/init.d", name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// bind returns a resource of the root's provider.
func (r scriptRoot) bind(t *testing.T, attributes string) resource.Resource {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(attributes))
	if err != nil {
		t.Fatal(err)
	}
	res, err := bound.Kind(systemservice.Type()).Bind(resource.Ref{Kind: "SystemService", Name: "a"}, raw)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(res.Choose(nil, r.host, r.provider), res.Unsupported()); err != nil {
		t.Fatal(err)
	}
	return res
}

func (r scriptRoot) refresh(t *testing.T, attributes string) error {
	t.Helper()
	return r.bind(t, attributes).Refresh(t.Context(), resourcetest.Writer(r.host))
}

func (r scriptRoot) read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// header returns the header of an init script that starts in these runlevels.
func header(name, levels string) string {
	return "#!/bin/sh\n### BEGIN INIT INFO\n# Provides: " + name + "\n# Required-Start: $remote_fs\n# Required-Stop: $remote_fs\n" +
		"# Default-Start: " + levels + "\n# Default-Stop: 0 1 6\n### END INIT INFO\n"
}

// daemon is the rest of a script that runs a real program with start-stop-daemon.
const daemon = `
run="--quiet --pidfile /run/$NAME.pid"
echo "$1" >>/run/$NAME.log
case "$1" in
start) start-stop-daemon --start $run --background --make-pidfile --startas /bin/sleep -- infinity ;;
stop) test ! -e /run/$NAME.pid || { kill "$(cat /run/$NAME.pid)" && rm /run/$NAME.pid; } ;;
restart) "$0" stop; "$0" start ;;
status) start-stop-daemon --status $run ;;
force-reload) ;;
*) echo "usage: $0 start|stop" >&2; exit 2 ;;
esac
`

// nap returns a command line that is unique to this run of the tests: the root shows the processes
// of the whole machine.
func nap() string { return fmt.Sprintf("sleep 1%d", os.Getpid()) }

func initScripts() map[string]string {
	return map[string]string{
		"real":     header("real", "2 3 4 5") + "NAME=real" + daemon,
		"other":    header("other", "3 5") + "NAME=other" + daemon,
		"refusing": header("refusing", "2 3 4 5") + "case $1 in start) echo 'no such port' >&2; exit 1;; status) exit 3;; esac\n",
		"silent":   header("silent", "2 3 4 5") + "case $1 in start) " + nap() + " </dev/null >/dev/null 2>&1 & echo $! >/run/silent.pid;; stop) kill $(cat /run/silent.pid);; esac\n",
	}
}

func TestSysvinitInARealRoot(t *testing.T) {
	r := newScriptRoot(t, "sysvinit", initScripts())
	t.Cleanup(func() { r.stopAll(t, "real", "other", "silent") })
	t.Run("it is the default if there is only update-rc.d", r.isDefault)
	t.Run("the laws hold", r.theLawsHold)
	t.Run("a service is started and enabled, stopped and disabled", r.startsAndStops)
	t.Run("a service that starts in some of its runlevels is neither enabled nor disabled", r.mendsRunlevels)
	t.Run("a script is enabled in the runlevels of its header", r.keepsRunlevels)
	t.Run("the error of a failed start has the reason", r.saysWhy)
	t.Run("a service without a script is stopped and can't be started", r.handlesMissing)
	t.Run("a notified service is stopped and started, or restarted by its command", r.refreshes)
	t.Run("hasStatus: false finds the service among the processes", r.looksForProcess)
	t.Run("services are listed", r.lists)
}

// stopAll ends all processes that would keep the root busy.
func (r scriptRoot) stopAll(t *testing.T, services ...string) {
	t.Helper()
	for _, s := range services {
		if _, err := r.host.Run(context.WithoutCancel(t.Context()), host.Cmd{Args: []string{"/etc/init.d/" + s, "stop"}}); err != nil {
			t.Error(err)
		}
	}
}

func (r scriptRoot) isDefault(t *testing.T) {
	for _, s := range bound.Kind(systemservice.Type()).Suitability(nil, r.host) {
		if s.Chosen != (s.Provider == r.provider) {
			t.Errorf("provider %s: chosen %v, %v", s.Provider, s.Chosen, s.Err)
		}
	}
}

// links returns the links of a service in the runlevels.
func (r scriptRoot) links(t *testing.T, service string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(r.dir, "etc/rc?.d/S??"+service))
	if err != nil {
		t.Fatal(err)
	}
	var levels []string
	for _, name := range names {
		levels = append(levels, strings.TrimSuffix(strings.TrimPrefix(filepath.Base(filepath.Dir(name)), "rc"), ".d"))
	}
	return strings.Join(levels, " ")
}

func (r scriptRoot) theLawsHold(t *testing.T) {
	resourcetest.Run(t, systemservice.Type(), resourcetest.Case{
		Host:     r.host,
		Name:     "other",
		Absent:   "{ensure: stopped, enable: false}",
		Present:  "{ensure: running, enable: true}",
		Changed:  []string{"{ensure: stopped, enable: true}", "{ensure: running, enable: false}"},
		Snapshot: func(t *testing.T) string { t.Helper(); return r.links(t, "other") },
	})
}

func (r scriptRoot) startsAndStops(t *testing.T) {
	apply(t, r.host, "{name: real, ensure: running, enable: true}")
	if got := r.links(t, "real"); got != "2 3 4 5" {
		t.Errorf("it starts in the runlevels %s", got)
	}
	debian.Chroot(t, r.dir, "/etc/init.d/real", "status")
	if changes := apply(t, r.host, "{name: real.service, ensure: running, enable: true}"); changes != nil {
		t.Errorf("a second time it changed %v", changes)
	}
	apply(t, r.host, "{name: real, ensure: stopped, enable: false}")
	if got := r.links(t, "real"); got != "" {
		t.Errorf("it starts in the runlevels %s", got)
	}
}

func (r scriptRoot) mendsRunlevels(t *testing.T) {
	for _, attributes := range []string{"{name: real, enable: true}", "{name: real, enable: false}"} {
		apply(t, r.host, "{name: real, enable: true}")
		debian.Chroot(t, r.dir, "update-rc.d", "real", "disable", "2")
		if changes := apply(t, r.host, attributes); len(changes) != 1 {
			t.Errorf("%s changed %v", attributes, changes)
		}
	}
}

func (r scriptRoot) keepsRunlevels(t *testing.T) {
	apply(t, r.host, "{name: other, enable: true}")
	if got := r.links(t, "other"); got != "3 5" {
		t.Errorf("it starts in the runlevels %s", got)
	}
	apply(t, r.host, "{name: other, enable: false}")
}

func (r scriptRoot) saysWhy(t *testing.T) {
	const want = "cannot set ensure: cannot start refusing: no such port"
	if diff := cmp.Diff(want, refused(t, r.host, "{name: refusing, ensure: running}")); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

func (r scriptRoot) handlesMissing(t *testing.T) {
	if changes := apply(t, r.host, "{name: missing, ensure: stopped, enable: false}"); changes != nil {
		t.Errorf("it changed %v", changes)
	}
	const want = "service missing does not exist on the host: install its package first, for example with require: [Package/...]"
	for _, attributes := range []string{"{name: missing, ensure: running}", "{name: missing, enable: true}"} {
		if got := refused(t, r.host, attributes); got != want {
			t.Errorf("%s: %s", attributes, got)
		}
	}
}

func (r scriptRoot) refreshes(t *testing.T) {
	if err := r.refresh(t, "{name: real}"); !errors.Is(err, resource.ErrNothingToRefresh) {
		t.Errorf("refresh of a stopped service: %v", err)
	}
	for attributes, want := range map[string]string{
		"{name: real}":                        "status stop status start status",
		"{name: real, hasRestart: false}":     "status stop status start status",
		"{name: real, hasRestart: true}":      "status restart stop start status",
		"{name: real, reloadOnRefresh: true}": "status force-reload",
		"{name: real, restart: /bin/true}":    "status status",
		`{name: real, stop: "sh -c 'kill $(cat /run/real.pid) && rm /run/real.pid'"}`: "status status start status",
		"{name: real, status: /bin/true}":                                             "stop start",
		"{name: real.service, hasStatus: true}":                                       "status stop status start status",
	} {
		apply(t, r.host, "{name: real, ensure: running}")
		write(t, r.host, "/run/real.log", "")
		if err := r.refresh(t, attributes); err != nil {
			t.Errorf("%s: %v", attributes, err)
		}
		if got := strings.Join(strings.Fields(r.read(t, "run/real.log")), " "); got != want {
			t.Errorf("%s: the script ran with %s, want %s", attributes, got, want)
		}
	}
	apply(t, r.host, "{name: real, ensure: stopped}")
}

func (r scriptRoot) looksForProcess(t *testing.T) {
	silent := "{name: silent, hasStatus: false, pattern: '^" + nap() + "$', ensure: "
	apply(t, r.host, silent+"running}")
	if changes := apply(t, r.host, silent+"running}"); changes != nil {
		t.Errorf("a second time it changed %v", changes)
	}
	apply(t, r.host, silent+"stopped}")
}

func (r scriptRoot) lists(t *testing.T) {
	all, err := bound.Kind(systemservice.Type()).Instances(t.Context(), nil, resourcetest.Reader(r.host), r.provider)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, i := range all {
		found[i.Namevar] = string(i.Attributes)
	}
	if diff := cmp.Diff(`{"name":"real","ensure":"stopped","enable":false}`, found["real"]); diff != "" {
		t.Errorf("real (-want +got):\n%s", diff)
	}
	if _, listed := found["silent"]; listed {
		t.Error("a script without status is listed, and was asked for it")
	}
}
