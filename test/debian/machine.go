package debian

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// bootLimit is some ten times what a boot takes on two busy cores.
	bootLimit = time.Minute
	// stopLimit is how long a machine may take to shut down before it is killed; it takes under a second unless a
	// test left a service in it that won't stop.
	stopLimit = 5 * time.Second
	// poll is how often the state of a machine that is coming up is looked at.
	poll = 50 * time.Millisecond
)

// A Spec says what a machine is like. The zero Spec is what Boot boots.
type Spec struct {
	// Hostname is the machine's name to itself; by default a unique one.
	Hostname string
	// Bridge is a bridge, in the network namespace of this process, to connect the machine's host0 to. Without one the
	// machine has no network but its loopback.
	Bridge string
	// Layers are trees to put over the base, the topmost first.
	Layers []string
}

// A Machine is a booted Debian with systemd as its first process, in namespaces and a tree of its own. Its methods
// are safe for concurrent use.
type Machine struct {
	tree   *tree
	spec   Spec
	pid    int
	nspawn *process
}

// Boot returns a machine of this test's own, up and running. It is shut down with the test.
func Boot(t testing.TB) *Machine {
	t.Helper()
	Require(t, "debootstrap", "systemd-nspawn", "nsenter")
	m, err := Start(t.Context(), Spec{}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Stop(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// Start is Boot for those who have no test: the caller must be root and stops the machine. The context bounds the boot,
// not the machine's life; a machine ends at the latest with the process that started it.
func Start(ctx context.Context, spec Spec, progress io.Writer) (*Machine, error) {
	tree, err := newTree(ctx, spec.Layers, progress)
	if err != nil {
		return nil, err
	}
	if spec.Hostname == "" {
		spec.Hostname = tree.place.name()
	}
	m := &Machine{tree: tree, spec: spec}
	if err := m.boot(ctx); err != nil {
		return nil, fmt.Errorf("cannot boot the machine %s: %w%s", spec.Hostname, err, suffix(m.Stop()))
	}
	return m, nil
}

// PID is the machine's first process, as this process numbers it: its namespaces are /proc/PID/ns.
func (m *Machine) PID() int { return m.pid }

// Root is the path of the machine's tree. What the machine has mounted over it, such as /run and /tmp, shows only
// under /proc/PID/root.
func (m *Machine) Root() string { return m.tree.root }

// Run runs a command in the machine and returns its standard output. A non-zero exit is an error that wraps
// *exec.ExitError and carries standard error.
func (m *Machine) Run(ctx context.Context, command ...string) (string, error) {
	return output(m.Command(ctx, command...))
}

// Command is a command to be run in the machine, with the environment of a login there. Its end by ctx takes
// whatever it started along, short of what left its process group.
func (m *Machine) Command(ctx context.Context, command ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "nsenter", append([]string{"--target", strconv.Itoa(m.pid), "--all"}, command...)...)
	cmd.Env = environment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	return cmd
}

// Stop shuts the machine down, kills it where it does not, and removes its tree. It may be called once.
func (m *Machine) Stop() error {
	if m.nspawn != nil {
		m.nspawn.stop(stopLimit, m.kill)
	}
	return m.tree.place.remove()
}

// kill ends the machine's first process, which ends all the others and then nspawn. Until nspawn has ended, it is the
// parent, so the number can't be another process's by now.
func (m *Machine) kill() {
	if m.pid != 0 {
		_ = unix.Kill(m.pid, unix.SIGKILL)
		return
	}
	_ = m.nspawn.cmd.Process.Kill()
}

func (m *Machine) boot(ctx context.Context) error {
	hostname := []byte(m.spec.Hostname + "\n")
	if err := os.WriteFile(filepath.Join(m.Root(), "etc/hostname"), hostname, 0o644); err != nil {
		return err
	}
	cgroups, err := m.tree.place.makeCgroups()
	if err != nil {
		return err
	}
	if m.nspawn, err = startProcess(m.nspawnCommand(cgroups)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, bootLimit)
	defer cancel()
	for {
		if m.up(ctx) {
			return nil
		}
		select {
		case <-time.After(poll):
		case <-m.nspawn.ended:
			return fmt.Errorf("systemd-nspawn ended: %w\n%s", m.nspawn.err, m.nspawn.output())
		case <-ctx.Done():
			return fmt.Errorf("it is not up in time: %w\n%s", ctx.Err(), m.nspawn.output())
		}
	}
}

// up tells whether the machine has done its boot.
func (m *Machine) up(ctx context.Context) bool {
	if m.pid == 0 {
		m.pid = firstProcess(m.nspawn.cmd.Process.Pid)
	}
	if m.pid == 0 {
		return false
	}
	state, _ := m.Run(ctx, "systemctl", "is-system-running") // Exits with 1 for all but "running".
	return state == "running\n" || state == "degraded\n"
}

func (m *Machine) nspawnCommand(cgroups []string) *exec.Cmd {
	// Machines in one cgroup would take each other's processes for their own, so each one starts in its own.
	const enter = `while [ "$1" != -- ]; do echo $$ > "$1/cgroup.procs" || exit; shift; done; shift; exec "$@"`
	args := append([]string{"-c", enter, "sh"}, cgroups...)
	args = append(args, "--",
		"systemd-nspawn", "--quiet", "--boot", "--directory="+m.Root(), "--machine="+m.tree.place.name(),
		"--register=no", "--keep-unit", "--settings=no", // There need be no systemd on the outside to register with.
		"--private-users=no", "--capability=all", m.network(),
		"--resolv-conf=off", "--timezone=off", "--link-journal=no", "--console=pipe")
	cmd := exec.Command("sh", args...)
	cmd.Env = append(os.Environ(), "SYSTEMD_SECCOMP=0")
	return cmd
}

func (m *Machine) network() string {
	if m.spec.Bridge == "" {
		return "--private-network"
	}
	return "--network-bridge=" + m.spec.Bridge
}

// Done is closed when the machine has ended, by itself or by Stop.
func (m *Machine) Done() <-chan struct{} { return m.nspawn.ended }

// firstProcess finds the machine's systemd among the children of its nspawn; 0 while there is none.
func firstProcess(nspawn int) int {
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", nspawn, nspawn))
	if err != nil {
		return 0
	}
	for child := range strings.FieldsSeq(string(children)) {
		comm, err := os.ReadFile(filepath.Join("/proc", child, "comm"))
		if err != nil || string(comm) != "systemd\n" {
			continue
		}
		if pid, err := strconv.Atoi(child); err == nil {
			return pid
		}
	}
	return 0
}

// boundedBuffer keeps the first part of what is written to it. It is not safe for concurrent use; os/exec writes
// both outputs of a command from one goroutine when they are the same writer.
type boundedBuffer struct{ bytes.Buffer }

func (b *boundedBuffer) Write(p []byte) (int, error) {
	const limit = 256 << 10
	b.Buffer.Write(p[:min(len(p), max(0, limit-b.Len()))])
	return len(p), nil
}
