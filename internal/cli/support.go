package cli

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

	"github.com/fettle-dev/fettle/internal/cli/bundle"
	"github.com/fettle-dev/fettle/internal/cli/flags"
)

// supportFlags are the flags of support-bundle.
type supportFlags struct {
	access flags.Cluster
	nodes  []string
	file   string
}

// Parts of a support bundle.
const (
	partCluster = "cluster"
	partHost    = "host"
)

func (a *app) supportBundle() *cobra.Command {
	var f supportFlags
	var stateDir string
	cmd := &cobra.Command{
		Use:   "support-bundle cluster|host ...",
		Short: "Collect what a bug report needs into an archive, without secrets",
		Long: "support-bundle writes a .tar.gz archive. From a cluster it collects versions, the status of resources and nodes,\n" +
			"events, permissions, policies and logs; from this host, facts, the last report, the state of the agent and\n" +
			"its journal. It contains no attributes of resources, contents, commands, environments, annotations and values:\n" +
			"only fields that are on a list are copied. Names of nodes and resources are in it. Read it before you send it.",
		Example: "  fettle support-bundle cluster\n" +
			"  fettle support-bundle cluster --node web-1\n" +
			"  fettle support-bundle host -o web-1.tar.gz",
		ValidArgs: []cobra.Completion{partCluster, partHost},
		Args:      cobra.MatchAll(cobra.MinimumNArgs(1), cobra.OnlyValidArgs),
		RunE: func(cmd *cobra.Command, parts []string) error {
			return a.runSupportBundle(cmd.Context(), f, stateDir, parts)
		},
	}
	a.addStateDir(cmd, &stateDir)
	cmd.ValidArgsFunction = nil
	f.access.Add(cmd)
	cmd.Flags().StringSliceVar(&f.nodes, "node", nil, "node whose agent's logs to collect; may be repeated (default: the first 20 agents)")
	cmd.Flags().StringVarP(&f.file, "output-file", "o", "", "file to write, with mode 0600; - is standard output (default fettle-support-TIME.tar.gz)")
	return cmd
}

func (a *app) runSupportBundle(ctx context.Context, f supportFlags, stateDir string, parts []string) error {
	now := time.Now().UTC()
	name := "fettle-support-" + now.Format("20060102T150405Z")
	write := func(to io.Writer) (problems int, err error) {
		archive := bundle.NewArchive(to, name, now)
		if err := a.collect(ctx, archive, f, stateDir, parts); err != nil {
			return 0, err
		}
		return archive.Close()
	}
	file := cmp.Or(f.file, name+".tar.gz")
	var problems int
	var err error
	if file == "-" {
		problems, err = write(a.Out)
	} else {
		problems, err = toNewFile(file, write)
	}
	if err != nil {
		return err
	}
	if problems > 0 {
		a.out.Warn("warning: %d parts are missing or incomplete: see errors.txt in the bundle", problems)
	}
	if file != "-" {
		a.out.Print("wrote %s; read it before you send it", file)
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
func (a *app) collect(ctx context.Context, archive *bundle.Archive, f supportFlags, stateDir string, parts []string) error {
	archive.Version()
	if slices.Contains(parts, partCluster) {
		cfg, err := f.access.Config()
		if err != nil {
			return err
		}
		if err := (bundle.Cluster{Config: cfg, Nodes: f.nodes}).Collect(ctx, archive); err != nil {
			return err
		}
	}
	if !slices.Contains(parts, partHost) {
		return nil
	}
	return a.withHost(func(h Host) error {
		dir, err := a.place.stateDir(stateDir)
		if err == nil {
			bundle.Host{Reader: h, StateDir: dir, Now: time.Now}.Collect(ctx, archive)
		}
		return err
	})
}
