package linux_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// terminalVar is set in a child process of this test, which has a controlling terminal.
const terminalVar = "FETTLE_TEST_TERMINAL"

// A process with root's terminal can inject input into root's shell (TIOCSTI).
func TestCommandHasNoTerminal(t *testing.T) {
	debian.Require(t)
	if os.Getenv(terminalVar) != "" {
		tellTerminals(t)
		return
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1")
	child.Env = append(os.Environ(), terminalVar+"=1")
	child.Stdin = terminal(t)
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	var told strings.Builder
	child.Stderr = &told
	must(t, child.Run())
	want := "this process: <nil>\n" +
		"a command: exit 1\n" +
		"a command in namespaces: exit 1\n" +
		"a command of another user: exit 1\n" +
		"a detached command: exit 1\n"
	if diff := cmp.Diff(want, told.String()); diff != "" {
		t.Errorf("opening the terminal (-want +got):\n%s", diff)
	}
}

// tellTerminals prints which processes can open the controlling terminal.
func tellTerminals(t *testing.T) {
	t.Helper()
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	fmt.Fprintln(os.Stderr, "this process:", err)
	if err == nil {
		must(t, tty.Close())
	}
	machine := open(t, linux.Options{})
	cmd := sh("(exec 3</dev/tty) 2>/dev/null && exit 0; exit 1")
	as, detached := cmd, cmd
	as.As, detached.Detached = &host.Credentials{UID: 1234, GID: 1234}, true
	for _, c := range []struct {
		who string
		h   *linux.Host
		cmd host.Cmd
	}{
		{"a command", machine, cmd},
		{"a command in namespaces", open(t, linux.Options{PID: os.Getpid()}), cmd},
		{"a command of another user", machine, as},
		{"a detached command", machine, detached},
	} {
		res, err := c.h.Run(t.Context(), c.cmd)
		must(t, err)
		fmt.Fprintf(os.Stderr, "%s: exit %d\n", c.who, res.ExitCode)
	}
}

// terminal opens a new terminal until the test ends.
func terminal(t *testing.T) *os.File {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	t.Cleanup(func() { must(t, master.Close()) })
	must(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	must(t, err)
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	t.Cleanup(func() { must(t, tty.Close()) })
	return tty
}
