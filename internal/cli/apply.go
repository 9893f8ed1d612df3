package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/manifest"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/state"
	"github.com/fettle-dev/fettle/nodeagent/engine"
)

// applyFlags are those of apply and plan.
type applyFlags struct {
	files         []string
	noop, diff    bool
	selector      string
	labels        string
	output        string
	detailedCodes bool
	stateDir      string
}

const applyExample = `  # Bring this machine to what a directory of manifests says.
  fettle apply -f manifests/

  # See what would change in a directory that holds a root file system.
  fettle apply -f web.yaml --noop --root /srv/images/web

  # In a script: 0 nothing to do, 2 changed, 4 failures, 6 both.
  fettle apply -f - --detailed-exitcodes -o json < web.yaml`

func (a *app) apply() *cobra.Command {
	var f applyFlags
	cmd := &cobra.Command{
		Use:     "apply -f FILE|DIR|-",
		Short:   "Bring this machine to what resources say",
		Example: applyExample,
		Args:    onlyFiles(&f.files),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.runApply(cmd.Context(), f) },
	}
	a.addApplyFlags(cmd, &f)
	cmd.Flags().BoolVar(&f.noop, "noop", false, "report what would change, and change nothing, where a resource does not say otherwise")
	cmd.Flags().BoolVar(&f.detailedCodes, "detailed-exitcodes", false, "exit 0 if there was no change, 2 with changes, 4 with failures, 6 with both (otherwise 0, or 1 with failures)")
	return cmd
}

func (a *app) plan() *cobra.Command {
	f := applyFlags{noop: true, diff: true}
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
	a.addRoot(cmd)
	cmd.Flags().StringVarP(&f.selector, "selector", "l", "", "apply only resources whose own labels match, as tier=web,env!=dev")
	cmd.Flags().StringVar(&f.labels, "labels", "", "labels of this machine that nodeSelector is matched against, as role=web; without them nodeSelector is ignored")
	cmd.Flags().StringVarP(&f.output, "output", "o", "text", "text, json or yaml")
	cmd.Flags().StringVar(&f.stateDir, "state-dir", "", "directory for what is remembered between runs (default /var/lib/fettle under the root)")
}

func addFiles(cmd *cobra.Command, files *[]string) {
	cmd.Flags().StringSliceVarP(files, "filename", "f", nil, "file or directory of manifests, or - for stdin; may be repeated")
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

func (a *app) runApply(ctx context.Context, f applyFlags) error {
	if err := oneOf("--output", f.output, "text", "json", "yaml"); err != nil {
		return err
	}
	selector, err := labels.Parse(f.selector)
	if err != nil {
		return fmt.Errorf("--selector %q: %w", f.selector, err)
	}
	machine, err := machineLabels(f.labels)
	if err != nil {
		return err
	}
	set, err := manifest.Read(f.files, a.In)
	if err != nil {
		return err
	}
	a.noteIgnored(set)
	return a.withHost(func(h Host) error {
		store, err := a.openStore(f, set)
		if err != nil {
			return err
		}
		report, err := a.transact(ctx, h, f, machine, set, selector, store)
		err = errors.Join(err, store.Close())
		if printErr := a.printReport(report, f); printErr != nil || err != nil {
			return errors.Join(err, printErr)
		}
		if ctx.Err() != nil {
			return errors.New("stopped by a signal before the end; run it again")
		}
		return exitCode(report, f.detailedCodes)
	})
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

// openStore opens what is remembered between runs. A run that only reports makes and
// changes nothing there.
func (a *app) openStore(f applyFlags, set *manifest.Set) (*state.Store, error) {
	dir := f.stateDir
	if dir == "" {
		var err error
		if dir, err = state.DirOf(a.root, state.DefaultDir); err != nil {
			return nil, err
		}
	}
	open := state.Open
	if f.noop && !slices.ContainsFunc(set.Resources(), appliesInNoop) {
		open = state.OpenReadOnly
	}
	store, err := open(dir, state.Options{})
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w; run fettle as root, or give a --state-dir of your own", err)
	}
	return store, err
}

// transact compiles the manifests for this machine and applies them once.
func (a *app) transact(ctx context.Context, h Host, f applyFlags, machine labels.Set, set *manifest.Set, selector labels.Selector, store engine.Store) (engine.Report, error) {
	facts := a.gather(ctx, h)
	hostname := facts.String("networking.hostname")
	items, digest, problems := catalog.Prepare(catalog.Input{
		Nodes:     []catalog.Node{{Name: hostname, Labels: machine, Facts: facts}},
		Resources: set.Resources(),
		Kinds:     a.Kinds,
		ConfigMap: set.ConfigMap,
	})
	label(items, set)
	t := engine.Transaction{
		Host: h, Facts: facts, Kinds: a.Kinds, HostName: hostname, Digest: digest, Noop: f.noop, Store: store, Now: time.Now,
		Refused: refused(problems),
	}
	if !selector.Empty() {
		t.Selected = func(i resource.Item) bool { return selector.Matches(labels.Set(i.Labels)) }
	}
	if f.output == "text" {
		t.Observe = func(r engine.ResourceReport) { a.printResource(r, f.diff) }
	}
	return t.Run(ctx, items)
}

// label gives each item the labels of its manifest.
func label(items []resource.Item, set *manifest.Set) {
	byRef := map[resource.Ref]map[string]string{}
	for _, r := range set.Resources() {
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
	if r.Counts.Failed > 0 {
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
