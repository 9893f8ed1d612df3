package linux_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/host/linux/thread"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

// A file system of a user can keep a process from ending, even after it was killed, and another one from starting.
func TestCommandsInUserMountsDoNotBlockTheAgent(t *testing.T) {
	asUser, soon := &host.Credentials{UID: zed, GID: zed}, 100*time.Millisecond
	for sentence, c := range map[string]struct {
		cmd  host.Cmd // MNT is where the user has mounted it
		says string
	}{
		"works in it":                {host.Cmd{Args: []string{"true"}, Dir: "MNT"}, "user 1001 has mounted a file system there"},
		"works in it as the user":    {host.Cmd{Args: []string{"true"}, Dir: "MNT", As: asUser}, "user 1001 has mounted a file system there"},
		"works in it, confined":      {host.Cmd{Args: []string{"true"}, Dir: "MNT", Confinement: &host.Confinement{}}, "user 1001 has mounted a file system there"},
		"works in it, in a sandbox":  {host.Cmd{Args: []string{"true"}, Dir: "MNT", Confinement: &host.Confinement{ReadOnly: true}}, "user 1001 has mounted a file system there"},
		"looks into it":              {host.Cmd{Args: []string{"ls", "MNT"}, Timeout: soon}, "it did not end"},
		"looks into it, confined":    {host.Cmd{Args: []string{"ls", "MNT"}, Timeout: soon, Confinement: &host.Confinement{}}, "it did not end"},
		"is detached":                {host.Cmd{Args: []string{"ls", "MNT"}, Timeout: soon, Detached: true}, "it did not end"},
		"needs an interpreter there": {host.Cmd{Args: []string{"SCRIPT"}, Timeout: soon, As: asUser}, "it did not end"},
	} {
		t.Run("a command that "+sentence, func(t *testing.T) {
			t.Parallel()
			_, dir := homes(t)
			must(t, os.Chmod(filepath.Dir(dir), 0o755)) //nolint:gosec // users reach their homes
			at, script := filepath.Join(dir, "home/zed/own"), filepath.Join(dir, "home/zed/script")
			must(t, os.WriteFile(script, []byte("#!"+at+"/sh\n"), 0o755)) //nolint:gosec // a program
			in := strings.NewReplacer("MNT", at, "SCRIPT", script)
			c.cmd.Dir = in.Replace(c.cmd.Dir)
			for i, arg := range c.cmd.Args {
				c.cmd.Args[i] = in.Replace(arg)
			}
			must(t, thread.Run(func() error {
				ctx, cancel := context.WithTimeout(t.Context(), patient.Limit)
				defer cancel()
				var asked atomic.Bool
				err := errors.Join(unshareMounts(),
					mountUnresponsiveAfterFirst(ctx, t, at, zed, &asked))
				if err != nil {
					return err
				}
				h, err := linux.Open(linux.Options{PID: unix.Gettid()})
				if err != nil {
					return err
				}
				defer h.Close()
				patient.Lengthen(t, c.cmd.Timeout, func(timeout time.Duration) bool {
					c.cmd.Timeout = timeout
					_, err := h.Query(ctx, c.cmd)
					reached := timeout == 0 || asked.Load()
					if reached && (err == nil || !strings.Contains(err.Error(), c.says)) {
						t.Errorf("got %v", err)
					}
					return reached
				})
				_, err = h.Query(ctx, host.Cmd{Args: []string{"true"}})
				return errors.Join(err, ctx.Err())
			}))
		})
	}
}

// mountUnresponsiveAfterFirst mounts a file system of a user that takes all requests, and answers none but the first, until ctx ends. It stores whether there
// were others.
func mountUnresponsiveAfterFirst(ctx context.Context, t *testing.T, dir string, user int, asked *atomic.Bool) error {
	t.Helper()
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	err = unix.Mount("deaf", dir, "fuse", unix.MS_NOSUID|unix.MS_NODEV,
		fmt.Sprintf("fd=%d,rootmode=%o,user_id=%d,group_id=%d,allow_other", fd, unix.S_IFDIR, user, user))
	if err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	request := make([]byte, 1<<17)
	if _, err := unix.Read(fd, request); err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	const header, init, version, minor, maxWrite = 16, 64, 7, 31, 4096
	reply := make([]byte, header+init)
	binary.NativeEndian.PutUint32(reply, uint32(len(reply)))
	copy(reply[8:], request[8:16])
	binary.NativeEndian.PutUint32(reply[header:], version)
	binary.NativeEndian.PutUint32(reply[header+4:], minor)
	binary.NativeEndian.PutUint32(reply[header+20:], maxWrite)
	if _, err := unix.Write(fd, reply); err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	control := t.TempDir()
	var stx unix.Statx_t
	err = errors.Join(unix.Mount("fusectl", control, "fusectl", 0, ""), unix.Statx(unix.AT_FDCWD, dir, unix.AT_STATX_DONT_SYNC, 0, &stx))
	if err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	abort, err := os.OpenFile(filepath.Join(control, fmt.Sprint(stx.Dev_minor), "abort"), os.O_WRONLY, 0)
	if err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	context.AfterFunc(ctx, func() { // ends all waiting; a command that does not start has a copy of fd
		_, _ = abort.WriteString("1")
		_ = abort.Close()
	})
	go func() {
		defer func() { _ = unix.Close(fd) }()
		for ctx.Err() == nil {
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 50)
			if n, _ := unix.Read(fd, request); n > 0 {
				asked.Store(true)
			}
		}
	}()
	return nil
}
