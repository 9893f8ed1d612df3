package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/cli/job"
	"github.com/fettle-dev/fettle/internal/cli/objects"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/cli/selection"
	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/host/guard"
	"github.com/fettle-dev/fettle/internal/manifest"
	"github.com/fettle-dev/fettle/internal/resource"
)

// resourceFlags are the flags of resource.
type resourceFlags struct {
	provider string
	noop     bool
	output   string
	bucket   bucketFlags
	types    manifest.Types // that are installed
}

func (a *app) resource() *cobra.Command {
	var f resourceFlags
	cmd := &cobra.Command{
		Use:   "resource KIND [NAME] [ATTRIBUTE=VALUE ...]",
		Short: "Show the state of this host as resources that can be applied, or set a resource",
		Example: "  fettle resource user\n" +
			"  fettle resource file /etc/motd\n" +
			"  fettle resource group web ensure=present gid=1500",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("no kind: use one of %s", selection.KindNames(a.Kinds))
			}
			return nil
		},
		ValidArgsFunction: a.completeResource,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.OneOf("--output", f.output, "yaml", "json"); err != nil {
				return err
			}
			return a.withHost(func(h Host) error {
				kinds, types, err := a.installed(cmd.Context(), h, f.bucket.stateDir)
				if err != nil {
					return err
				}
				k, err := selection.Kind(kinds, args[0])
				if err != nil {
					return err
				}
				f.types = types
				return a.runResource(cmd.Context(), h, k, args[1:], f)
			})
		},
	}
	a.addBucket(cmd, &f.bucket)
	a.addTypes(cmd)
	cmd.Flags().StringVar(&f.provider, "provider", "", "provider to use instead of the host's default")
	cmd.Flags().BoolVar(&f.noop, "noop", false, "report what setting would change, and change nothing")
	_ = cmd.RegisterFlagCompletionFunc("provider", a.completeProvider) // the flag was just added
	cmd.Flags().StringVarP(&f.output, "output", "o", "yaml", "yaml or json")
	flags.Complete(cmd, "output", "yaml", "json")
	return cmd
}

func (a *app) runResource(ctx context.Context, h Host, k resource.Kind, args []string, f resourceFlags) error {
	facts := a.gather(ctx, h)
	a.out.DebugProviders(k, facts, h)
	d := f.types.Of(k.Name())
	switch {
	case len(args) == 0:
		return a.listResources(ctx, h, k, facts, f)
	case len(args) == 1, d != nil && objects.Identifies(d, args[1:]):
		return a.showResource(ctx, h, k, facts, args, f)
	}
	err := a.withBucket(h, f.bucket, func(b *bucket.Bucket) error {
		return a.setResource(ctx, h, b, k, facts, args, f)
	})
	if err != nil || k.Describe().Namevar == resource.MetadataName { // such a resource is not on the host
		return err
	}
	if d == nil {
		args = args[:1]
	}
	identifying := slices.DeleteFunc(slices.Clone(args[1:]), func(w string) bool { return !objects.Identifies(d, []string{w}) })
	return a.showResource(ctx, h, k, facts, append(args[:1:1], identifying...), f)
}

// existing binds a resource that is only read.
func existing(ctx context.Context, k resource.Kind, args []string, f resourceFlags) (resource.Resource, error) {
	d := f.types.Of(k.Name())
	if d == nil {
		return k.Named(args[0])
	}
	raw, err := objects.Attributes(k, d, args[0], args[1:])
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", k.Name(), args[0], err)
	}
	return objects.Existing(ctx, f.types, k, itemOf(k, args[0], f), raw)
}

func itemOf(k resource.Kind, name string, f resourceFlags) resource.Item {
	return resource.Item{Ref: resource.Ref{Kind: k.Name(), Name: objects.Name(name)}, Provider: f.provider}
}

func (a *app) listResources(ctx context.Context, h Host, k resource.Kind, facts resource.Facts, f resourceFlags) error {
	all, err := k.Instances(ctx, facts, resource.Call{}.Reader(h), f.provider)
	if err != nil {
		return err
	}
	return a.printInstances(k, all, resource.Chosen(k, facts, h), f)
}

func (a *app) showResource(ctx context.Context, h Host, k resource.Kind, facts resource.Facts, args []string, f resourceFlags) error {
	r, err := existing(ctx, k, args, f)
	if err != nil {
		return err
	}
	if err := r.Choose(facts, h, f.provider); err != nil {
		return err
	}
	// The bucket knows which contents are secret.
	err = a.withBucket(h, f.bucket, func(b *bucket.Bucket) error { return r.Read(ctx, resource.Call{Bucket: b}.Reader(h)) })
	if err != nil {
		return fmt.Errorf("cannot read %s %s: %w", k.Name(), args[0], err)
	}
	return a.printInstances(k, []resource.Instance{r.State()}, resource.Chosen(k, facts, h), f)
}

// setResource applies a single resource.
func (a *app) setResource(ctx context.Context, h Host, b *bucket.Bucket, k resource.Kind, facts resource.Facts, args []string, f resourceFlags) error {
	raw, err := objects.Attributes(k, f.types.Of(k.Name()), args[0], args[1:])
	if err != nil {
		return err
	}
	item := itemOf(k, args[0], f)
	if item.Resource, err = objects.Bind(ctx, f.types, k, item, raw); err != nil {
		return err
	}
	t := engine.Transaction{
		Host: h, Guard: guard.Options{Own: a.own(h, f.bucket), Access: true}, Bucket: b, Facts: facts, Noop: f.noop, Now: time.Now, Trace: a.out.Tracer(),
		Observe: func(r report.ResourceReport) { // stdout is for the resource
			for _, line := range r.Lines() {
				a.out.WarnIn(output.StateColor(r.State), "%s", line)
			}
		},
	}
	var current job.Current
	t.Begin = current.Begin
	defer current.AnnounceStop(ctx, a.out)()
	result, err := t.Run(ctx, []resource.Item{item})
	if err == nil && result.Counts.Failed > 0 {
		err = Exit(1)
	}
	return err
}

// printInstances prints objects that can be applied: documents in YAML, one object or a List in JSON.
func (a *app) printInstances(k resource.Kind, all []resource.Instance, defaultProvider string, f resourceFlags) error {
	list := objects.NewList()
	var omitted error
	for _, i := range all {
		if i.Lossy {
			a.out.Warn("omitted %s %s: it has text that is not UTF-8, which no manifest can contain", k.Name(), i.Namevar)
			omitted = Exit(1)
			continue
		}
		o, err := objects.New(k, i, defaultProvider)
		if err != nil {
			return err
		}
		list.Items = append(list.Items, o)
	}
	if f.output == "json" && len(all) != 1 {
		return cmp.Or(a.out.Encode(list, f.output), omitted)
	}
	for n, o := range list.Items {
		if n > 0 {
			a.out.Print("---")
		}
		if err := a.out.Encode(o, f.output); err != nil {
			return err
		}
	}
	return omitted
}
