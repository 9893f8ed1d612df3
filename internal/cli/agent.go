package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli/credentials"
	"github.com/fettle-dev/fettle/internal/cli/hostservice"
	"github.com/fettle-dev/fettle/internal/cli/place"
	"github.com/fettle-dev/fettle/internal/state"
)

func newAgent(s shared) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Run the agent as a service of this host, beside or instead of the DaemonSet",
		Long: "agent installs the agent of a cluster as a systemd service of this host. Unlike a pod, it works before the\n" +
			"kubelet does, and after a reboot during which the API server is unreachable. If a pod of the DaemonSet runs\n" +
			"on the host as well, one of them acts and the other waits.",
		Example: "  fettle agent status",
		Args:    cobra.NoArgs,
	}
	cmd.AddCommand(newAgentToken(s), newAgentInstall(s), newAgentUninstall(s), newAgentStatus(s))
	return cmd
}

// newAgentToken returns agent token, which is a command of kubectl fettle.
func newAgentToken(s shared) *cobra.Command {
	return &cobra.Command{
		Use:                "token",
		Short:              "Create the first credentials for the agent of a host, as an administrator of the cluster",
		Long:               "token runs kubectl fettle agent token, which creates the credentials in the cluster: kubectl fettle agent token --help shows its flags.",
		Example:            "  fettle agent token --node web-1 -o web-1.kubeconfig",
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			return s.Plugin(append([]string{"agent", "token"}, args...))
		},
	}
}

// An agentInstall is agent install.
type agentInstall struct {
	shared
	host                     place.Flags
	kubeconfig, node, binary string
}

func newAgentInstall(s shared) *cobra.Command {
	c := agentInstall{shared: s}
	cmd := &cobra.Command{
		Use:   "install [-- NODEAGENT-FLAG ...]",
		Short: "Install or upgrade the agent as a service of this host, and start it",
		Long: "install writes the program, a systemd unit and the credentials, and starts the service. It may be repeated, to\n" +
			"upgrade or reconfigure the service; what has not changed is not written, and credentials that the agent has\n" +
			"renewed since stay. Flags after -- are those of nodeagent.",
		Example: "  fettle agent install --node-name web-1 --kubeconfig web-1.kubeconfig\n" +
			"  fettle agent install --node-name web-1 --binary ./nodeagent -- --interval=30m",
		RunE: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); len(args) > 0 && dash != 0 {
				return fmt.Errorf("unexpected argument %q: put flags of nodeagent after --", args[0])
			}
			return c.run(cmd.Context(), args)
		},
	}
	c.host.AddHost(cmd, s.Hosts)
	cmd.Flags().StringVar(&c.node, "node-name", s.NodeName, "name of this host's Node (default $NODE_NAME)")
	cmd.Flags().StringVar(&c.kubeconfig, "kubeconfig", "", "kubeconfig from fettle agent token, or - for standard input; it may be omitted to upgrade")
	cmd.Flags().StringVar(&c.binary, "binary", "", "program to install (default: nodeagent in the directory of this program)")
	_ = cmd.MarkFlagFilename("kubeconfig") // it was just added
	_ = cmd.MarkFlagFilename("binary")
	return cmd
}

func (c *agentInstall) run(ctx context.Context, args []string) error {
	return c.withHost(c.host, func(at place.Place, h place.Host) error {
		spec, err := c.spec(at, args)
		if err != nil {
			return err
		}
		written, err := hostservice.Service{Host: h}.Install(ctx, spec)
		for _, file := range written {
			c.out.Print("wrote %s", file)
		}
		if err == nil {
			c.out.Print("the agent of Node %s is installed as %s", c.node, hostservice.Name)
		}
		return err
	})
}

// spec returns what is installed.
func (c *agentInstall) spec(at place.Place, args []string) (spec hostservice.Spec, err error) {
	if c.node == "" {
		return spec, errors.New("--node-name is missing: set it to the name of this host's Node")
	}
	binary, err := c.program(at)
	if err != nil {
		return spec, err
	}
	spec = hostservice.Spec{Node: c.node, Args: args, Binary: func() (io.ReadCloser, error) { return os.Open(binary) }}
	if c.kubeconfig == "" {
		return spec, nil
	}
	text, err := c.readKubeconfig(at)
	if err != nil {
		return spec, fmt.Errorf("cannot read --kubeconfig: %w", err)
	}
	read, err := credentials.Parse(text, c.node, time.Now())
	spec.Credentials = &read
	return spec, err
}

// program returns the path of the agent to install.
func (c *agentInstall) program(at place.Place) (string, error) {
	if c.binary != "" {
		return at.Local(c.binary)
	}
	own, err := os.Executable()
	if err != nil {
		return "", err
	}
	binary := filepath.Join(filepath.Dir(own), "nodeagent")
	if _, err := os.Stat(binary); err != nil {
		return "", fmt.Errorf("cannot find the agent: %w: set --binary", err)
	}
	return binary, nil
}

func (c *agentInstall) readKubeconfig(at place.Place) ([]byte, error) {
	if c.kubeconfig == "-" {
		return io.ReadAll(c.In)
	}
	local, err := at.Local(c.kubeconfig)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(local)
}

// An agentUninstall is agent uninstall.
type agentUninstall struct {
	shared
	host  place.Flags
	purge bool
}

func newAgentUninstall(s shared) *cobra.Command {
	c := agentUninstall{shared: s}
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Stop and remove the service of this host; what it manages stays",
		Long: "uninstall stops the service and removes its program, its unit and its credentials. Files, packages and other\n" +
			"objects that the agent manages stay as they are. So does the agent's state, so that a later agent goes on\n" +
			"where this one ended.",
		Example: "  fettle agent uninstall",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	c.host.AddHost(cmd, s.Hosts)
	cmd.Flags().BoolVar(&c.purge, "purge", false, "also remove the agent's state and the bucket with replaced files")
	return cmd
}

func (c *agentUninstall) run(ctx context.Context) error {
	return c.withHost(c.host, func(at place.Place, h place.Host) error {
		removed, err := hostservice.Service{Host: h}.Uninstall(ctx)
		for _, file := range removed {
			c.out.Print("removed %s", file)
		}
		if err != nil {
			return err
		}
		if len(removed) == 0 {
			c.out.Print("no service is installed on this host")
		}
		if !c.purge {
			return nil
		}
		return c.purgeState(at, h)
	})
}

// purgeState removes the state directory, unless it is in use.
func (c *agentUninstall) purgeState(at place.Place, h place.Host) error {
	dir, err := at.StateDir()
	if err != nil {
		return err
	}
	agent, err := state.TryLockAgent(dir, "fettle agent uninstall")
	if err != nil {
		return fmt.Errorf("the state stays: %w: remove the agent's pod from this node first", err)
	}
	defer func() { _ = agent.Unlock() }() // nothing is buffered
	runs, err := state.Open(dir, state.Options{})
	if err != nil {
		return fmt.Errorf("the state stays: %w", err)
	}
	defer func() { _ = runs.Close() }() // it is removed
	if err := h.RemoveAll(state.DefaultDir); err != nil {
		return fmt.Errorf("cannot remove the state: %w", err)
	}
	c.out.Print("removed %s", state.DefaultDir)
	return nil
}

// An agentStatus is agent status.
type agentStatus struct {
	shared
	host place.Flags
}

func newAgentStatus(s shared) *cobra.Command {
	c := agentStatus{shared: s}
	cmd := &cobra.Command{
		Use:     "status",
		Short:   "Show the service of this host, and which agent acts on the host",
		Example: "  fettle agent status",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	c.host.AddHost(cmd, s.Hosts)
	return cmd
}

func (c *agentStatus) run(ctx context.Context) error {
	return c.withHost(c.host, func(at place.Place, h place.Host) error {
		is, err := hostservice.Service{Host: h}.Status(ctx)
		if err != nil {
			return err
		}
		dir, err := at.StateDir()
		if err != nil {
			return err
		}
		holder, acts, err := state.ActingAgent(dir)
		if err != nil {
			return err
		}
		rows := [][]string{{"service", is.String()}}
		if is.Installed {
			rows = append(rows, []string{"credentials", is.Credentials(time.Now())})
		}
		acting := "none"
		if acts {
			acting = cmp.Or(holder, "unknown")
		}
		rows = append(rows, []string{"acting agent", acting})
		if why := state.Disabled(dir); why != nil {
			rows = append(rows, []string{"runs", why.Error()})
		}
		c.out.Table(rows)
		return nil
	})
}
