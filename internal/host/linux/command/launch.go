package command

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux/descriptor"
	"github.com/fettle-dev/fettle/internal/host/linux/thread"
)

// A launcher starts a command: here, in a chroot, or in namespaces. prepare, unless nil, runs there
// on a thread of its own right before the start. The command inherits that thread's
// working directory and umask.
type launcher func(c *exec.Cmd, prepare func() error) error

func startPlain(c *exec.Cmd, prepare func() error) error {
	if prepare == nil {
		return c.Start()
	}
	return thread.Run(func() error {
		if err := thread.Unshare(); err != nil {
			return err
		}
		return startPrepared(c, prepare)
	})
}

// startChrooted uses the descriptor of the root directory, so that commands run in the directory that
// files are read from, also after it was renamed.
func startChrooted(root int) launcher {
	none := &namespaces{}
	return func(c *exec.Cmd, prepare func() error) error {
		if prepare != nil {
			return none.launcher(root)(c, prepare)
		}
		c.SysProcAttr.Chroot = descriptor.Path(root)
		return c.Start()
	}
}

func startPrepared(c *exec.Cmd, prepare func() error) error {
	if prepare != nil {
		if err := prepare(); err != nil {
			return err
		}
	}
	return c.Start()
}

// launch starts a command with its user and umask. It enters the working directory itself: the child
// would do so after it became the other user, and would not end if the directory's file system never answers.
func (r *Runner) launch(c *exec.Cmd, cmd host.Cmd) error {
	if cmd.As == nil && cmd.Umask == nil && cmd.Dir == "/" {
		return r.start(c, nil)
	}
	dir, err := r.files.OpenDir(cmd.Dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	setUser(c, cmd)
	return r.start(c, func() error { return prepareThread(cmd, dir) })
}

// setUser sets the user of a command. Its thread is in its working directory.
func setUser(c *exec.Cmd, cmd host.Cmd) {
	if cmd.As != nil {
		c.SysProcAttr.Credential = &syscall.Credential{Uid: cmd.As.UID, Gid: cmd.As.GID, Groups: cmd.As.Groups}
	}
	c.Dir = ""
}

// prepareThread gives the calling thread the umask and the working directory of a command.
func prepareThread(cmd host.Cmd, dir *os.File) error {
	if cmd.Umask != nil {
		unix.Umask(int(*cmd.Umask))
	}
	if err := unix.Fchdir(int(dir.Fd())); err != nil {
		return &os.PathError{Op: "chdir", Path: cmd.Dir, Err: err}
	}
	return nil
}
