package linux_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/host/linux/thread"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

// A user may mount a file system that never answers. A program that asks it for anything waits for ever.
func TestUserMountsAreNotEntered(t *testing.T) {
	_, dir := homes(t)
	put(t, filepath.Join(dir, "home/zed/own/f"), "f")
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"home/zed/mnt", "home/zed/disk", "home/zed/roots/mnt"} {
		must(t, os.Mkdir(at(name), 0o755))
	}
	symlink(t, dir, "var/mnt", "/home/zed/mnt", 0)
	put(t, at("home/zed/file"), "")
	must(t, thread.Run(func() error {
		ctx, cancel := context.WithTimeout(t.Context(), patient.Limit)
		defer cancel()
		err := errors.Join(unshareMounts(),
			mountUnresponsive(ctx, t, at("home/zed/mnt"), zed, unix.S_IFDIR), mountUnresponsive(ctx, t, at("home/zed/file"), zed, unix.S_IFREG),
			unix.Mount("tmpfs", at("home/zed/disk"), "tmpfs", 0, ""), os.Mkdir(at("home/zed/disk/d"), 0o755), mountUnresponsive(ctx, t, at("home/zed/disk/d"), zed, unix.S_IFDIR))
		if err != nil {
			return err
		}
		put(t, at("home/zed/disk/f"), "f")
		h, err := linux.Open(linux.Options{Root: dir}) // which is another directory without these mounts
		if err != nil {
			return err
		}
		defer h.Close()
		top, err := h.Edit("/home/zed", host.Links{})
		if err != nil {
			return err
		}
		defer top.Close()
		closed := func(c interface{ Close() error }, err error) error {
			if err == nil {
				err = c.Close()
			}
			return err
		}
		for name, act := range map[string]func() error{
			"look it up":                      func() error { return closed(h.Lookup("/home/zed/mnt", host.Links{})) },
			"look up a file in it":            func() error { return closed(h.Lookup("/home/zed/mnt/f", host.Links{})) },
			"look up a file that it is":       func() error { return closed(h.Lookup("/home/zed/file", host.Links{})) },
			"look it up in root's mount":      func() error { return closed(h.Lookup("/home/zed/disk/d", host.Links{})) },
			"look it up through a symlink":    func() error { return closed(h.Lookup("/var/mnt", host.Links{AtEnd: true})) },
			"look in it, through a symlink":   func() error { return closed(h.Lookup("/var/mnt/f", host.Links{})) },
			"look in it, through any symlink": func() error { return closed(h.Lookup("/var/mnt/f", host.Links{Follow: host.FollowAll})) },
			"open it to change it":            func() error { return closed(h.Edit("/home/zed/mnt", host.Links{})) },
			"open it as a parent": func() error {
				parent, _, err := h.EditParent("/home/zed/mnt/f", host.Links{})
				return closed(parent, err)
			},
			"stat it":                      func() error { _, err := h.Stat("/home/zed/mnt"); return err },
			"stat a file in it":            func() error { _, err := h.Lstat("/home/zed/mnt/f"); return err },
			"read it":                      func() error { _, err := h.ReadFile("/home/zed/file"); return err },
			"list it":                      func() error { _, err := h.ReadDir("/home/zed/mnt"); return err },
			"write into it":                func() error { _, err := h.WriteFile(ctx, "/home/zed/mnt/f", ownedFile("x")); return err },
			"open it as a child":           func() error { return closed(top.Child("mnt")) },
			"open a file in it as a child": func() error { return closed(top.Child("mnt/f")) },
			"open it as a child to change": func() error { return closed(top.Edit("mnt")) },
			"watch it": func() error {
				w, err := h.Watch()
				if err == nil {
					err = errors.Join(w.Follow([]string{"/home/zed/mnt/f"}), w.Close())
				}
				return err
			},
		} {
			if err := act(); err == nil || !strings.Contains(err.Error(), "user 1001 has mounted a file system there, which may never answer") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := top.RemoveAll("mnt"); err == nil || !errors.Is(err, unix.EBUSY) {
			t.Errorf("remove it: %v", err)
		}
		if mounted, err := h.Mounted("/home/zed/mnt"); err != nil || !mounted {
			t.Errorf("it is mounted: %v, %v", mounted, err)
		}
		return errors.Join(closed(top.Child("disk/f")), closed(h.Lookup("/home/zed/disk/f", host.Links{})))
	}))
}

// What was mounted when the host was opened, or looked at last, says nothing about what is mounted now.
func TestMountsAreLookedAtAgain(t *testing.T) {
	_, dir := homes(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"home/zed/mnt", "disk"} {
		must(t, os.Mkdir(at(name), 0o755))
	}
	must(t, thread.Run(func() error {
		ctx, cancel := context.WithTimeout(t.Context(), patient.Limit)
		defer cancel()
		err := errors.Join(unshareMounts(),
			unix.Mount("tmpfs", at("disk"), "tmpfs", 0, ""))
		if err != nil {
			return err
		}
		h, err := linux.Open(linux.Options{Root: dir})
		if err != nil {
			return err
		}
		defer h.Close()
		for range 2 {
			for _, name := range []string{"/disk", "/home/zed/mnt", "/disk"} {
				if _, err := h.Stat(name); err != nil {
					return err
				}
			}
			if err := mountUnresponsive(ctx, t, at("home/zed/mnt"), zed, unix.S_IFDIR); err != nil {
				return err
			}
			if _, err := h.Stat("/home/zed/mnt"); err == nil || !strings.Contains(err.Error(), "user 1001 has mounted") {
				t.Errorf("look into the mount of a user: %v", err)
			}
			if err := unix.Unmount(at("home/zed/mnt"), unix.MNT_DETACH); err != nil {
				return err
			}
		}
		return nil
	}))
}

// A user can mount such a file system on anything in a directory at any time: on what looks like one of Fettle's own temporary files,
// or on a file between two steps of its change.
func TestUserMountsBesideAFileGetNoRequests(t *testing.T) {
	_, dir := homes(t)
	in := filepath.Join(dir, "home/zed/own")
	for sentence, act := range map[string]func(ctx context.Context, d host.WritableHandle, mount func(name string) error) error{
		"a file like a temporary one, and another is written": func(ctx context.Context, d host.WritableHandle, mount func(string) error) error {
			if err := mount(".fettle-AAAAAAAAAAAAAAAAAAAAAAAAAA"); err != nil {
				return err
			}
			_, err := d.WriteFile(ctx, "g", ownedFile("x"))
			return errors.Join(err, unix.EBUSY) // it is written
		},
		"a file that is written": func(ctx context.Context, d host.WritableHandle, mount func(string) error) error {
			if err := mount("f"); err != nil {
				return err
			}
			_, err := d.WriteFile(ctx, "f", ownedFile("x"))
			return err
		},
		"a file while it is written": func(ctx context.Context, d host.WritableHandle, mount func(string) error) error {
			was, err := d.Child("f")
			if err != nil {
				return err
			}
			defer was.Close()
			_, err = d.WriteFile(ctx, "f", host.NewFile{
				UID: -1, GID: -1, Was: new(was.Info()), Check: func(context.Context, string) error { return mount("f") },
			})
			return err
		},
		"a file that changes its owner": func(_ context.Context, d host.WritableHandle, mount func(string) error) error {
			f, err := d.Edit("f")
			if err != nil {
				return err
			}
			defer f.Close()
			return errors.Join(mount("f"), f.Chown(0, 0))
		},
		"a file that is removed": func(_ context.Context, d host.WritableHandle, mount func(string) error) error {
			f, err := d.Child("f")
			if err != nil {
				return err
			}
			defer f.Close()
			return errors.Join(mount("f"), d.Remove("f", new(f.Info())))
		},
		"a file that a symlink replaces": func(_ context.Context, d host.WritableHandle, mount func(string) error) error {
			if err := mount("f"); err != nil {
				return err
			}
			_, err := d.Symlink("/etc", "f")
			return err
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			put(t, filepath.Join(in, "f"), "f")
			must(t, os.Chown(filepath.Join(in, "f"), zed, zed))
			must(t, thread.Run(func() error {
				ctx, cancel := context.WithTimeout(t.Context(), patient.Limit)
				defer cancel()
				err := unshareMounts()
				if err != nil {
					return err
				}
				h, err := linux.Open(linux.Options{Root: dir})
				if err != nil {
					return err
				}
				defer h.Close()
				d, err := h.Edit("/home/zed/own", host.Links{})
				if err != nil {
					return err
				}
				defer d.Close()
				err = act(ctx, d, func(name string) error {
					if name != "f" {
						put(t, filepath.Join(in, name), "")
					}
					return mountUnresponsive(ctx, t, filepath.Join(in, name), zed, unix.S_IFREG)
				})
				if !errors.Is(err, unix.EBUSY) && !errors.Is(err, host.ErrChanged) || ctx.Err() != nil {
					t.Errorf("got %v, %v", err, ctx.Err())
				}
				return nil
			}))
		})
	}
}

// unshareMounts gives the calling thread mounts of its own.
func unshareMounts() error {
	return errors.Join(unix.Unshare(unix.CLONE_FS|unix.CLONE_NEWNS), unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
}

// mountUnresponsive mounts a file system of a user that does not answer until ctx ends.
func mountUnresponsive(ctx context.Context, t *testing.T, dir string, user, kind int) error {
	t.Helper()
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	answerNothing := os.NewFile(uintptr(fd), "fuse")
	t.Cleanup(func() { _ = answerNothing.Close() })
	context.AfterFunc(ctx, func() { _ = answerNothing.Close() }) // which ends all waiting
	return unix.Mount("mute", dir, "fuse", unix.MS_NOSUID|unix.MS_NODEV,
		fmt.Sprintf("fd=%d,rootmode=%o,user_id=%d,group_id=%d,allow_other", fd, kind, user, user))
}
