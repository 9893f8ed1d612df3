// Package supportbundle is the command support-bundle of both programs: fettle collects from a host, and kubectl fettle from
// a cluster as well.
package supportbundle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fettle-dev/fettle/internal/cli/bundle"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/cli/place"
)

// Parts of a support bundle.
const (
	partCluster = "cluster"
	partHost    = "host"
)

// Options are what the command needs of its program.
type Options struct {
	Out   *output.Printer
	Hosts place.Hosts
	// Collect collects from the cluster, and from some of its nodes; nil if the program does not reach one.
	Collect func(ctx context.Context, nodes []string, a *bundle.Archive) error
	// Plugin runs kubectl fettle instead of a program that does not reach a cluster.
	Plugin func(args []string) error
	// Example has calls of the program.
	Example string
}

// A command collects the parts that its arguments name.
type command struct {
	Options
	host  place.Flags
	nodes []string
	file  string
}

// Command returns support-bundle.
func Command(o Options) *cobra.Command {
	c := command{Options: o}
	cmd := &cobra.Command{
		Use:   "support-bundle cluster|host ...",
		Short: "Collect what a bug report needs into an archive, without secrets",
		Long: "support-bundle writes a .tar.gz archive. From a cluster it collects versions, the status of resources and nodes,\n" +
			"events, permissions, policies and logs; from this host, facts, the last report, the state of the agent and\n" +
			"its journal. It contains no attributes of resources, contents, commands, environments, annotations and values:\n" +
			"only fields that are on a list are copied. Names of nodes and resources are in it. Read it before you send it.",
		Example:   o.Example,
		ValidArgs: []cobra.Completion{partCluster, partHost},
		Args:      cobra.MatchAll(cobra.MinimumNArgs(1), cobra.OnlyValidArgs),
		RunE: func(cmd *cobra.Command, parts []string) error {
			if c.Collect == nil && slices.Contains(parts, partCluster) {
				return c.Plugin(append([]string{cmd.Name()}, append(changed(cmd), parts...)...))
			}
			return c.run(cmd.Context(), parts)
		},
	}
	c.host.Add(cmd, o.Hosts)
	cmd.ValidArgsFunction = nil
	cmd.Flags().StringSliceVar(&c.nodes, "node", nil, "node whose agent's logs to collect; may be repeated (default: the first 20 agents)")
	cmd.Flags().StringVarP(&c.file, "output-file", "o", "", "file to write, with mode 0600; - is standard output (default fettle-support-TIME.tar.gz)")
	if c.Collect == nil {
		cmd.Flags().String("kubeconfig", "", "your kubeconfig (default: $KUBECONFIG or ~/.kube/config)")
		cmd.Flags().String("context", "", "context of the kubeconfig to use")
		_ = cmd.MarkFlagFilename("kubeconfig") // it was just added
	}
	return cmd
}

// changed returns the flags of a call, for another program.
func changed(cmd *cobra.Command) (args []string) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			args = append(args, "--"+f.Name+"="+value)
		}
	})
	return args
}

func (c *command) run(ctx context.Context, parts []string) error {
	now := time.Now().UTC()
	name := "fettle-support-" + now.Format("20060102T150405Z")
	write := func(to io.Writer) (problems int, err error) {
		archive := bundle.NewArchive(to, name, now)
		if err := c.collect(ctx, archive, parts); err != nil {
			return 0, err
		}
		return archive.Close()
	}
	file := cmp.Or(c.file, name+".tar.gz")
	var problems int
	var err error
	if file == "-" {
		problems, err = write(c.Out.Out)
	} else {
		problems, err = toNewFile(file, write)
	}
	if err != nil {
		return err
	}
	if problems > 0 {
		c.Out.Warn("warning: %d parts are missing or incomplete: see errors.txt in the bundle", problems)
	}
	if file != "-" {
		c.Out.Print("wrote %s; read it before you send it", file)
	}
	return nil
}

// toNewFile creates a file that only its owner can read, and removes it if it can't be completed.
func toNewFile(name string, write func(io.Writer) (int, error)) (problems int, err error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) //nolint:forbidigo // the user's own file
	if err != nil {
		return 0, fmt.Errorf("cannot write the support bundle: %w", err)
	}
	problems, err = write(file)
	if err = errors.Join(err, file.Close()); err != nil {
		err = errors.Join(err, os.Remove(name)) //nolint:forbidigo // the user's own file
	}
	return problems, err
}

// collect adds the parts.
func (c *command) collect(ctx context.Context, archive *bundle.Archive, parts []string) error {
	archive.Version()
	if slices.Contains(parts, partCluster) {
		if err := c.Collect(ctx, c.nodes, archive); err != nil {
			return err
		}
	}
	if !slices.Contains(parts, partHost) {
		return nil
	}
	at, err := c.host.Place()
	if err != nil {
		return err
	}
	return c.Hosts.With(at, c.Out.Tracer(), func(h place.Host) error {
		dir, err := at.StateDir()
		if err == nil {
			bundle.Host{Reader: h, StateDir: dir, Now: time.Now}.Collect(ctx, archive)
		}
		return err
	})
}
