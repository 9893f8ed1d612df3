package debian_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/test/debian"
)

const tinyUnit = `[Service]
ExecStart=/bin/sleep infinity
`

func TestMachineRunsServices(t *testing.T) {
	m := debian.Boot(t)
	write(t, filepath.Join(m.Root(), "etc/systemd/system/tiny.service"), tinyUnit)
	run(t, m, "systemctl", "daemon-reload")

	run(t, m, "systemctl", "start", "tiny")
	started := run(t, m, "systemctl", "show", "--property=ActiveState", "tiny")
	run(t, m, "systemctl", "stop", "tiny")
	stopped := run(t, m, "systemctl", "show", "--property=ActiveState", "tiny")

	want := []string{"ActiveState=active\n", "ActiveState=inactive\n"}
	if diff := cmp.Diff(want, []string{started, stopped}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMachineIsAHostOfItsOwn(t *testing.T) {
	m := debian.Boot(t)
	got := []string{
		run(t, m, "cat", "/proc/1/comm"),
		run(t, m, "sh", "-c", "ls /sys/class/net"),
		run(t, m, "systemctl", "is-active", "cron", "dbus"),
		read(t, filepath.Join("/proc", strconv.Itoa(m.PID()), "comm")),
		run(t, m, "sh", "-c", "touch /etc/made-inside && echo made"),
		read(t, filepath.Join(m.Root(), "etc/made-inside")),
	}
	want := []string{"systemd\n", "lo\n", "active\nactive\n", "systemd\n", "made\n", ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMachineIsAsItsSpecSays(t *testing.T) {
	layer := t.TempDir()
	write(t, filepath.Join(layer, "from-a-layer"), "")
	m, err := debian.Start(t.Context(), debian.Spec{Hostname: "web-1", Layers: []string{layer}}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{run(t, m, "hostname"), run(t, m, "ls", "/from-a-layer")}
	if err := m.Stop(); err != nil {
		t.Error(err)
	}
	<-m.Done()
	if diff := cmp.Diff([]string{"web-1\n", "/from-a-layer\n"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMachinesRunSideBySide(t *testing.T) {
	one, other := debian.Boot(t), debian.Boot(t)
	run(t, one, "systemctl", "stop", "cron")

	if got := run(t, other, "systemctl", "is-active", "cron"); got != "active\n" {
		t.Errorf("a service stopped in one machine is %q in another", got)
	}
	if identity(t, one) == identity(t, other) {
		t.Error("two machines have one machine-id")
	}
}

func identity(t *testing.T, m *debian.Machine) string {
	t.Helper()
	return run(t, m, "cat", "/etc/machine-id")
}

func TestCommandInAMachineCanFail(t *testing.T) {
	m := debian.Boot(t)
	_, err := m.Run(t.Context(), "sh", "-c", "echo went wrong >&2; exit 7")

	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 7 || !strings.Contains(err.Error(), "went wrong") {
		t.Errorf("got %v, want exit status 7 and what it wrote to standard error", err)
	}
}

func TestMachineLeavesNothingBehind(t *testing.T) {
	var m *debian.Machine
	t.Run("a test with a machine", func(t *testing.T) {
		m = debian.Boot(t)
		run(t, m, "systemd-run", "--unit=stubborn", "sh", "-c", "trap '' TERM; sleep infinity")
	})
	expectGone(t, m.Root())
	if exists(filepath.Join("/proc", strconv.Itoa(m.PID()))) {
		t.Errorf("the machine's process %d lives", m.PID())
	}
	name := "fettle-" + strings.TrimPrefix(filepath.Base(filepath.Dir(m.Root())), "tree-")
	left, err := exec.CommandContext(t.Context(), "find", "/sys/fs/cgroup", "/run/systemd/nspawn", "-name", name).Output()
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %s %v", left, err)
	}
}

func TestMachineOfADeadProcessIsClearedAway(t *testing.T) {
	const told = "FETTLE_TEST_TELLS_ROOT"
	if file := os.Getenv(told); file != "" {
		m := debian.Boot(t)
		write(t, file, strconv.Itoa(m.PID())+" "+m.Root())
		os.Exit(1)
	}
	file := filepath.Join(t.TempDir(), "root")
	dying := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	dying.Env = append(os.Environ(), told+"="+file)
	if out, err := dying.CombinedOutput(); err == nil {
		t.Fatalf("the process should have died: %s", out)
	}
	pid, root, _ := strings.Cut(read(t, file), " ")

	for deadline := time.Now().Add(time.Minute); exists("/proc/" + pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the machine lives on")
		}
	}
	debian.Root(t) // The next one that needs a place clears up.
	expectGone(t, root)
}

func run(t *testing.T, m *debian.Machine, command ...string) string {
	t.Helper()
	out, err := m.Run(t.Context(), command...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
