package linux_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
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
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

// sh returns a read-only command of this machine.
func sh(script string) host.Cmd { return host.Cmd{Args: []string{"sh", "-c", script}} }

func TestCommandExit(t *testing.T) {
	h := open(t, linux.Options{})
	with := func(cmd host.Cmd, change func(*host.Cmd)) host.Cmd {
		change(&cmd)
		return cmd
	}
	tests := map[string]struct {
		cmd  host.Cmd
		want host.Result
	}{
		"separates both streams": {
			sh("echo out; echo err >&2"),
			host.Result{Stdout: []byte("out\n"), Stderr: []byte("err\n")},
		},
		"returns a nonzero exit code": {
			sh("echo partly; exit 3"),
			host.Result{ExitCode: 3, Stdout: []byte("partly\n")},
		},
		"returns 128 plus the signal": {
			sh("kill -TERM $$"),
			host.Result{ExitCode: 143},
		},
		"returns 137 if the command kills itself": {
			sh("kill -KILL $$"),
			host.Result{ExitCode: 137},
		},
		"passes standard input": {
			with(host.Cmd{Args: []string{"cat"}}, func(c *host.Cmd) { c.Stdin = []byte("a secret") }),
			host.Result{Stdout: []byte("a secret")},
		},
		"ignores unread standard input": {
			with(sh("exit 0"), func(c *host.Cmd) { c.Stdin = make([]byte, 1<<20) }),
			host.Result{},
		},
		"has empty standard input by default": {
			sh("read line || echo end"),
			host.Result{Stdout: []byte("end\n")},
		},
		"has a minimal environment": { // go test gives this process more variables, such as PWD
			host.Cmd{Args: []string{"/usr/bin/env"}},
			host.Result{Stdout: []byte("PATH=" + host.SearchPath + "\nLC_ALL=C.UTF-8\nHOME=/root\n")},
		},
		"adds and overrides environment variables": {
			host.Cmd{Args: []string{"/usr/bin/env"}, Env: []string{"HOME=/", "A=b=c"}},
			host.Result{Stdout: []byte("PATH=" + host.SearchPath + "\nLC_ALL=C.UTF-8\nHOME=/\nA=b=c\n")},
		},
		"runs in the root directory": {
			sh("pwd"),
			host.Result{Stdout: []byte("/\n")},
		},
		"runs in Dir": {
			with(sh("pwd"), func(c *host.Cmd) { c.Dir = "/usr" }),
			host.Result{Stdout: []byte("/usr\n")},
		},
		"truncates output at its limit and drains the rest": {
			with(sh("head -c 300000 /dev/zero | tr '\\0' x; echo end >&2"), func(c *host.Cmd) { c.MaxOutput = 5 }),
			host.Result{Stdout: []byte("xxxxx"), Stderr: []byte("end\n"), Truncated: true},
		},
		"keeps output of exactly the limit": {
			with(sh("printf 12345"), func(c *host.Cmd) { c.MaxOutput = 5 }),
			host.Result{Stdout: []byte("12345")},
		},
		"does not split or expand arguments": {
			host.Cmd{Args: []string{"printf", "%s|%s", "$HOME ;x", ""}},
			host.Result{Stdout: []byte("$HOME ;x|")},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := h.Query(t.Context(), test.cmd)
			must(t, err)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFailureToStartCommandHidesSecrets(t *testing.T) {
	h := open(t, linux.Options{})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	tests := map[string]struct {
		ctx  context.Context
		cmd  host.Cmd
		want string
		is   error
	}{
		"no command": {
			cmd: host.Cmd{}, want: "cannot run a command without Args: name one in Args[0]",
		},
		"an unknown command": {
			cmd: host.Cmd{Args: []string{"no-such-tool"}}, is: fs.ErrNotExist,
			want: `cannot run "no-such-tool": cannot find command "no-such-tool" in ` + host.SearchPath + `: file does not exist`,
		},
		"a missing directory": {
			cmd: host.Cmd{Args: []string{"true"}, Dir: "/no/dir"}, is: fs.ErrNotExist,
			want: `cannot run "true": cannot start /usr/bin/true in /no/dir: no such file or directory`,
		},
		"an invalid variable": {
			cmd: host.Cmd{Args: []string{"true"}, Env: []string{"A=b", "s3cret"}}, want: `cannot run "true": entry 1 of Env is not KEY=value`,
		},
		"a variable with a zero byte": {
			cmd: host.Cmd{Args: []string{"true"}, Env: []string{"A=s3cret\x00"}}, want: `cannot run "true": exec: environment variable contains NUL`,
		},
		"a canceled context": {
			ctx: ended, cmd: host.Cmd{Args: []string{"true"}}, is: context.Canceled, want: `cannot run "true": context canceled`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.ctx == nil {
				test.ctx = t.Context()
			}
			test.cmd.Stdin = []byte("s3cret")
			_, err := h.Query(test.ctx, test.cmd)
			if err == nil || err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
			if test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("the error is not %v", test.is)
			}
		})
	}
}

func TestDeadlineKillsProcessGroup(t *testing.T) {
	h := open(t, linux.Options{})
	pidFile := filepath.Join(t.TempDir(), "pid")
	cmd := sh(`sh -c 'echo $$ >` + pidFile + `; exec sleep 1000' & echo begun; wait`)
	patient.Lengthen(t, 300*time.Millisecond, func(timeout time.Duration) bool {
		cmd.Timeout = timeout
		res, err := h.Run(t.Context(), cmd)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want a deadline", err)
		}
		return string(res.Stdout) == "begun\n" && exists(pidFile)
	})
	eventually(t, "the grandchild is gone", func() bool { return hasEnded(t, pidFile) })
}

func TestCallerExitKillsAttachedCommandOnly(t *testing.T) {
	h := open(t, linux.Options{})
	begun := filepath.Join(t.TempDir(), "begun")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for !exists(begun) && t.Context().Err() == nil {
			<-time.After(time.Millisecond)
		}
		cancel()
		_ = os.Remove(begun) // without that, the command does not end
	}()
	detached := sh("touch " + begun + "; while [ -e " + begun + " ]; do sleep 0.01; done; echo finished")
	detached.Detached = true
	res, err := h.Run(ctx, detached)
	if err != nil || string(res.Stdout) != "finished\n" {
		t.Errorf("detached: %+v, %v", res, err)
	}

	ctx, cancel = context.WithCancel(t.Context())
	go func() {
		for !exists(begun) && t.Context().Err() == nil {
			<-time.After(time.Millisecond)
		}
		cancel()
	}()
	if _, err := h.Run(ctx, sh("touch "+begun+"; sleep 1000")); !errors.Is(err, context.Canceled) {
		t.Errorf("attached: got %v, want context.Canceled", err)
	}
}

// callerVar names the directory in which a child process of this test runs a command.
const callerVar = "FETTLE_TEST_CALLER"

// TestDetachedCommandOutlivesCaller kills a process that runs a detached command, which must still read and write.
func TestDetachedCommandOutlivesCaller(t *testing.T) {
	if dir := os.Getenv(callerVar); dir != "" {
		cmd := detached(sh("touch begun; until [ -e killed ]; do sleep 0.01; done; cat; echo on; echo on >&2; touch ended"))
		cmd.Dir, cmd.Stdin = dir, []byte("in")
		_, err := open(t, linux.Options{}).Run(t.Context(), cmd)
		must(t, err)
		return
	}

	dir := t.TempDir()
	caller := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	caller.Env = append(os.Environ(), callerVar+"="+dir)
	must(t, caller.Start())
	eventually(t, "the command has begun", func() bool { return exists(filepath.Join(dir, "begun")) })
	must(t, caller.Process.Kill())
	_ = caller.Wait() // it was killed
	must(t, os.WriteFile(filepath.Join(dir, "killed"), nil, 0o600))
	eventually(t, "the command ends by itself", func() bool { return exists(filepath.Join(dir, "ended")) })
}

func TestExcessOutputOfDetachedCommandUsesNoMemory(t *testing.T) {
	const limit = 1000
	dir := t.TempDir()
	cmd := detached(sh("echo begin; head -c 100000000 /dev/zero; touch written; until [ -e seen ]; do sleep 0.01; done; echo end >&2"))
	cmd.Dir, cmd.MaxOutput = dir, limit
	h := open(t, linux.Options{})
	var res host.Result
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		res, err = h.Run(t.Context(), cmd)
	}()
	eventually(t, "it has written", func() bool { return exists(filepath.Join(dir, "written")) })
	eventually(t, "the memory is freed", func() bool { return streamMemory(t) < 1<<20 })
	must(t, os.WriteFile(filepath.Join(dir, "seen"), nil, 0o600))
	<-ended
	must(t, err)
	if !res.Truncated || len(res.Stdout) != limit || !strings.HasPrefix(string(res.Stdout), "begin\n") || string(res.Stderr) != "end\n" {
		t.Errorf("truncated: %t, %d bytes, beginning %.10q, and %q", res.Truncated, len(res.Stdout), res.Stdout, res.Stderr)
	}
}

// streamMemory returns the size in bytes of the streams that this process has open.
func streamMemory(t *testing.T) (sum int64) {
	t.Helper()
	names, err := filepath.Glob("/proc/self/fd/*")
	must(t, err)
	for _, name := range names {
		var is unix.Stat_t
		if to, err := os.Readlink(name); err == nil && strings.Contains(to, "fettle-stream") && unix.Stat(name, &is) == nil {
			sum += is.Blocks * 512
		}
	}
	return sum
}

func TestDaemonThatInheritsOutputDoesNotBlock(t *testing.T) {
	h := open(t, linux.Options{})
	pidFile := filepath.Join(t.TempDir(), "pid")
	cmd := sh(`setsid sh -c 'echo $$ >` + pidFile + `; exec sleep 1000' & echo begun; exit 4`)
	t.Cleanup(func() { _ = syscall.Kill(pidIn(t, pidFile), syscall.SIGKILL) })

	res, err := h.Run(t.Context(), cmd)
	must(t, err)
	if diff := cmp.Diff(host.Result{ExitCode: 4, Stdout: []byte("begun\n")}, res); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	eventually(t, "the daemon has begun", func() bool { return exists(pidFile) && pidIn(t, pidFile) > 0 })
	if hasEnded(t, pidFile) {
		t.Error("the daemon was killed")
	}
}

func TestConcurrentCommandsDoNotMixOutput(t *testing.T) {
	h := open(t, linux.Options{})
	for i := range 16 {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			want := bytes.Repeat([]byte(strconv.Itoa(i)+"\n"), 100)
			res, err := h.Query(t.Context(), host.Cmd{Args: []string{"cat"}, Stdin: want})
			must(t, err)
			if !bytes.Equal(res.Stdout, want) {
				t.Errorf("got %q", res.Stdout)
			}
		})
	}
}

func TestCommandsRunInChroot(t *testing.T) {
	debian.Require(t)
	h, dir := tempRoot(t)
	buildProbe(t, filepath.Join(dir, "opt/bin/probe"))
	must(t, os.Mkdir(filepath.Join(dir, "usr"), 0o755))
	must(t, os.Symlink("/opt/bin", filepath.Join(dir, "usr/bin")))

	want := host.Result{Stdout: []byte("/opt\n/usr\nin /usr\nread from outside\n")}
	cmd := host.Cmd{Args: []string{"probe", "see"}, Dir: "/usr", Stdin: []byte("from outside")}
	res, err := h.Query(t.Context(), cmd)
	must(t, err)
	if diff := cmp.Diff(want, res); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	if _, err := h.Query(t.Context(), host.Cmd{Args: []string{"sh"}}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a command outside the root: %v", err)
	}

	// The host keeps its root directory when it is renamed.
	must(t, os.Rename(dir, dir+".moved"))
	must(t, os.Mkdir(dir, 0o755))
	res, err = h.Query(t.Context(), cmd)
	must(t, err)
	if diff := cmp.Diff(want, res); diff != "" {
		t.Errorf("result after a rename (-want +got):\n%s", diff)
	}
}

func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}

func pidIn(t *testing.T, file string) int {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(read(t, file)))
	must(t, err)
	return pid
}

// hasEnded reports whether a process has ended. A zombie has.
func hasEnded(t *testing.T, pidFile string) bool {
	t.Helper()
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pidIn(t, pidFile)) + "/stat")
	if err != nil {
		return true
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(state, "Z")
}
