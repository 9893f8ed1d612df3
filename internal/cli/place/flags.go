package place

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/state"
)

// Flags are the flags of a command that select the host and its state directory.
type Flags struct {
	root  string // --root; "" unless it is set
	pid   int    // --host-pid; 0 for none. It has no effect if root is set.
	state string // --state-dir; "" unless it is set
}

// AddHost adds the flags that select the host to a command.
func (f *Flags) AddHost(cmd *cobra.Command, hosts Hosts) {
	cmd.Flags().StringVar(&f.root, "root", "", "directory that is the root of the host; commands run chrooted in it (default /)")
	cmd.Flags().IntVar(&f.pid, "host-pid", hosts.PID,
		"act on the host of this process, such as 1 in a pod with hostPID; mutually exclusive with --root (default $FETTLE_HOST_PID)")
	cmd.MarkFlagsMutuallyExclusive("root", "host-pid")
	_ = cmd.MarkFlagDirname("root") // it was just added
}

// Add adds the flags for the host and for the state directory to a command. Without a completion of its own, the command
// completes no arguments.
func (f *Flags) Add(cmd *cobra.Command, hosts Hosts) {
	f.AddHost(cmd, hosts)
	cmd.Flags().StringVar(&f.state, "state-dir", "", "directory for state that is kept between runs (default "+state.DefaultDir+" under the root)")
	_ = cmd.MarkFlagDirname("state-dir") // it was just added
	if cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
}

// Place validates the flags, and returns the place that they select.
func (f Flags) Place() (Place, error) {
	if f.root != "" {
		root, err := filepath.Abs(f.root)
		if err != nil {
			return Place{}, err
		}
		if info, err := os.Stat(root); err != nil || !info.IsDir() {
			return Place{}, fmt.Errorf("--root %s is not a directory", f.root)
		}
		return Place{Top: root, State: f.state}, nil
	}
	switch {
	case f.pid < 0:
		return Place{}, fmt.Errorf("--host-pid %d is not a process: use 1 in a pod with hostPID, or 0 for this machine", f.pid)
	case f.pid > 0:
		return Place{Top: processRoot(f.pid), State: f.state, pid: f.pid}, nil
	}
	return Place{Top: "/", State: f.state}, nil
}

// Default is the place without flags.
func (h Hosts) Default() (Place, error) { return Flags{pid: h.PID}.Place() }
