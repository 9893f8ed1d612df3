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

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/credentials"
	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/cli/hostservice"
	"github.com/fettle-dev/fettle/internal/nodetoken"
	"github.com/fettle-dev/fettle/internal/state"
)

func (a *app) agent() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Run the agent as a service of this host, beside or instead of the DaemonSet",
		Long: "agent installs the agent of a cluster as a systemd service of this host. Unlike a pod, it works before the\n" +
			"kubelet does, and after a reboot during which the API server is unreachable. If a pod of the DaemonSet runs\n" +
			"on the host as well, one of them acts and the other waits.",
		Example: "  fettle agent status",
		Args:    cobra.NoArgs,
	}
	cmd.AddCommand(a.agentToken(), a.agentInstall(), a.agentUninstall(), a.agentStatus())
	return cmd
}

// tokenFlags are the flags of agent token.
type tokenFlags struct {
	access   flags.Cluster
	node     string
	server   string
	file     string
	account  string
	duration time.Duration
}

func (a *app) agentToken() *cobra.Command {
	f := tokenFlags{account: "fettle-nodeagent", duration: 24 * time.Hour}
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Create the first credentials for the agent of a host, as an administrator of the cluster",
		Long: "token creates a kubeconfig with a token that is bound to a Node, which must exist, and prints it. The agent\n" +
			"renews the token from then on. The first call also records the audience of the API server in an annotation of\n" +
			"Namespace fettle-nodes, without which agents cannot renew tokens.",
		Example: "  fettle agent token --node web-1 -o web-1.kubeconfig",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.runAgentToken(cmd.Context(), f) },
	}
	f.access.Add(cmd)
	cmd.Flags().StringVar(&f.node, "node", "", "name of the host's Node (required)")
	cmd.Flags().StringVar(&f.server, "server", "", "URL of the API server for the host (default: that of your kubeconfig)")
	cmd.Flags().StringVar(&f.account, "service-account", f.account, "ServiceAccount of the agents")
	flags.Duration(cmd, &f.duration, "duration", f.duration, "time until which the host has to use the credentials for the first time")
	cmd.Flags().StringVarP(&f.file, "output-file", "o", "-", "file to write, with mode 0600; - is standard output")
	_ = cmd.MarkFlagRequired("node") // it was just added
	return cmd
}

func (a *app) runAgentToken(ctx context.Context, f tokenFlags) error {
	if f.duration < 10*time.Minute {
		return fmt.Errorf("--duration %s is too short: use 10m or more", f.duration)
	}
	cfg, err := f.access.Config()
	if err != nil {
		return err
	}
	c, err := credentials.Issue(ctx, cfg, nodetoken.Request{Namespace: v1alpha1.AgentNamespace, Account: f.account, Node: f.node, Lifetime: f.duration})
	if err != nil {
		return err
	}
	c.Cluster.Server = cmp.Or(f.server, c.Cluster.Server)
	text, err := c.Kubeconfig("")
	if err != nil {
		return err
	}
	if f.file == "-" {
		_, err = a.Out.Write(text)
		return err
	}
	if err := state.ReplaceFile(f.file, text); err != nil {
		return fmt.Errorf("cannot write the kubeconfig: %w", err)
	}
	a.out.Print("wrote %s, which is valid until %s", f.file, c.Claims.Expires.UTC().Format(time.RFC3339))
	return nil
}

// installFlags are the flags of agent install.
type installFlags struct {
	kubeconfig, node, binary string
}

func (a *app) agentInstall() *cobra.Command {
	f := installFlags{node: a.NodeName}
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
			return a.withHost(func(h Host) error { return a.runAgentInstall(cmd.Context(), hostservice.Service{Host: h}, f, args) })
		},
	}
	a.addHost(cmd)
	cmd.Flags().StringVar(&f.node, "node-name", f.node, "name of this host's Node (default $NODE_NAME)")
	cmd.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig from fettle agent token, or - for standard input; it may be omitted to upgrade")
	cmd.Flags().StringVar(&f.binary, "binary", "", "program to install (default: nodeagent in the directory of this program)")
	_ = cmd.MarkFlagFilename("kubeconfig") // it was just added
	_ = cmd.MarkFlagFilename("binary")
	return cmd
}

func (a *app) runAgentInstall(ctx context.Context, s hostservice.Service, f installFlags, args []string) error {
	if f.node == "" {
		return errors.New("--node-name is missing: set it to the name of this host's Node")
	}
	binary, err := a.binary(f.binary)
	if err != nil {
		return err
	}
	spec := hostservice.Spec{Node: f.node, Args: args, Binary: func() (io.ReadCloser, error) { return os.Open(binary) }}
	if f.kubeconfig != "" {
		text, err := a.readArgument(f.kubeconfig)
		if err != nil {
			return fmt.Errorf("cannot read --kubeconfig: %w", err)
		}
		c, err := credentials.Parse(text, f.node, time.Now())
		if err != nil {
			return err
		}
		spec.Credentials = &c
	}
	written, err := s.Install(ctx, spec)
	for _, file := range written {
		a.out.Print("wrote %s", file)
	}
	if err == nil {
		a.out.Print("the agent of Node %s is installed as %s", f.node, hostservice.Name)
	}
	return err
}

// binary returns the path of the agent to install.
func (a *app) binary(flag string) (string, error) {
	if flag != "" {
		return a.place.local(flag)
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

// readArgument reads a file that a flag names, or standard input.
func (a *app) readArgument(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(a.In)
	}
	local, err := a.place.local(name)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(local)
}

func (a *app) agentUninstall() *cobra.Command {
	var purge bool
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Stop and remove the service of this host; what it manages stays",
		Long: "uninstall stops the service and removes its program, its unit and its credentials. Files, packages and other\n" +
			"objects that the agent manages stay as they are. So does the agent's state, so that a later agent goes on\n" +
			"where this one ended.",
		Example: "  fettle agent uninstall",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withHost(func(h Host) error { return a.runAgentUninstall(cmd.Context(), h, purge) })
		},
	}
	a.addHost(cmd)
	cmd.Flags().BoolVar(&purge, "purge", false, "also remove the agent's state and the bucket with replaced files")
	return cmd
}

func (a *app) runAgentUninstall(ctx context.Context, h Host, purge bool) error {
	removed, err := hostservice.Service{Host: h}.Uninstall(ctx)
	for _, file := range removed {
		a.out.Print("removed %s", file)
	}
	if err != nil {
		return err
	}
	if len(removed) == 0 {
		a.out.Print("no service is installed on this host")
	}
	if !purge {
		return nil
	}
	return a.purgeState(h)
}

// purgeState removes the state directory, unless it is in use.
func (a *app) purgeState(h Host) error {
	dir, err := a.place.stateDir("")
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
	a.out.Print("removed %s", state.DefaultDir)
	return nil
}

func (a *app) agentStatus() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "status",
		Short:   "Show the service of this host, and which agent acts on the host",
		Example: "  fettle agent status",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withHost(func(h Host) error { return a.runAgentStatus(cmd.Context(), hostservice.Service{Host: h}) })
		},
	}
	a.addHost(cmd)
	return cmd
}

func (a *app) runAgentStatus(ctx context.Context, s hostservice.Service) error {
	is, err := s.Status(ctx)
	if err != nil {
		return err
	}
	dir, err := a.place.stateDir("")
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
	a.out.Table(rows)
	return nil
}
