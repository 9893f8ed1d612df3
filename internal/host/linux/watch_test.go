package linux_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
)

func TestWatchReportsChanges(t *testing.T) {
	for name, c := range map[string]struct {
		follow []string
		do     func(root string) error
		want   []string
	}{
		"a file that is written": {
			[]string{"/etc/motd", "/etc/other"},
			func(root string) error { return os.WriteFile(root+"/etc/motd", []byte("x"), 0o644) },
			[]string{"/etc/motd"},
		},
		"one that is replaced, as editors do": {
			[]string{"/etc/motd"},
			func(root string) error { return os.Rename(root+"/etc/other", root+"/etc/motd") },
			[]string{"/etc/motd"},
		},
		"one that goes": {
			[]string{"/etc/motd"}, func(root string) error { return os.Remove(root + "/etc/motd") }, []string{"/etc/motd"},
		},
		"one that comes": {
			[]string{"/etc/new"}, func(root string) error { return os.Symlink("x", root+"/etc/new") }, []string{"/etc/new"},
		},
		"its mode": {
			[]string{"/etc/motd"}, func(root string) error { return os.Chmod(root+"/etc/motd", 0o600) }, []string{"/etc/motd"},
		},
		"a directory above it that comes": {
			[]string{"/srv/www/index"}, func(root string) error { return os.MkdirAll(root+"/srv/www", 0o755) }, []string{"/srv/www/index"},
		},
		"a directory above it that goes": {
			[]string{"/etc/motd", "/etc/new"}, func(root string) error { return os.RemoveAll(root + "/etc") }, []string{"/etc/motd", "/etc/new"},
		},
		"what is in a directory, with a slash": {
			[]string{"/etc/"}, func(root string) error { return os.Remove(root + "/etc/other") }, []string{"/etc/"},
		},
		"and nothing of that without": {
			[]string{"/etc"}, func(root string) error { return os.Remove(root + "/etc/other") }, nil,
		},
		"a directory itself, with a slash": {
			[]string{"/etc/"}, func(root string) error { return os.Chmod(root+"/etc", 0o700) }, []string{"/etc/"},
		},
		"behind a symlink that leads to the host's own root": {
			[]string{"/link/motd"}, func(root string) error { return os.Remove(root + "/etc/motd") }, []string{"/link/motd"},
		},
		"nothing when it is only read": {
			[]string{"/etc/motd", "/etc/"},
			func(root string) error { _, err := os.ReadFile(root + "/etc/motd"); return err },
			nil,
		},
		"nothing of what is no longer followed": {
			[]string{"/etc/motd"}, func(root string) error { return os.Remove(root + "/old/x") }, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, root := watchedRoot(t)
			w := follow(t, h, "/old/x")
			must(t, w.Follow(c.follow))
			must(t, c.do(root))
			if c.want != nil {
				await(t, w)
			}
			if diff := cmp.Diff(c.want, w.Take()); diff != "" {
				t.Error(diff)
			}
			if again := w.Take(); len(again) > 0 {
				t.Errorf("told twice: %s", again)
			}
		})
	}
}

func TestWatchFollowsRecreatedDirectory(t *testing.T) {
	h, root := watchedRoot(t)
	w := follow(t, h, "/etc/motd")
	must(t, os.RemoveAll(root+"/etc"))
	must(t, os.Mkdir(root+"/etc", 0o755))
	await(t, w)
	w.Take()
	must(t, w.Follow([]string{"/etc/motd"}))
	must(t, os.WriteFile(root+"/etc/motd", nil, 0o644))
	await(t, w)
	if diff := cmp.Diff([]string{"/etc/motd"}, w.Take()); diff != "" {
		t.Error(diff)
	}
}

// The kernel keeps only so many events: what is lost may be about anything.
func TestWatchReportsAllPathsAfterOverflow(t *testing.T) {
	h, root := watchedRoot(t)
	limit, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	must(t, err)
	if len(strings.TrimSpace(string(limit))) > 5 {
		t.Fatalf("fs.inotify.max_queued_events is %s: this would take too long", limit)
	}
	w := follow(t, h, "/old/x", "/etc/") // reads no events before Ready or Take is called
	for range 20_000 {
		must(t, os.WriteFile(root+"/etc/a", nil, 0o644))
		must(t, os.Chmod(root+"/etc/a", 0o600))
	}
	if diff := cmp.Diff([]string{"/etc/", "/old/x"}, w.Take()); diff != "" {
		t.Error(diff)
	}
}

func TestClosedWatchReportsNothing(t *testing.T) {
	h, root := watchedRoot(t)
	w, err := h.Watch()
	must(t, err)
	must(t, w.Follow([]string{"/etc/motd"}))
	must(t, w.Close())
	must(t, os.Remove(root+"/etc/motd"))
	if got := w.Take(); len(got) > 0 {
		t.Errorf("told %s", got)
	}
}

func watchedRoot(t *testing.T) (*linux.Host, string) {
	t.Helper()
	root := t.TempDir()
	for _, file := range []string{"etc/motd", "etc/other", "old/x"} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(root, file)), 0o755))
		must(t, os.WriteFile(filepath.Join(root, file), []byte(file), 0o644))
	}
	must(t, os.Symlink("/etc", root+"/link"))
	h, err := linux.Open(linux.Options{Root: root})
	must(t, err)
	t.Cleanup(func() { _ = h.Close() })
	return h, root
}

// await waits until there is something to take.
func await(t *testing.T, w host.Watch) {
	t.Helper()
	select {
	case <-w.Ready():
	case <-time.After(10 * time.Second):
		t.Fatal("nothing was seen")
	}
}

func follow(t *testing.T, h *linux.Host, paths ...string) host.Watch {
	t.Helper()
	w, err := h.Watch()
	must(t, err)
	t.Cleanup(func() { _ = w.Close() })
	must(t, w.Follow(paths))
	return w
}
