// Package rival is a local user of a test's host who works against whoever manages it: a
// process of another user, chrooted into the host's root.
package rival

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// Start has a user of the host in a directory do one of these until the test ends, and
// returns once that began. Paths are the host's.
//
//	exchange A B   exchanges two files in a loop
//	link A B       makes B a hard link of A and removes it, in a loop
//	lease A        takes a write lease and never gives it up
//
// It needs root. Call the returned function to end it earlier.
func Start(t testing.TB, root string, uid int, args ...string) (stop func()) {
	t.Helper()
	const program = "/rival"
	build(t, filepath.Join(root, program))
	c := exec.Command(program, args...) //nolint:noctx // ended by its standard input
	c.Dir = "/"
	c.Env = []string{}
	c.Stderr = os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	stdin, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	stop = func() {
		if ended {
			return
		}
		ended = true
		_ = stdin.Close()
		if err := c.Wait(); err != nil {
			t.Errorf("the rival failed: %v", err)
		}
	}
	t.Cleanup(stop)
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the rival said %q: %v", line, err)
	}
	return stop
}

// Fill has a directory of a file system in memory hold so many names of 255 bytes, all of one empty file.
func Fill(t testing.TB, dir string, names int) {
	t.Helper()
	name := func(i int) string { return filepath.Join(dir, fmt.Sprintf("x%0254d", i)) }
	if err := os.WriteFile(name(0), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for i := 1; i < names; i++ {
		if err := os.Link(name(0), name(i)); err != nil {
			t.Fatal(err)
		}
	}
}

// build makes a program that needs nothing but a kernel.
func build(t testing.TB, file string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "go", "build", "-o", file, "github.com/fettle-dev/fettle/test/rival/cmd")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
