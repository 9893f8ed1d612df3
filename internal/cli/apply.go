package cli

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/control"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/nodeagent/engine"
)

// applyFlags are those of apply and plan.
type applyFlags struct {
	files         []string
	noop, diff    bool
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

  # Stay, and correct drift as it happens.
  fettle apply -f manifests/ --watch

  # Keep /etc under version control with etckeeper.
  fettle apply -f manifests/ --prerun-command "etckeeper pre-install" --postrun-command "etckeeper post-install"`

func (a *app) apply() *cobra.Command {
	var f applyFlags
	cmd := &cobra.Command{
		Use:   "apply -f FILE|DIR|-",
		Short: "Bring this machine to what resources say",
		Long: "apply brings this machine, or a directory that holds one, to what resources say, once. With --watch it\n" +
			"stays: it looks at everything from time to time, and at once when something changes that a resource\n" +
			"watches. The manifests are read at the start alone. It ends with the exit code of its last run.",
		Example: applyExample,
		Args:    onlyFiles(&f.files),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.runApply(cmd.Context(), f) },
	}
	a.addApplyFlags(cmd, &f)
	addBucketLimit(cmd, &f.kept.limit)
	cmd.Flags().BoolVar(&f.noop, "noop", false, "report what would change, and change nothing, where a resource does not say otherwise")
	cmd.Flags().BoolVar(&f.watch, "watch", false, "stay, and correct drift as it happens")
	cmd.Flags().DurationVar(&f.interval, "interval", defaultInterval, "with --watch: the time between runs when nothing happens")
	cmd.Flags().DurationVar(&f.limit, "run-timeout", control.DefaultLimit, "stop a run that takes longer: the resource in hand is finished, the rest skipped, and the run failed; 0 never stops one")
	cmd.Flags().DurationVar(&f.wait, "wait-for-lock", 0, "how long to wait for another run on this host to end")
	cmd.Flags().StringVar(&f.before, "prerun-command", "", "command to run on the host before each run that is not --noop; if it fails there is no run")
	cmd.Flags().StringVar(&f.after, "postrun-command", "", "command to run on the host after each run that is not --noop; if it fails the run failed")
	cmd.Flags().BoolVar(&f.detailedCodes, "detailed-exitcodes", false, "exit 0 if there was no change, 2 with changes, 4 with failures, 6 with both (otherwise 0, or 1 with failures)")
	return cmd
}

func (a *app) plan() *cobra.Command {
	f := applyFlags{noop: true, diff: true, limit: control.DefaultLimit}
	cmd := &cobra.Command{
		Use:     "plan -f FILE|DIR|-",
		Short:   "Show what apply would change, with diffs",
		Example: "  fettle plan -f manifests/",
		Args:    onlyFiles(&f.files),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.runApply(cmd.Context(), f) },
	}
	a.addApplyFlags(cmd, &f)
	return cmd
}

func (a *app) addApplyFlags(cmd *cobra.Command, f *applyFlags) {
	addFiles(cmd, &f.files)
	a.addStateDir(cmd, &f.kept.stateDir)
	cmd.Flags().StringVarP(&f.selector, "selector", "l", "", "apply only resources whose own labels match, as tier=web,env!=dev")
	cmd.Flags().StringVar(&f.labels, "labels", "", "labels of this machine that nodeSelector is matched against, as role=web; without them nodeSelector is ignored")
	cmd.Flags().StringVarP(&f.output, "output", "o", "text", "text, json or yaml")
	complete(cmd, "output", "text", "json", "yaml")
	cmd.Flags().BoolVar(&f.anyTime, "ignore-schedules", false, "look at resources even if their schedule says that this is not the time")
}

func addFiles(cmd *cobra.Command, files *[]string) {
	cmd.Flags().StringSliceVarP(files, "filename", "f", nil, "file or directory of manifests, or - for stdin; may be repeated")
	_ = cmd.MarkFlagFilename("filename", "yaml", "yml", "json") // it was just added
	cmd.ValidArgsFunction = cobra.NoFileCompletions
}

// onlyFiles refuses a call without files, and words that are no flags.
func onlyFiles(files *[]string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return fmt.Errorf("%q is neither flag nor file: give each file as -f FILE", args[0])
		}
		if len(*files) == 0 {
			return errors.New("no manifests: give -f FILE, -f DIR or, for stdin, -f -")
		}
		return nil
	}
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

// label gives each item the labels of its manifest.
func label(items []resource.Item, resources []v1alpha1.Resource) {
	byRef := map[resource.Ref]map[string]string{}
	for _, r := range resources {
		byRef[resource.Ref{Kind: r.KindName(), Name: r.GetName()}] = r.GetLabels()
	}
	for i := range items {
		items[i].Labels = byRef[items[i].Ref]
	}
}

// exitCode is Puppet's with --detailed-exitcodes. A run that only reports counts as
// one without changes.
func exitCode(r engine.Report, detailed bool) error {
	code := 0
	if detailed && r.Counts.Changed+r.Counts.Refreshed > 0 {
		code |= 2
	}
	if r.Status == "failed" {
		code |= 4
	}
	switch {
	case code == 0:
		return nil
	case !detailed:
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
