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
	"github.com/fettle-dev/fettle/internal/cli/place"
	"github.com/fettle-dev/fettle/internal/cli/selection"
	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/host/guard"
	"github.com/fettle-dev/fettle/internal/manifest"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A resourceCommand is resource.
type resourceCommand struct {
	hostKinds
	output      flags.Output
	provider    string
	noop        bool
	bucketLimit int64
}

func newResource(s shared) *cobra.Command {
	c := resourceCommand{hostKinds: hostKinds{shared: s}}
	cmd := &cobra.Command{
		Use:   "resource KIND [NAME] [ATTRIBUTE=VALUE ...]",
		Short: "Show the state of this host as resources that can be applied, or set a resource",
		Example: "  fettle resource user\n" +
			"  fettle resource file /etc/motd\n" +
			"  fettle resource group web ensure=present gid=1500",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("no kind: use one of %s", selection.KindNames(s.Kinds))
			}
			return nil
		},
		ValidArgsFunction: c.completeResource,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0], args[1:]) },
	}
	c.host.Add(cmd, s.Hosts)
	addBucketLimit(cmd, &c.bucketLimit)
	c.types.add(cmd)
	cmd.Flags().StringVar(&c.provider, "provider", "", "provider to use instead of the host's default")
	cmd.Flags().BoolVar(&c.noop, "noop", false, "report what setting would change, and change nothing")
	_ = cmd.RegisterFlagCompletionFunc("provider", c.completeProvider) // the flag was just added
	c.output.Add(cmd, flags.YAML, flags.YAML, flags.JSON)
	return cmd
}

// A kindOnHost is a kind, and the host whose resources are of it.
type kindOnHost struct {
	resource.Kind
	types manifest.Types // that are installed
	at    place.Place
	host  place.Host
	facts resource.Facts
}

func (c *resourceCommand) run(ctx context.Context, kind string, args []string) error {
	return c.withHost(c.host, func(at place.Place, h place.Host) error {
		kinds, types, err := c.installedKinds(ctx, c.types, at, h)
		if err != nil {
			return err
		}
		k, err := selection.Kind(kinds, kind)
		if err != nil {
			return err
		}
		facts := c.gather(ctx, h)
		c.out.DebugProviders(k, facts, h)
		return c.runKind(ctx, kindOnHost{k, types, at, h, facts}, args)
	})
}

// runKind lists, shows or sets resources of a kind.
func (c *resourceCommand) runKind(ctx context.Context, k kindOnHost, args []string) error {
	d := k.types.Of(k.Name())
	switch {
	case len(args) == 0:
		return c.list(ctx, k)
	case len(args) == 1, d != nil && objects.Identifies(d, args[1:]):
		return c.show(ctx, k, args)
	}
	err := c.withBucket(k.at, k.host, c.bucketLimit, func(b *bucket.Bucket) error { return c.set(ctx, k, b, args) })
	if err != nil || k.Describe().Namevar == resource.MetadataName { // such a resource is not on the host
		return err
	}
	if d == nil {
		args = args[:1]
	}
	identifying := slices.DeleteFunc(slices.Clone(args[1:]), func(w string) bool { return !objects.Identifies(d, []string{w}) })
	return c.show(ctx, k, append(args[:1:1], identifying...))
}

func (c *resourceCommand) list(ctx context.Context, k kindOnHost) error {
	all, err := k.Instances(ctx, k.facts, resource.Call{}.Reader(k.host), c.provider)
	if err != nil {
		return err
	}
	return c.print(k, all)
}

func (c *resourceCommand) show(ctx context.Context, k kindOnHost, args []string) error {
	r, err := c.existing(ctx, k, args)
	if err != nil {
		return err
	}
	if err := r.Choose(k.facts, k.host, c.provider); err != nil {
		return err
	}
	// The bucket knows which contents are secret.
	err = c.withBucket(k.at, k.host, c.bucketLimit, func(b *bucket.Bucket) error { return r.Read(ctx, resource.Call{Bucket: b}.Reader(k.host)) })
	if err != nil {
		return fmt.Errorf("cannot read %s %s: %w", k.Name(), args[0], err)
	}
	return c.print(k, []resource.Instance{r.State()})
}

// existing binds a resource that is only read.
func (c *resourceCommand) existing(ctx context.Context, k kindOnHost, args []string) (resource.Resource, error) {
	d := k.types.Of(k.Name())
	if d == nil {
		return k.Named(args[0])
	}
	raw, err := objects.Attributes(k.Kind, d, args[0], args[1:])
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", k.Name(), args[0], err)
	}
	return objects.Existing(ctx, k.types, k.Kind, c.item(k, args[0]), raw)
}

// item returns the item of a resource with a name.
func (c *resourceCommand) item(k kindOnHost, name string) resource.Item {
	return resource.Item{Ref: resource.Ref{Kind: k.Name(), Name: objects.Name(name)}, Provider: c.provider}
}

// set applies a single resource.
func (c *resourceCommand) set(ctx context.Context, k kindOnHost, b *bucket.Bucket, args []string) error {
	raw, err := objects.Attributes(k.Kind, k.types.Of(k.Name()), args[0], args[1:])
	if err != nil {
		return err
	}
	item := c.item(k, args[0])
	if item.Resource, err = objects.Bind(ctx, k.types, k.Kind, item, raw); err != nil {
		return err
	}
	t := engine.Transaction{
		Host: k.host, Guard: guard.Options{Own: ownFiles(k.at, k.host), Access: true}, Bucket: b, Facts: k.facts, Noop: c.noop, Now: time.Now, Trace: c.out.Tracer(),
		Observe: func(r report.ResourceReport) { // stdout is for the resource
			for _, line := range r.Lines() {
				c.out.WarnIn(output.StateColor(r.State), "%s", line)
			}
		},
	}
	var current job.Current
	t.Begin = current.Begin
	defer current.AnnounceStop(ctx, c.out)()
	result, err := t.Run(ctx, []resource.Item{item})
	if err == nil && result.Counts.Failed > 0 {
		err = output.Exit(1)
	}
	return err
}

// print prints objects that can be applied: documents in YAML, one object or a List in JSON.
func (c *resourceCommand) print(k kindOnHost, all []resource.Instance) error {
	byDefault := resource.Chosen(k.Kind, k.facts, k.host)
	list := objects.NewList()
	var omitted error
	for _, i := range all {
		if i.Lossy {
			c.out.Warn("omitted %s %s: it has text that is not UTF-8, which no manifest can contain", k.Name(), i.Namevar)
			omitted = output.Exit(1)
			continue
		}
		o, err := objects.New(k.Kind, i, byDefault)
		if err != nil {
			return err
		}
		list.Items = append(list.Items, o)
	}
	if c.output.Is(flags.JSON) && len(all) != 1 {
		return cmp.Or(c.out.Encode(list, flags.JSON), omitted)
	}
	for n, o := range list.Items {
		if n > 0 {
			c.out.Print("---")
		}
		if err := c.out.Encode(o, c.output.String()); err != nil {
			return err
		}
	}
	return omitted
}
