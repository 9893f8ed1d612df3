package cli_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/cli"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/cli/program"
	"github.com/fettle-dev/fettle/internal/state"
	"github.com/fettle-dev/fettle/providers"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
	"github.com/fettle-dev/fettle/test/fixtures/locked"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

// A keeper is a running fettle apply --watch.
type keeper struct {
	t        *testing.T
	root     string
	out, err locked.Buffer
	stop     func() error
}

// complaints returns stderr without the message of an interrupted run.
func (k *keeper) complaints() string {
	return regexp.MustCompile(`(?m)^finishing .*; press again to abort\n`).ReplaceAllString(k.err.String(), "")
}

// keep starts fettle apply --watch on a root. stop sends the signal that ends it.
func keep(t *testing.T, root, stdin string, args ...string) *keeper {
	t.Helper()
	return keepWith(t, cli.Options{}, root, stdin, args...)
}

// keepWith is keep with options.
func keepWith(t *testing.T, o cli.Options, root, stdin string, args ...string) *keeper {
	t.Helper()
	k := &keeper{t: t, root: root}
	o.Kinds = providers.Kinds()
	o.Hosts = roots()
	o.In, o.Out, o.Err = strings.NewReader(stdin), &k.out, &k.err
	cmd := cli.Command(o)
	cmd.SetArgs(append([]string{"apply", "--watch", "-f", "-", "--root", root}, args...))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	k.stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() {
		_ = k.stop() // it has ended, unless the test failed
		if t.Failed() {
			t.Logf("stdout:\n%s\nstderr:\n%s", &k.out, &k.err)
		}
	})
	return k
}

// until waits for a condition.
func (k *keeper) until(what string, holds func() bool) {
	k.t.Helper()
	patient.Until(k.t, what, holds)
}

func (k *keeper) has(file, content string) func() bool {
	return func() bool {
		text, err := os.ReadFile(filepath.Join(k.root, file))
		return err == nil && string(text) == content
	}
}

// says waits until stdout contains a text n times.
func (k *keeper) says(n int, part string) {
	k.t.Helper()
	k.until(part, func() bool { return strings.Count(k.out.String(), part) == n })
}

func TestWatchCorrectsDrift(t *testing.T) {
	root := emptyRoot(t)
	in := file("a", `path: /etc/a, content: "hello\n", mode: "0644"`) + file("b", "path: /etc/b, ensure: directory, require: [File/a]")
	if got := fettle(t, in, "apply", "-f", "-", "--root", root); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	k := keep(t, root, in)
	k.says(1, "2 in sync") // so that the run that follows a change is over
	put(t, filepath.Join(root, "etc/a"), "bad\n")
	k.says(1, "File/a: content changed")
	k.until("the content is back", k.has("etc/a", "hello\n"))
	if err := os.Chmod(filepath.Join(root, "etc/a"), 0o600); err != nil {
		t.Fatal(err)
	}
	k.says(1, "File/a: mode changed 0600 to 0644 (corrective)")
	if err := os.Remove(filepath.Join(root, "etc/b")); err != nil {
		t.Fatal(err)
	}
	k.says(1, "File/b: created (corrective)")
	k.says(4, "2 resources: ")
	if err := k.stop(); err != nil {
		t.Errorf("stopped: %v", err)
	}
	want := []string{
		"2 resources: 2 in sync, 0 changed, 0 refreshed, 0 noop, 0 skipped, 0 failed in N",
		"File/a: content changed {sha256}1d7a363ce12430881ec56c9cf1409c49c491043618e598c356e2959040872f5a to " + helloSum + " (corrective)",
		"2 resources: 1 in sync, 1 changed, 0 refreshed, 0 noop, 0 skipped, 0 failed in N",
		"File/a: mode changed 0600 to 0644 (corrective)",
		"2 resources: 1 in sync, 1 changed, 0 refreshed, 0 noop, 0 skipped, 0 failed in N",
		"File/b: created (corrective)",
		"2 resources: 1 in sync, 1 changed, 0 refreshed, 0 noop, 0 skipped, 0 failed in N",
	}
	if diff := cmp.Diff(want, lines(k.out.String())); diff != "" || k.complaints() != "" {
		t.Errorf("%s\n%s", diff, &k.err)
	}
}

// screen returns what is in the last line of a terminal, with times as TIME.
func (k *keeper) screen() string {
	written := k.err.String()
	line := strings.NewReplacer("\x1b[?7l", "", "\x1b[?7h", "").Replace(written[strings.LastIndex(written, "\x1b[K")+1:])
	return regexp.MustCompile("[0-9:]{8}").ReplaceAllString(strings.TrimPrefix(line, "[K"), "TIME")
}

func TestWatchShowsItsProgressOnATerminal(t *testing.T) {
	t.Parallel()

	root := emptyRoot(t)
	in := file("a", `path: /etc/a, content: "hello\n"`) + file("b", "path: /no/such/b, content: x") + file("c", "path: /etc/c, noop: true, content: x")
	k := keepWith(t, cli.Options{Streams: program.Streams{ErrTerminal: true}}, root, in)
	shows := func(want string) {
		t.Helper()
		k.until(want, func() bool { return k.screen() == want })
	}
	const sums = "watching: 1 of 3 resources in sync, 1 noop, 1 failed"
	shows(sums)
	if first := "[..............................] 0 of 3 resources: File/a"; !strings.Contains(k.err.String(), first) {
		t.Errorf("%q is not in %q", first, k.err.String())
	}
	put(t, filepath.Join(root, "etc/a"), "bad\n")
	shows(sums + "; 1 correction, the last one at TIME of File/a")
	if err := os.Remove(filepath.Join(root, "etc/a")); err != nil {
		t.Fatal(err)
	}
	shows(sums + "; 2 corrections, the last one at TIME of File/a")
	if err := k.stop(); !errors.Is(err, output.Exit(1)) || k.screen() != "" {
		t.Errorf("stopped: %v, with %q on the screen", err, k.screen())
	}
}

// On a real system, removed accounts and packages are drift, too.
func TestWatchCorrectsDriftOfDebianRoot(t *testing.T) {
	root := debian.Root(t)
	debian.Repository(t, root, debian.Deb{
		Name: "greeter", Version: "1.0",
		Files: map[string]string{"/lib/systemd/system/greeter.service": "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"},
	})
	const (
		service = "apiVersion: fettle.dev/v1alpha1\nkind: SystemService\nmetadata: {name: greeter}\nspec: {nodeSelector: {}, enable: true}\n"
		user    = "apiVersion: fettle.dev/v1alpha1\nkind: User\nmetadata: {name: deploy}\nspec: {nodeSelector: {}, gid: web, shell: /bin/bash, password: \"$6$saltsalt$s3cr3t\"}\n"
		group   = "apiVersion: fettle.dev/v1alpha1\nkind: Group\nmetadata: {name: web}\nspec: {nodeSelector: {}, members: [games]}\n"
		pkg     = "apiVersion: fettle.dev/v1alpha1\nkind: Package\nmetadata: {name: greeter}\nspec: {nodeSelector: {}, before: [SystemService/greeter]}\n"
	)
	if got := fettle(t, strings.Join([]string{service, user, group, pkg}, "---\n"), "apply", "-f", "-", "--root", root); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	// One at a time: an event on any watched path, and a recent change by a run, both start a run of all resources.
	for command, c := range map[string]struct{ in, event string }{
		"dpkg --remove greeter":       {strings.Replace(pkg, ", before: [SystemService/greeter]", "", 1), "Package/greeter: created (corrective)"},
		"userdel deploy":              {user, "User/deploy: created (corrective)"},
		"chsh --shell /bin/sh deploy": {user, "User/deploy: shell changed /bin/sh to /bin/bash (corrective)"},
		"passwd --lock deploy":        {user, "User/deploy: changed password"},
		"gpasswd --delete games web":  {group, "Group/web: members defined as games (corrective)"},
		"systemctl disable greeter":   {service, "SystemService/greeter: enable changed false to true (corrective)"},
	} {
		k := keep(t, root, c.in)
		k.says(1, "1 in sync")
		debian.Chroot(t, root, strings.Fields(command)...)
		k.says(1, c.event)
		k.says(2, "1 resource: ")
		if err := k.stop(); err != nil {
			t.Errorf("stopped: %v", err)
		}
	}
}

// Unmanaged SSH keys and files in purged directories must not survive until the next interval.
func TestWatchPurgesNewEntries(t *testing.T) {
	root := debian.Root(t)
	debian.Chroot(t, root, "useradd", "--create-home", "ann")
	debian.Chroot(t, root, "mkdir", "--mode=700", "/etc/site")
	k := keep(t, root, file("site", "path: /etc/site, ensure: directory, recurse: true, purge: true")+
		"apiVersion: fettle.dev/v1alpha1\nkind: User\nmetadata: {name: ann}\nspec: {nodeSelector: {}, purgeSSHKeys: true}\n")
	k.says(1, "2 in sync")
	debian.Chroot(t, root, "mkdir", "--mode=700", "/home/ann/.ssh")
	debian.Chroot(t, root, "chown", "ann:ann", "/home/ann/.ssh")
	const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl mallory\n"
	put(t, filepath.Join(root, "home/ann/.ssh/authorized_keys"), key)
	debian.Chroot(t, root, "chown", "ann:ann", "/home/ann/.ssh/authorized_keys")
	k.until("the key is gone", k.has("home/ann/.ssh/authorized_keys", ""))
	put(t, filepath.Join(root, "etc/site/stray"), "x")
	k.until("the file is gone", func() bool {
		_, err := os.Lstat(filepath.Join(root, "etc/site/stray"))
		return errors.Is(err, fs.ErrNotExist)
	})
	if err := k.stop(); err != nil || k.complaints() != "" {
		t.Errorf("stopped: %v\n%s", err, &k.err)
	}
}

// A change through another hard link happens in an unwatched directory.
func TestIntervalFindsUnwatchedDrift(t *testing.T) {
	root := emptyRoot(t)
	put(t, filepath.Join(root, "etc/a"), "hello\n")
	if err := os.Mkdir(filepath.Join(root, "other"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(root, "etc/a"), filepath.Join(root, "other/a")); err != nil {
		t.Fatal(err)
	}
	k := keep(t, root, file("a", `path: /etc/a, content: "hello\n"`), "--interval", "1s")
	k.says(1, "1 in sync")
	put(t, filepath.Join(root, "other/a"), "bad\n")
	k.until("the content is back", k.has("etc/a", "hello\n"))
	if err := k.stop(); err != nil {
		t.Errorf("stopped: %v", err)
	}
}

func TestStoppedWatchReturnsLastResult(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		args []string
		want error
	}{
		"with changes":                          {file("a", "path: /etc/a, content: x"), []string{"--detailed-exitcodes"}, output.Exit(2)},
		"without detailed exit codes":           {file("a", "path: /etc/a, content: x"), nil, nil},
		"with failures":                         {file("a", "path: /no/where, content: x"), nil, output.Exit(1)},
		"with failures and detailed exit codes": {file("a", "path: /no/where, content: x"), []string{"--detailed-exitcodes"}, output.Exit(4)},
	} {
		t.Run(name, func(t *testing.T) {
			k := keep(t, emptyRoot(t), c.in, c.args...)
			k.says(1, "1 resource: ")
			if err := k.stop(); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

func TestWatchReturnsLastResultAndNotFirst(t *testing.T) {
	root := emptyRoot(t)
	put(t, filepath.Join(root, "etc/sub/a"), "hello\n")
	k := keep(t, root, file("a", `path: /etc/sub/a, content: "hello\n"`))
	k.says(1, "1 in sync")
	// At once: what is removed alone is restored.
	if err := os.Rename(filepath.Join(root, "etc/sub"), filepath.Join(root, "etc/moved")); err != nil {
		t.Fatal(err)
	}
	k.until("a run fails", func() bool { return strings.Contains(k.out.String(), "1 failed") })
	if err := k.stop(); !errors.Is(err, output.Exit(1)) {
		t.Errorf("got %v", err)
	}
}

func TestWatchWaitsWhileRunsAreDisabled(t *testing.T) {
	root := emptyRoot(t)
	dir := filepath.Join(root, "var/lib/fettle")
	k := keep(t, root, file("a", `path: /etc/a, content: "hello\n"`))
	k.says(1, "1 changed")
	if err := state.Disable(dir, "the disk is failing", time.Now()); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(root, "etc/a"), "bad\n")
	const why = "no run for now: runs are disabled on this host (the disk is failing): enable them with fettle enable\n"
	k.until("it says why", func() bool { return k.complaints() == why })
	if !k.has("etc/a", "bad\n")() {
		t.Error("it ran although runs are disabled")
	}
	if err := state.Enable(dir); err != nil {
		t.Fatal(err)
	}
	k.until("it runs again", k.has("etc/a", "hello\n"))
	k.says(2, "1 changed") // an interrupted run prints an error
	if err := k.stop(); err != nil || k.complaints() != why {
		t.Errorf("stopped: %v\n%s", err, &k.err)
	}
}
