package debian

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// environment is what a command in a root or a machine sees of the world.
func environment() []string {
	return []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=/root", "LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive",
	}
}

// noServices is the policy-rc.d of a chroot: packages don't start services where no init runs.
const noServices = "#!/bin/sh\nexit 101\n"

// Root returns the path of a Debian tree that belongs to this test alone, ready to chroot into: /proc, /sys and /dev
// are there, apt has no source and so no network, packages don't start services. It goes away with the test.
func Root(t testing.TB) string {
	t.Helper()
	Require(t, "debootstrap")
	tree, err := newTree(t.Context(), nil, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tree.place.remove(); err != nil {
			t.Error(err)
		}
	})
	if err := tree.prepareChroot(); err != nil {
		t.Fatal(err)
	}
	return tree.root
}

// Chroot runs a command in a root and returns what it wrote to both its outputs. A command that fails ends the test.
func Chroot(t testing.TB, root string, command ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "chroot", append([]string{root}, command...)...)
	cmd.Env = environment()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("cannot run %s in %s: %v\n%s", strings.Join(command, " "), root, err, out)
	}
	return string(out)
}

// A tree is one writable overlay.
type tree struct {
	place *place
	root  string
}

// newTree makes a tree of the base and what lies over it. The caller removes its place.
func newTree(ctx context.Context, layers []string, progress io.Writer) (*tree, error) {
	lower, err := Base(ctx, progress)
	if err != nil {
		return nil, err
	}
	place, err := newPlace()
	if err != nil {
		return nil, err
	}
	root, err := overlay(append(slices.Clone(layers), lower), place.dir)
	if err != nil {
		return nil, fmt.Errorf("%w%s", err, suffix(place.remove()))
	}
	return &tree{place: place, root: root}, nil
}

func (t *tree) prepareChroot() error {
	if err := os.WriteFile(filepath.Join(t.root, "usr/sbin/policy-rc.d"), []byte(noServices), 0o755); err != nil {
		return err
	}
	return mountKernel(t.root)
}

// Require skips a test that can't have a root here, or fails it where skipping would hide that nothing is tested.
func Require(t testing.TB, tools ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		const why = "Debian roots, machines and mounts need root: run the tests as root"
		if os.Getenv("CI") != "" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("the test needs the command %s: run hack/prerequisites.sh", tool)
		}
	}
}

func suffix(err error) string {
	if err == nil {
		return ""
	}
	return "; and " + err.Error()
}

// output runs a command and returns its standard output; the error carries what it wrote to standard error.
func output(cmd *exec.Cmd) (string, error) {
	stderr := &bytes.Buffer{}
	cmd.Stderr = stderr
	out, err := cmd.Output()
	if err != nil {
		return string(out), fmt.Errorf("cannot run %s: %w: %s", strings.Join(cmd.Args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return string(out), nil
}
