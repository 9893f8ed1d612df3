package reportsapi

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fettle-dev/fettle/api/reports/v1alpha1"
	fettle "github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/planning"
	"github.com/fettle-dev/fettle/internal/manifest"
	"github.com/fettle-dev/fettle/internal/source"
)

// maxFaults is the number of faults of manifests in an error.
const maxFaults = 20

// Limits of the manifests of a plan.
const (
	maxObjects = 10_000
	// maxBytes is the size of manifests with the aliases of YAML written out, and maxEntries how many entries their lists and maps
	// have: 10,000 ordinary objects have half of these.
	maxBytes   = 2 * v1alpha1.MaxPlanBytes
	maxEntries = 500_000
	// maxEntriesOfObject is far more than any object has that is not hostile.
	maxEntriesOfObject = 10_000
	// maxText is the length of the selector, which is compared with all resources, and of the name of a manifest, which is repeated
	// with each object.
	maxText = 4 << 10
	// maxConfigMaps is the number of ConfigMaps among the manifests, and of others that they refer to. The API server is asked
	// about the rights to each.
	maxConfigMaps = 100
)

// A readableChange is a change that a caller may plan.
type readableChange struct {
	planning.Change
	// onlyPlanned means that the caller may not make some part of the change.
	onlyPlanned bool
}

// readChange reads and checks the change of a plan, in the order of what that takes: what the manifests are about, whether the caller
// may plan that, and what they say. The error is shown to the caller. notes are about manifests that are not part of it.
func readChange(ctx context.Context, caller rights, base *planning.Base, spec v1alpha1.PlanSpec) (c readableChange, notes []string, err error) {
	if err := checkSpec(spec); err != nil {
		return c, nil, err
	}
	selector, err := labels.Parse(spec.Selector)
	if err != nil {
		return c, nil, apierrors.NewBadRequest(fmt.Sprintf("spec.selector %q: %v", spec.Selector, err))
	}
	objects, notes, err := outline(ctx, base, spec.Manifests)
	if err != nil {
		return c, nil, err
	}
	permit := permits{rights: caller, base: base}
	planned, err := permit.objects(ctx, objects)
	if err != nil {
		return c, nil, err
	}
	set := typesOf(ctx, base).Validate(ctx, objects)
	if err := cmp.Or(ctx.Err(), explain(set.Faults)); err != nil {
		return c, nil, err
	}
	c.Change = planning.Change{
		Put: set.Resources(), ConfigMaps: map[types.NamespacedName]map[string]string{}, Unread: planned,
		Removes: func(r fettle.Resource) bool { return spec.Prune && selector.Matches(labels.Set(r.GetLabels())) },
	}
	for _, m := range set.ConfigMaps {
		c.ConfigMaps[types.NamespacedName{Namespace: m.Namespace, Name: m.Name}] = m.Data
	}
	c.onlyPlanned, err = permit.rest(ctx, c.Change)
	return c, notes, err
}

// checkSpec checks what is not part of the manifests.
func checkSpec(spec v1alpha1.PlanSpec) error {
	switch {
	case spec.Sample < 0:
		return apierrors.NewBadRequest(fmt.Sprintf("spec.sample %d is negative: use 0 to ask all nodes", spec.Sample))
	case len(spec.Selector) > maxText:
		return apierrors.NewBadRequest(fmt.Sprintf("spec.selector has more than %d bytes: use a label that all of the resources have", maxText))
	}
	for i, m := range spec.Manifests {
		if len(m.Name) > maxText {
			return apierrors.NewBadRequest(fmt.Sprintf("spec.manifests[%d].name has more than %d bytes: use a shorter one", i, maxText))
		}
	}
	return nil
}

// outline returns what manifests are about, as far as it can be planned.
func outline(ctx context.Context, base *planning.Base, manifests []v1alpha1.PlanManifest) (objects []manifest.Object, notes []string, err error) {
	var sources []source.Source
	for _, m := range manifests {
		sources = append(sources, source.Source{Name: m.Name, Read: func(context.Context) ([]byte, error) { return []byte(m.Text), nil }})
	}
	all, faults, err := manifest.Outline(ctx, sources, manifest.Limits{Objects: maxObjects, EntriesOfObject: maxEntriesOfObject, Bytes: maxBytes, Entries: maxEntries})
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	if err != nil {
		return nil, nil, tooLarge(err)
	}
	if err := explain(faults); err != nil {
		return nil, nil, err
	}
	for _, o := range all {
		if why := notPlanned(base, o); why != "" {
			notes = append(notes, why)
		} else {
			objects = append(objects, o)
		}
	}
	if more := len(notes) - v1alpha1.MaxPlanChanges; more > 0 {
		notes = append(notes[:v1alpha1.MaxPlanChanges], fmt.Sprintf("and %d more objects are not part of the plan", more))
	}
	return objects, notes, nil
}

// notPlanned returns why an object is not part of a plan; "" if it is. Types are among these: their resources can be planned once the
// cluster has them, and so nobody has the manager compile one.
func notPlanned(base *planning.Base, o manifest.Object) string {
	if o.APIVersion == corev1.SchemeGroupVersion.String() {
		return coreNotPlanned(o)
	}
	switch group, _, _ := strings.Cut(o.APIVersion, "/"); {
	case group == fettle.ExternalGroupVersion.Group && typeOf(base, o.Kind) == nil:
		return fmt.Sprintf("%s is not part of the plan: no ExternalType of the cluster defines its kind", o)
	case group == fettle.ExternalGroupVersion.Group:
		return ""
	case group != fettle.GroupVersion.Group:
		return o.String() + " is not of fettle.dev"
	case o.Kind == "ExternalType":
		return fmt.Sprintf("ExternalType %s is not part of the plan: apply it first", o.Name)
	case o.Kind == "RolloutPolicy":
		return fmt.Sprintf("RolloutPolicy %s is not part of the plan: name its file with --policy", o.Name)
	}
	return ""
}

// coreNotPlanned is notPlanned for an object of the API v1.
func coreNotPlanned(o manifest.Object) string {
	switch {
	case o.Kind == "Secret":
		return "a Secret is not part of the plan, and neither are values from Secrets"
	case o.Kind != "ConfigMap":
		return o.String() + " is not of fettle.dev"
	case o.Namespace == "":
		return fmt.Sprintf("ConfigMap %s has no namespace: it is not part of the plan", o.Name)
	}
	return ""
}

// explain returns an error with faults; nil if there are none.
func explain(faults []manifest.Fault) error {
	if len(faults) == 0 {
		return nil
	}
	var lines []string
	for _, f := range faults[:min(len(faults), maxFaults)] {
		lines = append(lines, f.Error())
	}
	if more := len(faults) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return apierrors.NewBadRequest(strings.Join(lines, "\n"))
}

// typesOf returns the cluster's external types, without those that have faults: these have no resources that nodes get.
func typesOf(ctx context.Context, base *planning.Base) manifest.Types {
	var sources []source.Source
	for _, t := range base.Types {
		one := &fettle.ExternalType{TypeMeta: metav1.TypeMeta{APIVersion: fettle.GroupVersion.String(), Kind: "ExternalType"}, ObjectMeta: metav1.ObjectMeta{Name: t.Name}, Spec: t.Spec}
		sources = append(sources, source.Source{Name: "ExternalType/" + t.Name, Read: func(context.Context) ([]byte, error) { return json.Marshal(one) }})
	}
	known, _ := manifest.ReadTypes(ctx, sources)
	return known
}
