package linux_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/guard"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/host/own"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

func TestSimulationAsksForServicesAndChangesNothing(t *testing.T) {
	h, _ := confinedMachine(t)
	simulated := guard.Simulation(t.Context(), h, guard.Options{})
	query := func(services bool, args ...string) (out string, code int) {
		t.Helper()
		res, err := simulated.Query(t.Context(), host.Cmd{Args: args, Services: services})
		must(t, err)
		return string(res.Stdout) + string(res.Stderr), res.ExitCode
	}
	const journal = "systemd-journald.service"
	if out, code := query(true, "systemctl", "show", "--property=ActiveState", journal); code != 0 || out != "ActiveState=active\n" {
		t.Errorf("the state of a service: %q, %d", out, code)
	}
	if out, code := query(true, "systemctl", "is-enabled", journal); code != 0 || out != "static\n" {
		t.Errorf("whether a service starts at boot: %q, %d", out, code)
	}
	if out, code := query(false, "systemctl", "show", "--property=ActiveState", journal); code == 0 {
		t.Errorf("any command reaches systemd: %q", out)
	}
	if out, code := query(true, "sh", "-c", "kill -0 1 && grep -x systemd /proc/1/comm && test -e /run/systemd/system"); code != 0 {
		t.Errorf("the processes of the host: %q, %d", out, code)
	}
	for _, file := range []string{"/var/lib/x", "/run/x", "/etc/x", "/dev/x"} {
		if out, code := query(true, "touch", file); code == 0 || !strings.Contains(out, "Read-only file system") {
			t.Errorf("a question about services writes %s: %q, %d", file, out, code)
		}
	}
}

// The kernel has files that look like regular ones, and give what is read to one reader only.
func TestFilesThatAReadConsumesAreRefused(t *testing.T) {
	root := debian.Root(t)
	for _, kind := range []string{"proc", "tracefs"} {
		at := root + "/srv/" + kind
		must(t, os.Mkdir(at, 0o755))
		must(t, unix.Mount(kind, at, kind, 0, ""))
		t.Cleanup(func() { must(t, unix.Unmount(at, unix.MNT_DETACH)) })
	}
	must(t, os.Symlink("/srv/proc/kmsg", root+"/srv/log"))
	h := open(t, linux.Options{Root: root})
	for _, path := range []string{"/srv/proc/kmsg", "/srv/log", "/srv/tracefs/trace_pipe"} {
		if _, err := h.Open(path); err == nil || !strings.Contains(err.Error(), "it takes messages or traces from other readers") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if data, err := h.ReadFile("/srv/proc/meminfo"); err != nil || len(data) == 0 {
		t.Errorf("another file: %d bytes, %v", len(data), err)
	}
}

func TestSimulationRefusesOwnFilesBehindMounts(t *testing.T) {
	root := debian.Root(t)
	must(t, os.MkdirAll(root+"/var/lib/fettle/keys", 0o700))
	must(t, os.WriteFile(root+"/var/lib/fettle/keys/node", []byte("secret"), 0o600))
	must(t, os.Mkdir(root+"/srv/mounted", 0o755))
	must(t, os.Link(root+"/var/lib/fettle/keys/node", root+"/srv/linked"))
	must(t, unix.Mount(root+"/var/lib/fettle/keys", root+"/srv/mounted", "", unix.MS_BIND, ""))
	t.Cleanup(func() { must(t, unix.Unmount(root+"/srv/mounted", unix.MNT_DETACH)) })
	h := open(t, linux.Options{Root: root})
	files := own.New(own.Root{Host: h, Paths: own.Dirs("/var/lib/fettle")})
	simulated := guard.Simulation(t.Context(), h, guard.Options{Own: files})
	for _, path := range []string{"/var/lib/fettle/keys/node", "/srv/mounted/node", "/srv/mounted", "/srv/linked"} {
		_, err := simulated.Stat(path)
		_, read := simulated.ReadFile(path)
		for _, err := range []error{err, read} {
			if _, refused := errors.AsType[*own.Error](err); !refused {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	must(t, os.WriteFile(root+"/srv/mounted/new", []byte("secret"), 0o600))
	if _, err := simulated.ReadFile("/srv/mounted/new"); err == nil {
		t.Error("read a key that was made meanwhile")
	}
}
