package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/manifest"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/source"
)

// resourceFlags are those of resource.
type resourceFlags struct {
	provider string
	noop     bool
	output   string
	kept     bucketFlags
}

func (a *app) resource() *cobra.Command {
	var f resourceFlags
	cmd := &cobra.Command{
		Use:   "resource KIND [NAME] [ATTRIBUTE=VALUE ...]",
		Short: "Show what is on this host as resources that can be applied again, or set one",
		Example: "  fettle resource user\n" +
			"  fettle resource file /etc/motd\n" +
			"  fettle resource group web ensure=present gid=1500",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("no kind: give one of %s", kindNames(a.Kinds))
			}
			return nil
		},
		ValidArgsFunction: a.completeResource,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf("--output", f.output, "yaml", "json"); err != nil {
				return err
			}
			k, err := a.kind(args[0])
			if err != nil {
				return err
			}
			return a.withHost(func(h Host) error { return a.runResource(cmd.Context(), h, k, args[1:], f) })
		},
	}
	a.addBucket(cmd, &f.kept)
	cmd.Flags().StringVar(&f.provider, "provider", "", "provider to use instead of the host's default")
	cmd.Flags().BoolVar(&f.noop, "noop", false, "when setting: report what would change, and change nothing")
	_ = cmd.RegisterFlagCompletionFunc("provider", a.completeProvider) // the flag was just added
	cmd.Flags().StringVarP(&f.output, "output", "o", "yaml", "yaml or json")
	complete(cmd, "output", "yaml", "json")
	return cmd
}

func (a *app) runResource(ctx context.Context, h Host, k resource.Kind, args []string, f resourceFlags) error {
	facts := a.gather(ctx, h)
	a.debugKind(k, facts, h)
	switch len(args) {
	case 0:
		return a.listResources(ctx, h, k, facts, f)
	case 1:
		return a.showResource(ctx, h, k, facts, args[0], f)
	}
	err := a.withBucket(h, f.kept, func(b *bucket.Bucket) error {
		return a.setResource(ctx, h, b, k, facts, args, f)
	})
	if err != nil || k.Describe().Namevar == resource.MetadataName { // no host has such a name to show
		return err
	}
	return a.showResource(ctx, h, k, facts, args[0], f)
}

func (a *app) listResources(ctx context.Context, h Host, k resource.Kind, facts resource.Facts, f resourceFlags) error {
	all, err := k.Instances(ctx, facts, resource.Call{}.Reader(h), f.provider)
	if err != nil {
		return err
	}
	return a.printInstances(k, all, resource.Chosen(k, facts, h), f)
}

func (a *app) showResource(ctx context.Context, h Host, k resource.Kind, facts resource.Facts, name string, f resourceFlags) error {
	r, err := k.Named(name)
	if err != nil {
		return err
	}
	if err := r.Choose(facts, h, f.provider); err != nil {
		return err
	}
	// The bucket knows which content is a secret.
	err = a.withBucket(h, f.kept, func(b *bucket.Bucket) error { return r.Read(ctx, resource.Call{Bucket: b}.Reader(h)) })
	if err != nil {
		return fmt.Errorf("cannot read %s %s: %w", k.Name(), name, err)
	}
	return a.printInstances(k, []resource.Instance{r.State()}, resource.Chosen(k, facts, h), f)
}

// setResource applies a catalog of one.
func (a *app) setResource(ctx context.Context, h Host, b *bucket.Bucket, k resource.Kind, facts resource.Facts, args []string, f resourceFlags) error {
	raw, err := attributes(k, args[0], args[1:])
	if err != nil {
		return err
	}
	item := resource.Item{Ref: resource.Ref{Kind: k.Name(), Name: objectName(args[0])}, Provider: f.provider}
	if item.Resource, err = k.Bind(item.Ref, raw); err != nil {
		return err
	}
	if err := checkOne(ctx, item, raw); err != nil {
		return err
	}
	t := engine.Transaction{
		Host: h, Bucket: b, Facts: facts, Noop: f.noop, Now: time.Now, Trace: a.trace(),
		Observe: func(r engine.ResourceReport) { // stdout is for the state
			for _, line := range r.Lines() {
				a.complainIn(stateColors[r.State], "%s", line)
			}
		},
	}
	var hand inHand
	t.Begin = hand.begin
	defer a.announceStop(ctx, &hand)()
	report, err := t.Run(ctx, []resource.Item{item})
	if err == nil && report.Counts.Failed > 0 {
		err = Exit(1)
	}
	return err
}

// checkOne refuses attributes that a manifest could not have. Kinds that the API lacks have
// none.
func checkOne(ctx context.Context, item resource.Item, attributes json.RawMessage) error {
	if v1alpha1.NewResource(item.Ref.Kind) == nil {
		return nil
	}
	o := object{APIVersion: v1alpha1.GroupVersion.String(), Kind: item.Ref.Kind, Metadata: map[string]any{"name": item.Ref.Name}}
	if err := json.Unmarshal(attributes, &o.Spec); err != nil {
		return err
	}
	o.Spec["nodeSelector"] = map[string]any{}
	if item.Provider != "" {
		o.Spec["provider"] = item.Provider
	}
	raw, err := json.Marshal(o)
	if err != nil {
		return err
	}
	read := func(context.Context) ([]byte, error) { return raw, nil }
	var errs []error
	for _, f := range manifest.Read(ctx, []source.Source{{Name: item.Ref.String(), Read: read}}, nil).Faults {
		errs = append(errs, fmt.Errorf("%s: %s", item.Ref, strings.TrimPrefix(f.Message, "spec.")))
	}
	return errors.Join(errs...)
}

// attributes turns ATTRIBUTE=VALUE words into JSON.
func attributes(k resource.Kind, name string, words []string) (json.RawMessage, error) {
	namevar := k.Describe().Namevar
	all := map[string]any{namevar: name}
	delete(all, resource.MetadataName) // no attribute: the resource's own name is it
	for _, w := range words {
		attribute, text, ok := strings.Cut(w, "=")
		if !ok {
			return nil, fmt.Errorf("%q is not ATTRIBUTE=VALUE", w)
		}
		v, err := value(k, attribute, text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w, err)
		}
		all[attribute] = v
	}
	return json.Marshal(all)
}

// value is the first reading of a text whose type is the attribute's: as a number, a
// boolean or a [list] in YAML, as it is, or as words between commas. An attribute
// that the kind lacks has any type: binding all of them tells which there are.
func value(k resource.Kind, attribute, text string) (any, error) {
	var first error
	for _, v := range readings(text) {
		raw, err := json.Marshal(map[string]any{attribute: v})
		if err != nil {
			return nil, err
		}
		_, err = k.Bind(resource.Ref{Kind: k.Name()}, raw)
		if _, mistyped := errors.AsType[*json.UnmarshalTypeError](err); !mistyped {
			return v, nil
		}
		if first == nil {
			first = manifest.Explain(err)
		}
	}
	return nil, first
}

func readings(text string) []any {
	words := []string{}
	if text != "" {
		words = strings.Split(text, ",")
	}
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err == nil {
		switch v.(type) {
		case float64, int64, bool, []any:
			return []any{v, text, words}
		}
	}
	return []any{text, words}
}

// object is what apply takes.
type object struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata"`
	Spec       map[string]any `json:"spec"`
}

// objects is a list of them.
type objects struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Items      []object `json:"items"`
}

// newObject makes an object of an instance, without its sensitive attributes: what is
// printed is kept in files and logs. It names a provider that is not the usual one.
func newObject(k resource.Kind, i resource.Instance, usual string) (object, error) {
	o := object{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: k.Name(),
		Metadata: map[string]any{"name": objectName(i.Namevar)},
	}
	if err := json.Unmarshal(i.Attributes, &o.Spec); err != nil {
		return o, err
	}
	o.Spec["nodeSelector"] = map[string]any{}
	if i.Provider != usual {
		o.Spec["provider"] = i.Provider
	}
	for _, at := range k.Describe().Attributes {
		if at.Sensitive {
			delete(o.Spec, at.Name)
		}
	}
	return o, nil
}

// printInstances prints what apply takes: documents in YAML, one object or a List in
// JSON.
func (a *app) printInstances(k resource.Kind, all []resource.Instance, usual string, f resourceFlags) error {
	list := objects{APIVersion: "v1", Kind: "List", Items: []object{}}
	var left error
	for _, i := range all {
		if i.Lossy {
			a.complain("%s %s was left out: it has text that is not UTF-8, which no manifest can hold", k.Name(), i.Namevar)
			left = Exit(1)
			continue
		}
		o, err := newObject(k, i, usual)
		if err != nil {
			return err
		}
		list.Items = append(list.Items, o)
	}
	if f.output == "json" && len(all) != 1 {
		return cmp.Or(a.encode(list, f.output), left)
	}
	for n, o := range list.Items {
		if n > 0 {
			a.say("---")
		}
		if err := a.encode(o, f.output); err != nil {
			return err
		}
	}
	return left
}
