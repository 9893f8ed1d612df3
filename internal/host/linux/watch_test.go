package linux_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
	"github.com/fettle-dev/fettle/test/fixtures/rival"
)

func TestWatchReportsChanges(t *testing.T) {
	for name, c := range map[string]struct {
		follow []string
		do     func(root string) error
		want   []string
	}{
		"a written file": {
			[]string{"/etc/motd", "/etc/other"},
			func(root string) error { return os.WriteFile(root+"/etc/motd", []byte("x"), 0o644) },
			[]string{"/etc/motd"},
		},
		"a replaced file": {
			[]string{"/etc/motd"},
			func(root string) error { return os.Rename(root+"/etc/other", root+"/etc/motd") },
			[]string{"/etc/motd"},
		},
		"a removed file": {
			[]string{"/etc/motd"}, func(root string) error { return os.Remove(root + "/etc/motd") }, []string{"/etc/motd"},
		},
		"a created file": {
			[]string{"/etc/new"}, func(root string) error { return os.Symlink("x", root+"/etc/new") }, []string{"/etc/new"},
		},
		"a changed mode": {
			[]string{"/etc/motd"}, func(root string) error { return os.Chmod(root+"/etc/motd", 0o600) }, []string{"/etc/motd"},
		},
		"a created parent directory": {
			[]string{"/srv/www/index"}, func(root string) error { return os.MkdirAll(root+"/srv/www", 0o755) }, []string{"/srv/www/index"},
		},
		"a removed parent directory": {
			[]string{"/etc/motd", "/etc/new"}, func(root string) error { return os.RemoveAll(root + "/etc") }, []string{"/etc/motd", "/etc/new"},
		},
		"the contents of a directory, with a slash": {
			[]string{"/etc/"}, func(root string) error { return os.Remove(root + "/etc/other") }, []string{"/etc/"},
		},
		"not the contents of a directory, without a slash": {
			[]string{"/etc"}, func(root string) error { return os.Remove(root + "/etc/other") }, nil,
		},
		"a directory itself, with a slash": {
			[]string{"/etc/"}, func(root string) error { return os.Chmod(root+"/etc", 0o700) }, []string{"/etc/"},
		},
		"through an absolute symlink": {
			[]string{"/link/motd"}, func(root string) error { return os.Remove(root + "/etc/motd") }, []string{"/link/motd"},
		},
		"not a read": {
			[]string{"/etc/motd", "/etc/"},
			func(root string) error { _, err := os.ReadFile(root + "/etc/motd"); return err },
			nil,
		},
		"not a path that is no longer followed": {
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
			if diff := gocmp.Diff(c.want, w.Take()); diff != "" {
				t.Error(diff)
			}
			if again := w.Take(); len(again) > 0 {
				t.Errorf("reported twice: %s", again)
			}
		})
	}
}

func TestWatchReportsFilesThatAreStillOpen(t *testing.T) {
	h, root := watchedRoot(t)
	w := follow(t, h, "/etc/motd", "/etc/new", "/etc/other")
	begun := func(want map[string]bool) {
		t.Helper()
		await(t, w)
		w.Take()
		if diff := gocmp.Diff(want, w.Begun()); diff != "" {
			t.Error(diff)
		}
	}
	must(t, os.WriteFile(root+"/etc/other", nil, 0o644))
	must(t, os.Remove(root+"/etc/motd"))
	motd, err := os.Create(root + "/etc/motd")
	must(t, err)
	begun(map[string]bool{"/etc/motd": true})
	must(t, motd.Close())
	must(t, os.WriteFile(root+"/etc/new", []byte("x"), 0o644))
	begun(map[string]bool{})
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
	if diff := gocmp.Diff([]string{"/etc/motd"}, w.Take()); diff != "" {
		t.Error(diff)
	}
}

// What others do in a directory costs little, and does not hide what is watched there.
func TestWatchReportsAPathAmongManyOthers(t *testing.T) {
	h, root := watchedRoot(t)
	w := follow(t, h, "/etc/motd")
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			default:
				_ = os.WriteFile(root+"/etc/noise", nil, 0o644)
			}
		}
	}()
	defer func() {
		close(stop)
		<-ended
	}()
	for range 20 {
		must(t, os.WriteFile(root+"/etc/motd", nil, 0o644))
		await(t, w)
		if diff := gocmp.Diff([]string{"/etc/motd"}, w.Take()); diff != "" {
			t.Fatal(diff)
		}
		must(t, w.Follow([]string{"/etc/motd"}))
	}
}

func TestWatchFollowsADirectoryThatWasReplaced(t *testing.T) {
	for name, replace := range map[string]func(root string) error{
		"by another directory": func(root string) error {
			return cmp.Or(os.Rename(root+"/etc", root+"/gone"), os.Mkdir(root+"/etc", 0o755))
		},
		"by a symlink": func(root string) error {
			return cmp.Or(os.Rename(root+"/etc", root+"/gone"), os.Symlink("old", root+"/etc"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, root := watchedRoot(t)
			paths := []string{"/etc", "/etc/motd"}
			w := follow(t, h, paths...)
			must(t, replace(root))
			w.Take()
			must(t, w.Follow(paths))
			must(t, os.WriteFile(root+"/etc/motd", nil, 0o644))
			await(t, w)
			if diff := gocmp.Diff([]string{"/etc/motd"}, w.Take()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The kernel's event queue is limited. Lost events may concern any path.
func TestWatchReportsAllPathsAfterOverflow(t *testing.T) {
	h, root := watchedRoot(t)
	limit, err := os.ReadFile("/proc/sys/fs/fanotify/max_queued_events")
	must(t, err)
	if len(strings.TrimSpace(string(limit))) > 5 {
		t.Fatalf("fs.fanotify.max_queued_events is %s: this would take too long", limit)
	}
	w := follow(t, h, "/old/x", "/etc/") // reads no events before Ready or Take is called
	for i := range 20_000 {              // events of one file may be merged
		must(t, os.WriteFile(fmt.Sprint(root, "/etc/", i), nil, 0o644))
	}
	if diff := gocmp.Diff([]string{"/etc/", "/old/x"}, w.Take()); diff != "" {
		t.Error(diff)
	}
}

// A user who renames a file in a loop must not keep the program busy that watches it.
func TestWatchOfContestedPathSleepsMostOfTheTime(t *testing.T) {
	h, root := watchedRoot(t)
	w := follow(t, h, "/etc/motd")
	done := make(chan error)
	began := time.Now()
	go func() {
		var err error
		for range 20_000 {
			err = cmp.Or(err, os.Rename(root+"/etc/motd", root+"/etc/moved"), os.Rename(root+"/etc/moved", root+"/etc/motd"))
		}
		done <- err
	}()
	woken, ended := 0, false
	for !ended {
		select {
		case <-w.Ready():
			woken++
			w.Take()
		case err := <-done:
			must(t, err)
			ended = true
		}
	}
	took := time.Since(began)
	// Two queues of events, each of which is read 128 times before it is read every 5 ms.
	if most := 2 * (130 + int(took/(5*time.Millisecond))); woken == 0 || woken > most {
		t.Errorf("it was woken %d times in %v, want at most %d", woken, took, most)
	}
	must(t, os.Chmod(root+"/etc/motd", 0o600))
	await(t, w)
}

// Users who change many files without a pause must not keep the program from seeing what has changed so far, however fast they are.
func TestWatchReportsWhileUsersChangeManyPaths(t *testing.T) {
	debian.Require(t)
	h, dir := homes(t)
	var paths []string
	for i := range 500 {
		name := fmt.Sprintf("/home/zed/own/%d", i)
		put(t, filepath.Join(dir, name), "")
		must(t, os.Chown(filepath.Join(dir, name), zed, zed))
		paths = append(paths, name)
	}
	w := follow(t, h, paths...)
	_ = w.Ready()
	for range 4 {
		rival.Start(t, dir, zed, append([]string{"touch"}, paths...)...)
	}
	done := make(chan bool)
	go func() {
		for range 10 {
			w.Take()
			w.Authors()
		}
		close(done)
	}()
	patient.Receive(t, "the changes are reported", done)
}

func TestClosedWatchReportsNothing(t *testing.T) {
	h, root := watchedRoot(t)
	w, err := h.Watch()
	must(t, err)
	must(t, w.Follow([]string{"/etc/motd"}))
	must(t, w.Close())
	must(t, os.Remove(root+"/etc/motd"))
	if got := w.Take(); len(got) > 0 {
		t.Errorf("reported %s", got)
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

// await waits until Take returns paths.
func await(t *testing.T, w host.Watch) {
	t.Helper()
	patient.Receive(t, "an event is reported", w.Ready())
}

func follow(t *testing.T, h *linux.Host, paths ...string) host.Watch {
	t.Helper()
	w, err := h.Watch()
	must(t, err)
	t.Cleanup(func() { _ = w.Close() })
	must(t, w.Follow(paths))
	return w
}
