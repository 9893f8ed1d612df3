package linux

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
)

// A launcher starts a command somewhere: here, in a chroot, in namespaces. settle,
// when set, is called there on a thread of its own, right before the start: what it
// does to that thread's directory and umask the command inherits.
type launcher func(c *exec.Cmd, settle func() error) error

func startPlain(c *exec.Cmd, settle func() error) error {
	if settle == nil {
		return c.Start()
	}
	return onDoomedThread(func() error {
		if err := separate(); err != nil {
			return err
		}
		return startSettled(c, settle)
	})
}

// startChrooted goes by the descriptor of the root: the directory that files are
// read from, even when it was renamed.
func startChrooted(root int) launcher {
	nowhere := &namespaces{}
	return func(c *exec.Cmd, settle func() error) error {
		if settle != nil {
			return nowhere.launcher(root)(c, settle)
		}
		c.SysProcAttr.Chroot = fdPath(root)
		return c.Start()
	}
}

func startSettled(c *exec.Cmd, settle func() error) error {
	if settle != nil {
		if err := settle(); err != nil {
			return err
		}
	}
	return c.Start()
}

// launch starts a command as whom and with the umask that it asks for. The directory
// is then entered here: the child would do so after it became somebody else.
func (h *Host) launch(c *exec.Cmd, cmd host.Cmd) error {
	if cmd.As == nil && cmd.Umask == nil {
		return h.start(c, nil)
	}
	if cmd.As != nil {
		c.SysProcAttr.Credential = &syscall.Credential{Uid: cmd.As.UID, Gid: cmd.As.GID, Groups: cmd.As.Groups}
	}
	c.Dir = ""
	return h.start(c, func() error {
		if cmd.Umask != nil {
			unix.Umask(int(*cmd.Umask))
		}
		if err := unix.Chdir(cmd.Dir); err != nil {
			return &os.PathError{Op: "chdir", Path: cmd.Dir, Err: err}
		}
		return nil
	})
}
