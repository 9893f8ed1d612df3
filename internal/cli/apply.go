package cli

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/hostrun"
	"github.com/fettle-dev/fettle/internal/source"
)

// applyFlags are those of apply and plan.
type applyFlags struct {
	sources       source.Request
	names         []string // Kind/name of the resources to apply; none for all
	noop, diff    bool
	planned       bool // only show what would change
	anyTime       bool
	selector      string
	labels        string
	output        string
	detailedCodes bool
	kept          bucketFlags

	watch       bool
	interval    time.Duration
	limit, wait time.Duration
	before      string
	after       string
}

// defaultInterval is Puppet's.
const defaultInterval = 30 * time.Minute

const applyExample = `  # Bring this machine to what a directory of manifests says.
  fettle apply -f manifests/

  # See what would change in a directory that holds a root file system.
  fettle apply -f web.yaml --noop --root /srv/images/web

  # In a script: 0 nothing to do, 2 changed, 4 failures, 6 both.
  fettle apply -f - --detailed-exitcodes -o json < web.yaml

  # One resource of many; the others are skipped.
  fettle apply -R -f manifests/ File/motd

  # Stay, and correct drift as it happens.
  fettle apply -f manifests/ --watch

  # Keep /etc under version control with etckeeper.
  fettle apply -f manifests/ --prerun-command "etckeeper pre-install" --postrun-command "etckeeper post-install"`

const planExample = `  fettle plan -f manifests/

  # A kustomization, and one resource of it.
  fettle plan -k overlays/web File/motd

  # Fail a pipeline when a machine differs from its manifests.
  fettle plan -f https://git.example.com/web.yaml --detailed-exitcodes`

func (a *app) apply() *cobra.Command {
	var f applyFlags
	cmd := &cobra.Command{
		Use:   "apply " + useSources + " [KIND/NAME ...]",
		Short: "Bring this machine to what resources say",
		Long: "apply brings this machine, or a directory that holds one, to what resources say, once. With --watch it\n" +
			"stays: it looks at everything from time to time, and at once when something changes that a resource\n" +
			"watches. The manifests are read at the start alone. It ends with the exit code of its last run.",
		Example: applyExample,
		Args:    func(*cobra.Command, []string) error { return needSources(f.sources) },
		RunE:    func(cmd *cobra.Command, names []string) error { f.names = names; return a.runApply(cmd.Context(), f) },
	}
	a.addApplyFlags(cmd, &f)
	addBucketLimit(cmd, &f.kept.limit)
	cmd.Flags().BoolVar(&f.noop, "noop", false, "report what would change, and change nothing, where a resource does not say otherwise")
	cmd.Flags().BoolVar(&f.watch, "watch", false, "stay, and correct drift as it happens")
	cmd.Flags().DurationVar(&f.interval, "interval", defaultInterval, "with --watch: the time between runs when nothing happens")
	cmd.Flags().DurationVar(&f.limit, "run-timeout", hostrun.DefaultLimit, "stop a run that takes longer: the resource in hand is finished, the rest skipped, and the run failed; 0 never stops one")
	cmd.Flags().DurationVar(&f.wait, "wait-for-lock", 0, "how long to wait for another run on this host to end")
	cmd.Flags().StringVar(&f.before, "prerun-command", "", "command to run on the host before each run that is not --noop; if it fails there is no run")
	cmd.Flags().StringVar(&f.after, "postrun-command", "", "command to run on the host after each run that is not --noop; if it fails the run failed")
	cmd.Flags().BoolVar(&f.detailedCodes, "detailed-exitcodes", false, "exit 0 if there was no change, 2 with changes, 4 with failures, 6 with both (otherwise 0, or 1 with failures)")
	return cmd
}

func (a *app) plan() *cobra.Command {
	f := applyFlags{planned: true, noop: true, diff: true, limit: hostrun.DefaultLimit}
	cmd := &cobra.Command{
		Use:   "plan " + useSources + " [KIND/NAME ...]",
		Short: "Show what apply would change, with diffs",
		Long: "plan shows what apply would change, with diffs, and changes nothing. With --detailed-exitcodes its exit\n" +
			"code gates a pipeline, unlike that of apply --noop, which is Puppet's and is 0 when something would change.",
		Example: planExample,
		Args:    func(*cobra.Command, []string) error { return needSources(f.sources) },
		RunE:    func(cmd *cobra.Command, names []string) error { f.names = names; return a.runApply(cmd.Context(), f) },
	}
	a.addApplyFlags(cmd, &f)
	cmd.Flags().BoolVar(&f.detailedCodes, "detailed-exitcodes", false, "exit 0 if there is nothing to do, 2 with changes to make, 4 with failures, 6 with both (otherwise 0, or 1 with failures)")
	return cmd
}

func (a *app) addApplyFlags(cmd *cobra.Command, f *applyFlags) {
	addSources(cmd, &f.sources)
	cmd.ValidArgsFunction = a.completeRef(&f.sources)
	a.addStateDir(cmd, &f.kept.stateDir)
	cmd.Flags().StringVarP(&f.selector, "selector", "l", "", "apply only resources whose own labels match, as tier=web,env!=dev")
	cmd.Flags().StringVar(&f.labels, "labels", "", "labels of this machine that nodeSelector is matched against, as role=web; without them nodeSelector is ignored")
	cmd.Flags().StringVarP(&f.output, "output", "o", "text", "text, json or yaml")
	complete(cmd, "output", "text", "json", "yaml")
	cmd.Flags().BoolVar(&f.anyTime, "ignore-schedules", false, "look at resources even if their schedule says that this is not the time")
}

// machineLabels are those of --labels; nil if there are none.
func machineLabels(text string) (labels.Set, error) {
	if text == "" {
		return nil, nil
	}
	set, err := labels.ConvertSelectorToLabelsMap(text)
	if err != nil {
		return nil, fmt.Errorf("--labels %q: %w; write them as role=web,tier=front", text, err)
	}
	return set, nil
}

// appliesInNoop reports whether a resource is applied even in a run that only reports.
func appliesInNoop(r v1alpha1.Resource) bool {
	noop := r.GetTargeting().Noop
	return noop != nil && !*noop
}

// exitCode is Puppet's with --detailed-exitcodes, for which a run that only reports counts as
// one without changes. Of a plan it says what there is to do.
func exitCode(r engine.Report, f applyFlags) error {
	changes := r.Counts.Changed + r.Counts.Refreshed
	if f.planned {
		changes += r.Counts.Noop
	}
	code := 0
	if f.detailedCodes && changes > 0 {
		code |= 2
	}
	if r.Status == "failed" {
		code |= 4
	}
	switch {
	case code == 0:
		return nil
	case !f.detailedCodes:
		return Exit(1)
	}
	return Exit(code)
}

func oneOf(flag, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("%s %q is not one of %v", flag, value, allowed)
}
