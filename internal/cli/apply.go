package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/cli/place"
	"github.com/fettle-dev/fettle/internal/hostrun"
)

// A runCommand is apply or plan. [runCommand.run] is in run.go.
type runCommand struct {
	shared
	host    place.Flags
	sources sourceFlags
	output  flags.Output

	noop, diff      bool
	planned         bool // change nothing
	ignoreSchedules bool
	selector        string
	labels          string
	detailedCodes   bool
	bucketLimit     int64

	watch       bool
	interval    time.Duration
	limit, wait time.Duration
	before      string
	after       string
}

// defaultInterval is Puppet's.
const defaultInterval = 30 * time.Minute

const applyExample = `  # Apply a directory of manifests to this machine.
  fettle apply -f manifests/

  # Show what would change in a directory with a root file system.
  fettle apply -f web.yaml --noop --root /srv/images/web

  # In a script: exit with 0 for no changes, 2 for changes, 4 for failures, 6 for both.
  fettle apply -f - --detailed-exitcodes -o json < web.yaml

  # Apply only one resource.
  fettle apply -R -f manifests/ File/motd

  # Keep running, and correct drift as it happens.
  fettle apply -f manifests/ --watch

  # Keep /etc under version control with etckeeper.
  fettle apply -f manifests/ --prerun-command "etckeeper pre-install" --postrun-command "etckeeper post-install"`

func newApply(s shared) *cobra.Command {
	c := runCommand{shared: s}
	cmd := &cobra.Command{
		Use:   "apply " + useSources + " [KIND/NAME ...]",
		Short: "Bring this machine to the state that resources describe",
		Long: "apply brings this machine, or a directory with a root file system, to the state that resources describe.\n" +
			"With --watch it keeps running: it applies the resources again at an interval, and as soon as something\n" +
			"changes that they watch. It reads the manifests only at the start, and exits with the code of its last run. A\n" +
			"terminal shows the progress of a run, and between runs what is in sync and what was corrected last.",
		Example: applyExample,
		Args:    c.sources.given,
		RunE:    func(cmd *cobra.Command, names []string) error { return c.run(cmd.Context(), names) },
	}
	c.add(cmd)
	addBucketLimit(cmd, &c.bucketLimit)
	cmd.Flags().BoolVar(&c.noop, "noop", false, "report what would change, and change nothing except resources with noop: false")
	cmd.Flags().BoolVar(&c.watch, "watch", false, "keep running, and correct drift as it happens")
	flags.Duration(cmd, &c.interval, "interval", defaultInterval, "with --watch: the time between runs without drift")
	flags.Duration(cmd, &c.limit, "run-timeout", hostrun.DefaultLimit, "stop a run that takes longer: it finishes the current resource, skips the rest, and fails; 0 means no limit")
	cmd.Flags().StringVar(&c.before, "prerun-command", "", "command to run on the host before each run without --noop; if it fails, there is no run")
	cmd.Flags().StringVar(&c.after, "postrun-command", "", "command to run on the host after each run without --noop; if it fails, the run fails")
	cmd.Flags().BoolVar(&c.detailedCodes, "detailed-exitcodes", false, "exit with 0 for no changes, 2 for changes, 4 for failures, 6 for both (default: 0, or 1 for failures)")
	return cmd
}

const planExample = `  fettle plan -f manifests/

  # One resource of a kustomization.
  fettle plan -k overlays/web File/motd

  # Fail a pipeline when a machine differs from its manifests.
  fettle plan -f https://git.example.com/web.yaml --detailed-exitcodes`

func newPlan(s shared) *cobra.Command {
	c := runCommand{shared: s, planned: true, noop: true, diff: true, limit: hostrun.DefaultLimit}
	cmd := &cobra.Command{
		Use:   "plan " + useSources + " [KIND/NAME ...]",
		Short: "Show what apply would change, with diffs",
		Long: "plan shows what apply would change, with diffs, and changes nothing. With --detailed-exitcodes, pending\n" +
			"changes exit with 2, so that it can gate a pipeline. apply --noop exits with 0 for them, as Puppet does.",
		Example: planExample,
		Args:    c.sources.given,
		RunE:    func(cmd *cobra.Command, names []string) error { return c.run(cmd.Context(), names) },
	}
	c.add(cmd)
	cmd.Flags().BoolVar(&c.detailedCodes, "detailed-exitcodes", false, "exit with 0 for no pending changes, 2 for changes, 4 for failures, 6 for both (default: 0, or 1 for failures)")
	return cmd
}

// add adds the flags that apply and plan have.
func (c *runCommand) add(cmd *cobra.Command) {
	c.sources.add(cmd)
	cmd.ValidArgsFunction = c.completeRef
	c.host.Add(cmd, c.Hosts)
	cmd.Flags().StringVarP(&c.selector, "selector", "l", "", "apply only resources with matching labels, such as tier=web,env!=dev")
	cmd.Flags().StringVar(&c.labels, "labels", "", "labels of this machine, such as role=web, for nodeSelector to match; without them, nodeSelector is ignored")
	c.output.AddText(cmd)
	cmd.Flags().BoolVar(&c.diff, "show-diff", c.diff, "show how contents of files change, except for secrets and Files with showDiff: false")
	flags.Duration(cmd, &c.wait, "wait-for-lock", 0, "how long to wait for another run on this host")
	cmd.Flags().BoolVar(&c.ignoreSchedules, "ignore-schedules", false, "apply resources outside of their schedules, too")
}

// addBucketLimit adds the flag for the size of the bucket to a command that writes to it.
func addBucketLimit(cmd *cobra.Command, limit *int64) {
	*limit = bucket.DefaultLimit
	cmd.Flags().Func("bucket-limit", "maximum size of the bucket for replaced files, such as 500Mi; the oldest are deleted first; 0 means no limit (default 1Gi)",
		func(text string) (err error) {
			*limit, err = bucket.ParseLimit(text)
			return err
		})
}
