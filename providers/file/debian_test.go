package file_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
	"github.com/fettle-dev/fettle/providers/file"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// The test runs in a Debian tree, with its accounts and its tools.
func TestDebian(t *testing.T) {
	root := debian.Root(t)
	h, err := linux.Open(linux.Options{Root: root})
	must(t, err)
	t.Cleanup(func() { _ = h.Close() })

	t.Run("Debian's own tools confirm the file", func(t *testing.T) {
		converge(t, h, `{path: /usr/local/bin/greet, content: "#!/bin/sh\necho hello\n", owner: www-data, group: mail, mode: "6750", validateCmd: "sh -n %"}`)
		converge(t, h, `{path: /srv/greet, target: /usr/local/bin/greet, owner: www-data}`)
		converge(t, h, `{path: /srv/data, ensure: directory, group: mail, mode: "2644"}`)
		got := debian.Chroot(t, root, "stat", "-c", "%A %U:%G %N", "/usr/local/bin/greet", "/srv/greet", "/srv/data") +
			debian.Chroot(t, root, "/srv/greet")
		want := "-rwsr-s--- www-data:mail '/usr/local/bin/greet'\n" +
			"lrwxrwxrwx www-data:root '/srv/greet' -> '/usr/local/bin/greet'\n" +
			"drwxr-sr-x root:mail '/srv/data'\n" +
			"hello\n"
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})

	t.Run("a script with a syntax error is not installed", func(t *testing.T) {
		r := look(t, h, `{path: /usr/local/bin/greet, content: "if\n", validateCmd: "sh -n %"}`)
		err := r.Write(t.Context(), resourcetest.Writer(h), r.Compare().Changes)
		if err == nil || !strings.Contains(err.Error(), `validateCmd "sh -n %" exited with 2, so the file stays as it is: /usr/local/bin/greet: `) {
			t.Errorf("got %v", err)
		}
		if got, want := debian.Chroot(t, root, "/usr/local/bin/greet"), "hello\n"; got != want {
			t.Errorf("the script printed %q, want %q", got, want)
		}
	})

	t.Run("the error names a check that is not installed", func(t *testing.T) {
		r := look(t, h, `{path: /etc/sudoers, content: "x\n", validateCmd: "visudo -c -f %"}`)
		err := r.Write(t.Context(), resourcetest.Writer(h), r.Compare().Changes)
		if err == nil || !strings.Contains(err.Error(), `cannot run validateCmd`) || !strings.Contains(err.Error(), "visudo") {
			t.Errorf("got %v", err)
		}
	})

	t.Run("a file in sync is not written", func(t *testing.T) {
		const spec = `{path: /etc/motd, content: "hello\n", mode: "0644"}`
		converge(t, h, spec)
		before, err := h.Lstat("/etc/motd")
		must(t, err)
		if changes := look(t, h, spec).Compare().Changes; len(changes) > 0 {
			t.Errorf("to change: %+v", changes)
		}
		after, err := h.Lstat("/etc/motd")
		must(t, err)
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("the file is another one (-before +after):\n%s", diff)
		}
	})

	t.Run("the laws hold", func(t *testing.T) {
		resourcetest.Run(t, file.Type(nowhere), resourcetest.Case{
			Host:    h,
			Absent:  `{path: /srv/law, ensure: absent, force: true}`,
			Present: `{path: /srv/law, content: "one\n", owner: www-data, group: mail, mode: "4755"}`,
			Changed: []string{
				`{path: /srv/law, content: "two\n", owner: root, mode: "4711"}`,
				`{path: /srv/law, ensure: directory, mode: a=r+X}`,
				`{path: /srv/law, target: /etc/hostname, force: true}`,
			},
			Snapshot: resourcetest.Files(h, "/srv/law"),
		})
	})
}

// converge makes the necessary changes and fails if any remain.
func converge(t *testing.T, h host.Host, spec string) {
	t.Helper()
	r := look(t, h, spec)
	must(t, r.Write(t.Context(), resourcetest.Writer(h), r.Compare().Changes))
	if changes := look(t, h, spec).Compare().Changes; len(changes) > 0 {
		t.Errorf("still to change: %+v", changes)
	}
}
