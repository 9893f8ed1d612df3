package linux_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
	"github.com/fettle-dev/fettle/test/fixtures/hostileprogram"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

// hostile is where the hostile program is on a host.
const hostile = "/opt/hostile"

// confined returns a command of the hostile program that only reads.
func confined(args ...string) host.Cmd {
	return readOnly(host.Cmd{Args: append([]string{hostile}, args...)})
}

func readOnly(cmd host.Cmd) host.Cmd {
	cmd.Confinement = &host.Confinement{ReadOnly: true}
	return cmd
}

// confinedRoot returns a host in a Debian root with the hostile program.
func confinedRoot(t *testing.T) (h *linux.Host, root string) {
	t.Helper()
	root = debian.Root(t)
	hostileprogram.Build(t, filepath.Join(root, hostile))
	return open(t, linux.Options{Root: root}), root
}

// confinedMachine returns a booted machine with the hostile program, whose systemd limits memory and tasks.
func confinedMachine(t *testing.T) (*linux.Host, *debian.Machine) {
	t.Helper()
	debian.Require(t)
	m := debian.Boot(t)
	hostileprogram.Build(t, filepath.Join(m.Root(), hostile))
	// In a container, systemd may not use the hierarchies of cgroups version 1 by itself.
	const writable = `cd /sys/fs/cgroup; [ ! -d memory ] || { mount -o remount,bind,rw memory && mount -o remount,bind,rw pids && systemctl daemon-reexec; }`
	if out, err := m.Run(t.Context(), "sh", "-c", writable); err != nil {
		t.Fatal(out, err)
	}
	return open(t, linux.Options{PID: m.PID(), Transient: true}), m
}

// victim starts the victim of the hostile program and returns its number on the machine.
func victim(t *testing.T, m *debian.Machine) string {
	t.Helper()
	// The number of a process that leaves the pid namespace of this one is known to it only.
	c := m.Command(context.WithoutCancel(t.Context()), "sh", "-c", "echo $$; VICTIM_SECRET=s3cret exec "+hostile+" victim")
	stdin, err := c.StdinPipe()
	must(t, err)
	stdout, err := c.StdoutPipe()
	must(t, err)
	must(t, c.Start())
	t.Cleanup(func() { end(t, c, stdin) })
	lines := bufio.NewScanner(stdout)
	lines.Scan()
	pid := lines.Text()
	if !lines.Scan() || lines.Text() != "ready" {
		t.Fatalf("the victim printed %q", lines.Text())
	}
	return pid
}

func TestReadOnlyQueryCannotChangeTheHost(t *testing.T) {
	h, m := confinedMachine(t)
	must(t, unix.Mknod(m.Root()+"/var/lib/device", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))))
	must(t, unix.Mkfifo(m.Root()+"/var/lib/pipe", 0o666))
	if out, err := m.Run(t.Context(), "sh", "-c", "mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing"); err != nil {
		t.Fatal(out, err)
	}
	pid := victim(t, m)
	attempts := []struct{ name, confined, free string }{
		{"create a file", "EROFS", "succeeded"},
		{"write to a file", "EROFS", "succeeded"},
		{"change a mode", "EROFS", "succeeded"},
		{"change an owner", "EROFS", "succeeded"},
		{"set an attribute", "EROFS", "succeeded"},
		{"remove a file", "EROFS", "succeeded"},
		{"rename a file", "EROFS", "succeeded"},
		{"set a time", "EROFS", "succeeded"},
		{"create a device", "EPERM", "succeeded"},
		{"read a device", "EACCES", "succeeded"},
		{"write to a device", "EACCES", "succeeded"},
		{"write to /proc/sys", "EROFS", "succeeded"},
		{"write to /proc", "EROFS", "succeeded"},
		{"write to a pipe in /run", "ENOENT", "succeeded"},
		{"write to a pipe elsewhere", "EACCES", "succeeded"},
		{"mount", "EPERM", "succeeded"},
		{"remount", "EPERM", "succeeded"},
		{"change the root", "EPERM", "succeeded"},
		{"rename the machine", "EPERM", "succeeded"},
		{"create a user namespace", "EPERM", "succeeded"},
		{"add a key", "EPERM", "succeeded"},
		{"open a file by its handle", "EPERM", "succeeded"},
		{"take a lease", "EPERM", "succeeded"},
		{"be told of changes", "EPERM", "succeeded"},
		{"watch files", "EPERM", "succeeded"},
		{"watch file systems", "EPERM", "succeeded"},
		{"keep memory in a file", "ENOSYS", "succeeded"},
		{"share memory", "EPERM", "succeeded"},
		{"share memory through a device", "EACCES", "succeeded"},
		{"map a stack", "EPERM", "succeeded"},
		{"raise the limit of the stack", "EPERM", "succeeded"},
		{"consume a trace", "ENOENT", "succeeded"},
		{"share memory by number", "ENOSYS", "succeeded"},
		{"signal a process", "ESRCH", "succeeded"},
		{"read the memory of a process", "ENOENT", "succeeded"},
		{"read the environment of a process", "ENOENT", "succeeded"},
		{"find a secret in an environment", "none", "succeeded"},
		{"find shared memory", "ENOSYS", "succeeded"},
		{"connect to TCP", "ENETUNREACH", "succeeded"},
		{"connect to a socket in /run", "EAFNOSUPPORT", "succeeded"},
		{"connect to a socket elsewhere", "EAFNOSUPPORT", "succeeded"},
		{"connect to an abstract socket", "EAFNOSUPPORT", "succeeded"},
		{"send to a socket in /run", "EPROTONOSUPPORT", "succeeded"},
		{"send to a socket elsewhere", "EPROTONOSUPPORT", "succeeded"},
		{"send to an abstract socket", "EPROTONOSUPPORT", "succeeded"},
		{"create a socket to the hypervisor", "EAFNOSUPPORT", "succeeded"},
		{"create a socket for packets", "EAFNOSUPPORT", "succeeded"},
		{"create a raw socket", "EPERM", "succeeded"},
		{"listen to the kernel's events", "EPROTONOSUPPORT", "succeeded"},
	}
	var wantConfined, wantFree strings.Builder
	for _, a := range attempts {
		fmt.Fprintf(&wantConfined, "%s: %s\n", a.name, a.confined)
		fmt.Fprintf(&wantFree, "%s: %s\n", a.name, a.free)
	}
	cmd := confined("attack", pid)
	cmd.Confinement.Memory = 256 << 20
	res, err := h.Query(t.Context(), cmd)
	must(t, err)
	if diff := cmp.Diff(wantConfined.String(), string(res.Stdout)); diff != "" {
		t.Errorf("confined (-want +got):\n%s%s", diff, res.Stderr)
	}
	cmd.Confinement = nil
	res, err = h.Query(t.Context(), cmd)
	must(t, err)
	if diff := cmp.Diff(wantFree.String(), string(res.Stdout)); diff != "" {
		t.Errorf("not confined (-want +got):\n%s%s", diff, res.Stderr)
	}
}

func TestReadOnlyQueryLeavesRootUnchanged(t *testing.T) {
	h, root := confinedRoot(t)
	state := func() string {
		return debian.Chroot(t, root, "find", "/", "-xdev", "-printf", `%p %s %m %U %G %T@ %C@\n`) + read(t, "/proc/self/mountinfo")
	}
	before := state()
	_, err := h.Query(t.Context(), confined("attack", strconv.Itoa(os.Getpid())))
	must(t, err)
	if diff := cmp.Diff(before, state()); diff != "" {
		t.Errorf("the host changed:\n%s", diff)
	}
}

func TestReadOnlyQueryCanReach(t *testing.T) {
	h, m := confinedMachine(t)
	victim(t, m)
	tests := map[string]struct {
		confinement host.Confinement
		args        []string
		want        host.Result
	}{
		"the network that it may use": {
			host.Confinement{Network: true},
			[]string{"connect", "tcp", "127.0.0.1:4242"},
			host.Result{Stdout: []byte("connected\n")},
		},
		"a socket that it may use": {
			host.Confinement{Sockets: []string{"/var/run/victim.sock", "/run/missing.sock"}},
			[]string{"connect", "unix", "/run/victim.sock"},
			host.Result{Stdout: []byte("connected\n")},
		},
		"no abstract socket of the host, even with a socket and a network": {
			host.Confinement{Sockets: []string{"/run/victim.sock"}, Network: true},
			[]string{"connect", "unix", "@victim"},
			host.Result{ExitCode: 1, Stderr: []byte("dial unix @victim: connect: operation not permitted\n")},
		},
		"no other socket in /run": {
			host.Confinement{Sockets: []string{"/run/victim.sock"}},
			[]string{"connect", "unix", "/run/dbus/system_bus_socket"},
			host.Result{ExitCode: 1, Stderr: []byte("dial unix /run/dbus/system_bus_socket: connect: no such file or directory\n")},
		},
		"no abstract socket of the host with a socket alone": {
			host.Confinement{Sockets: []string{"/run/victim.sock"}},
			[]string{"connect", "unix", "@victim"},
			host.Result{ExitCode: 1, Stderr: []byte("dial unix @victim: connect: connection refused\n")},
		},
		"no Unix socket with a network alone": {
			host.Confinement{Network: true},
			[]string{"connect", "unix", "@victim"},
			host.Result{ExitCode: 1, Stderr: []byte("dial unix @victim: socket: address family not supported by protocol\n")},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cmd := confined(test.args...)
			test.confinement.ReadOnly = true
			cmd.Confinement = &test.confinement
			res, err := h.Query(t.Context(), cmd)
			must(t, err)
			if diff := cmp.Diff(test.want, res); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
	if out, err := m.Run(t.Context(), "sh", "-c", "mkdir /run/resolve && echo nameserver >/run/resolve/conf && ln -sf ../run/resolve/conf /etc/resolv.conf"); err != nil {
		t.Fatal(out, err)
	}
	resolver := readOnly(host.Cmd{Args: []string{"cat", "/etc/resolv.conf"}})
	resolver.Confinement.Network = true
	if res, err := h.Query(t.Context(), resolver); err != nil || string(res.Stdout) != "nameserver\n" {
		t.Errorf("the configuration of the resolver: %+v, %v", res, err)
	}
	cmd := confined("hang")
	cmd.Confinement.Sockets = []string{"/run"}
	_, err := h.Query(t.Context(), cmd)
	want := `cannot run "/opt/hostile": cannot confine the command: cannot keep /run: it is not a socket`
	if err == nil || err.Error() != want {
		t.Errorf("a directory as a socket: got %v, want %s", err, want)
	}
}

func TestReadOnlyQueryIsOtherwiseAnOrdinaryCommand(t *testing.T) {
	h, root := confinedRoot(t)
	machine, m := confinedMachine(t)
	for _, dir := range []string{root, m.Root()} {
		must(t, os.WriteFile(dir+"/etc/secret", []byte("secret\n"), 0o600))
		must(t, os.Chown(dir+"/etc/secret", 1234, 1234))
	}
	script := `cat /etc/secret; perl -e 'open(F, "<", "/etc/secret") or die; print <F>'; pwd; umask; echo $VARIABLE; cat; ` +
		`echo temporary >/tmp/file && cat /tmp/file; echo shared >/dev/shm/file && cat /dev/shm/file; echo null >/dev/null; cat /proc/self/comm; ` +
		`cat < /dev/fd/0; (exit 3); echo $?; echo problem >&2; kill -TERM $$`
	cmd := readOnly(host.Cmd{
		Args: []string{"/bin/sh", "-c", script}, Dir: "/usr", Umask: new(uint32(0o027)),
		Env: []string{"VARIABLE=value", "A.B=c", "LD_PRELOAD=", "PATH=/bin:/usr/bin"}, Stdin: []byte("input\n"),
	})
	want := host.Result{
		ExitCode: 143,
		Stdout:   []byte("secret\nsecret\n/usr\n0027\nvalue\ninput\ntemporary\nshared\ncat\n3\n"),
		Stderr:   []byte("problem\n"),
	}
	for where, h := range map[string]*linux.Host{"a root": h, "a machine": machine, "the machine of the test": open(t, linux.Options{})} {
		t.Run("in "+where, func(t *testing.T) {
			cmd := cmd
			if strings.HasPrefix(where, "the") {
				cmd.Args = []string{"/bin/sh", "-c", strings.ReplaceAll(script, "/etc/secret", "/proc/self/nothing")}
				res, err := h.Query(t.Context(), cmd)
				must(t, err)
				if res.ExitCode != want.ExitCode || !strings.HasSuffix(string(want.Stdout), strings.TrimPrefix(string(res.Stdout), "secret\n")) {
					t.Errorf("got %+v", res)
				}
				return
			}
			res, err := h.Query(t.Context(), cmd)
			must(t, err)
			if diff := cmp.Diff(want, res); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			user := readOnly(host.Cmd{Args: []string{"/bin/sh", "-c", "id -u; id -G; grep CapEff /proc/self/status; cat /etc/secret"}, As: &host.Credentials{UID: 42, GID: 43, Groups: []uint32{44}}})
			res, err = h.Query(t.Context(), user)
			must(t, err)
			wantUser := host.Result{ExitCode: 1, Stdout: []byte("42\n43 44\nCapEff:\t0000000000000000\n"), Stderr: []byte("cat: /etc/secret: Permission denied\n")}
			if diff := cmp.Diff(wantUser, res); diff != "" {
				t.Errorf("as a user (-want +got):\n%s", diff)
			}
		})
	}
	if uid := os.Getuid(); uid != 0 {
		t.Errorf("the test now runs as user %d", uid)
	}
	_, err := h.Query(t.Context(), readOnly(host.Cmd{Args: []string{"/bin/sh"}, Dir: "/missing"}))
	if want := `cannot run "/bin/sh": cannot start /bin/sh in /missing: no such file or directory`; err == nil || err.Error() != want {
		t.Errorf("in a missing directory: got %v, want %s", err, want)
	}
}

func TestReadOnlyQueryEndsWithAllItsProcesses(t *testing.T) {
	h, _ := confinedRoot(t)
	const timeout = 500 * time.Millisecond
	for name, test := range map[string]struct {
		cmd  host.Cmd
		late bool
	}{
		"when it ends":                           {confined("leave"), false},
		"at its timeout":                         {confined("hang"), true},
		"at its timeout, also in other sessions": {readOnly(sh(hostile + " leave; sleep 1000")), true},
	} {
		t.Run(name, func(t *testing.T) {
			if test.cmd.Timeout = patient.Limit; test.late {
				test.cmd.Timeout = timeout
			}
			patient.Ends(t, "the query", func() {
				_, err := h.Query(t.Context(), test.cmd)
				if errors.Is(err, context.DeadlineExceeded) != test.late || !test.late && err != nil {
					t.Errorf("got %v", err)
				}
			})
			eventually(t, "no process of the query is left", func() bool { return len(processesOf(t, hostile)) == 0 })
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	patient.Ends(t, "the query", func() {
		if _, err := h.Query(ctx, confined("hang")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

// processesOf returns the processes of a program, as far as they run.
func processesOf(t *testing.T, program string) []string {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(t, err)
	var found []string
	for _, name := range names {
		if text, err := os.ReadFile(name); err == nil && strings.HasPrefix(string(text), program+"\x00") {
			found = append(found, name)
		}
	}
	return found
}

func TestReadOnlyQueryOutputAndFilesAreBounded(t *testing.T) {
	h, _ := confinedRoot(t)
	flood := confined("flood")
	flood.MaxOutput = 4096
	patient.Lengthen(t, 500*time.Millisecond, func(timeout time.Duration) bool {
		flood.Timeout = timeout
		res, err := h.Query(t.Context(), flood)
		if !errors.Is(err, context.DeadlineExceeded) || len(res.Stdout) > 4096 {
			t.Errorf("got %d bytes, %v", len(res.Stdout), err)
		}
		return len(res.Stdout) == 4096 && res.Truncated
	})
	for _, path := range []string{"/tmp/x", "/var/tmp/x", "/dev/shm/x"} {
		res, err := h.Query(t.Context(), confined("fill", path))
		must(t, err)
		if diff := cmp.Diff(host.Result{Stdout: []byte("64\n")}, res); diff != "" {
			t.Errorf("MiB in %s (-want +got):\n%s", path, diff)
		}
	}
	for _, path := range []string{"/run/x", "/dev/x", "/x"} {
		res, err := h.Query(t.Context(), confined("fill", path))
		must(t, err)
		want := host.Result{ExitCode: 1, Stderr: []byte("open " + path + ": read-only file system\n")}
		if diff := cmp.Diff(want, res); diff != "" {
			t.Errorf("MiB in %s (-want +got):\n%s", path, diff)
		}
	}
}

func TestMemoryAndTasksAreLimited(t *testing.T) {
	h, _ := confinedMachine(t)
	plain, _ := confinedRoot(t)
	limits := host.Confinement{Memory: 256 << 20, Tasks: 32}
	manyTasks := `i=0; while [ $i -lt 100 ]; do sleep 100 & i=$((i+1)); done; echo all`
	for where, h := range map[string]*linux.Host{"with systemd": h, "without systemd": plain} {
		t.Run(where, func(t *testing.T) {
			systemd := where == "with systemd"
			for kind, run := range map[string]func(host.Cmd) (host.Result, error){
				"a query": func(c host.Cmd) (host.Result, error) {
					c.Confinement = &host.Confinement{ReadOnly: true, Memory: limits.Memory, Tasks: limits.Tasks}
					return h.Query(t.Context(), c)
				},
				"a change": func(c host.Cmd) (host.Result, error) {
					c.Confinement = &limits
					return h.Run(t.Context(), detached(c))
				},
			} {
				t.Run(kind, func(t *testing.T) {
					res, err := run(host.Cmd{Args: []string{hostile, "hog", "100"}})
					if err != nil || string(res.Stdout) != "filled\n" {
						t.Errorf("below the limit of memory: %+v, %v", res, err)
					}
					res, err = run(host.Cmd{Args: []string{hostile, "hog", "500"}})
					if err != nil || res.ExitCode != 1 || string(res.Stderr) != "cannot allocate memory\n" {
						t.Errorf("above the limit of memory: %+v, %v", res, err)
					}
					res, err = run(host.Cmd{Args: []string{hostile, "share", "500"}})
					switch {
					case kind == "a query":
						if err != nil || res.ExitCode != 1 || string(res.Stderr) != "operation not permitted\n" {
							t.Errorf("shared memory: %+v, %v", res, err)
						}
					case systemd:
						if err != nil || res.ExitCode != 137 {
							t.Errorf("above the limit of shared memory: %+v, %v", res, err)
						}
					}
					if !systemd {
						return
					}
					res, err = run(host.Cmd{Args: []string{"/bin/sh", "-c", manyTasks}})
					if err != nil || res.ExitCode == 0 || !strings.Contains(string(res.Stderr), "Cannot fork") {
						t.Errorf("above the limit of tasks: %+v, %v", res, err)
					}
					bomb := host.Cmd{Args: []string{hostile, "bomb"}, Timeout: 2 * time.Second}
					patient.Ends(t, "the fork bomb", func() {
						// It ends early if it exceeds a limit itself, or keeps its unit from saving the result.
						if _, err = run(bomb); err != nil && !errors.Is(err, context.DeadlineExceeded) && !strings.HasSuffix(err.Error(), "or exceeded the limits of its memory or tasks") {
							t.Errorf("a fork bomb: %v", err)
						}
					})
				})
			}
			eventually(t, "no process is left", func() bool { return len(processesOf(t, hostile)) == 0 })
			if systemd {
				eventually(t, "no unit is left", func() bool {
					res, err := h.Query(t.Context(), sh("systemctl list-units --all --plain --no-legend 'fettle-*'; ls /run/fettle-units"))
					must(t, err)
					return len(res.Stdout) == 0
				})
			}
		})
	}
}

func TestNothingOutlivesConfinedChange(t *testing.T) {
	machine, _ := confinedMachine(t)
	root, _ := confinedRoot(t)
	for where, h := range map[string]*linux.Host{"with systemd": machine, "without systemd": root} {
		t.Run(where, func(t *testing.T) {
			cmd := detached(sh(hostile + " hang >/dev/null 2>&1 & grep NoNewPrivs /proc/self/status"))
			cmd.Confinement = &host.Confinement{ReadOnly: true} // which is for queries
			patient.Ends(t, "the change", func() {
				res, err := h.Run(t.Context(), cmd)
				if err != nil || string(res.Stdout) != "NoNewPrivs:\t1\n" {
					t.Errorf("got %+v, %v", res, err)
				}
			})
			eventually(t, "no process is left", func() bool { return len(processesOf(t, hostile)) == 0 })
			_, err := h.Run(t.Context(), func() host.Cmd {
				c := detached(sh("touch /var/changed"))
				c.Confinement = &host.Confinement{ReadOnly: true}
				return c
			}())
			must(t, err)
			if _, err := h.Stat("/var/changed"); err != nil {
				t.Errorf("the change is missing: %v", err)
			}
		})
	}
}

// capabilityVar is set in a child process of this test, which lacks a capability.
const capabilityVar = "FETTLE_TEST_CAPABILITY"

func TestUnprivilegedAgentRunsNothingUnconfined(t *testing.T) {
	debian.Require(t, "setpriv")
	if os.Getenv(capabilityVar) != "" {
		_, err := open(t, linux.Options{}).Query(t.Context(), readOnly(sh("echo unconfined")))
		fmt.Fprintln(os.Stderr, err)
		return
	}
	for capability, want := range map[string]string{
		"sys_admin":  "cannot copy the mounts of the host: operation not permitted",
		"setpcap":    "cannot drop capability 0: operation not permitted",
		"sys_chroot": "cannot enter the copy of the host's tree: operation not permitted",
	} {
		child := exec.CommandContext(t.Context(), "setpriv", "--bounding-set=-"+capability, "--inh-caps=-all", os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1")
		child.Env = append(os.Environ(), capabilityVar+"=1")
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		var told strings.Builder
		child.Stderr = &told
		must(t, child.Run())
		want = `cannot run "sh": cannot confine the command: ` + want + ": run as root with all capabilities, in a privileged pod\n"
		if diff := cmp.Diff(want, told.String()); diff != "" {
			t.Errorf("without %s (-want +got):\n%s", capability, diff)
		}
	}
}
