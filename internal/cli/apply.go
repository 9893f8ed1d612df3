package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/hostrun"
	"github.com/fettle-dev/fettle/internal/source"
)

// applyFlags are the flags of apply and plan.
type applyFlags struct {
	sources         source.Request
	names           []string // Kind/name of the resources to apply; empty for all
	noop, diff      bool
	plan            bool // change nothing
	ignoreSchedules bool
	selector        string
	labels          string
	output          string
	detailedCodes   bool
	bucket          bucketFlags

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

const planExample = `  fettle plan -f manifests/

  # One resource of a kustomization.
  fettle plan -k overlays/web File/motd

  # Fail a pipeline when a machine differs from its manifests.
  fettle plan -f https://git.example.com/web.yaml --detailed-exitcodes`

func (a *app) apply() *cobra.Command {
	var f applyFlags
	cmd := &cobra.Command{
		Use:   "apply " + useSources + " [KIND/NAME ...]",
		Short: "Bring this machine to the state that resources describe",
		Long: "apply brings this machine, or a directory with a root file system, to the state that resources describe.\n" +
			"With --watch it keeps running: it applies the resources again at an interval, and as soon as something\n" +
			"changes that they watch. It reads the manifests only at the start, and exits with the code of its last run. A\n" +
			"terminal shows the progress of a run, and between runs what is in sync and what was corrected last.",
		Example: applyExample,
		Args:    func(*cobra.Command, []string) error { return needSources(f.sources) },
		RunE:    func(cmd *cobra.Command, names []string) error { f.names = names; return a.runApply(cmd.Context(), f) },
	}
	a.addApplyFlags(cmd, &f)
	addBucketLimit(cmd, &f.bucket.limit)
	cmd.Flags().BoolVar(&f.noop, "noop", false, "report what would change, and change nothing except resources with noop: false")
	cmd.Flags().BoolVar(&f.watch, "watch", false, "keep running, and correct drift as it happens")
	flags.Duration(cmd, &f.interval, "interval", defaultInterval, "with --watch: the time between runs without drift")
	flags.Duration(cmd, &f.limit, "run-timeout", hostrun.DefaultLimit, "stop a run that takes longer: it finishes the current resource, skips the rest, and fails; 0 means no limit")
	cmd.Flags().StringVar(&f.before, "prerun-command", "", "command to run on the host before each run without --noop; if it fails, there is no run")
	cmd.Flags().StringVar(&f.after, "postrun-command", "", "command to run on the host after each run without --noop; if it fails, the run fails")
	cmd.Flags().BoolVar(&f.detailedCodes, "detailed-exitcodes", false, "exit with 0 for no changes, 2 for changes, 4 for failures, 6 for both (default: 0, or 1 for failures)")
	return cmd
}

func (a *app) plan() *cobra.Command {
	f := applyFlags{plan: true, noop: true, diff: true, limit: hostrun.DefaultLimit}
	cmd := &cobra.Command{
		Use:   "plan " + useSources + " [KIND/NAME ...]",
		Short: "Show what apply would change, with diffs",
		Long: "plan shows what apply would change, with diffs, and changes nothing. With --detailed-exitcodes, pending\n" +
			"changes exit with 2, so that it can gate a pipeline. apply --noop exits with 0 for them, as Puppet does.",
		Example: planExample,
		Args:    func(*cobra.Command, []string) error { return needSources(f.sources) },
		RunE:    func(cmd *cobra.Command, names []string) error { f.names = names; return a.runApply(cmd.Context(), f) },
	}
	a.addApplyFlags(cmd, &f)
	cmd.Flags().BoolVar(&f.detailedCodes, "detailed-exitcodes", false, "exit with 0 for no pending changes, 2 for changes, 4 for failures, 6 for both (default: 0, or 1 for failures)")
	return cmd
}

func (a *app) addApplyFlags(cmd *cobra.Command, f *applyFlags) {
	a.addSources(cmd, &f.sources)
	cmd.ValidArgsFunction = a.completeRef(&f.sources)
	a.addStateDir(cmd, &f.bucket.stateDir)
	cmd.Flags().StringVarP(&f.selector, "selector", "l", "", "apply only resources with matching labels, such as tier=web,env!=dev")
	cmd.Flags().StringVar(&f.labels, "labels", "", "labels of this machine, such as role=web, for nodeSelector to match; without them, nodeSelector is ignored")
	cmd.Flags().StringVarP(&f.output, "output", "o", "text", "text, json or yaml")
	flags.Complete(cmd, "output", "text", "json", "yaml")
	cmd.Flags().BoolVar(&f.diff, "show-diff", f.diff, "show how contents of files change, except for secrets and Files with showDiff: false")
	flags.Duration(cmd, &f.wait, "wait-for-lock", 0, "how long to wait for another run on this host")
	cmd.Flags().BoolVar(&f.ignoreSchedules, "ignore-schedules", false, "apply resources outside of their schedules, too")
}
