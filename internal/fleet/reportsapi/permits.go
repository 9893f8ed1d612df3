package reportsapi

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	fettle "github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/planning"
	"github.com/fettle-dev/fettle/internal/manifest"
)

// permits say whether the caller of a plan may make or plan it. They ask for each right once. All errors are shown to the caller.
type permits struct {
	rights
	base *planning.Base

	known       map[accessCheck]bool // whether the caller may only plan that
	onlyPlanned bool                 // whether that is so of any answer
	configMaps  int                  // asked about
}

// A question is about a right.
type accessCheck struct {
	verb string
	of   target
}

// ask returns an error unless the caller may make a change with a verb, or may plan it. planner tells whether only the latter.
func (p *permits) ask(ctx context.Context, verb string, of target) (planner bool, err error) {
	q := accessCheck{verb, of}
	if planner, known := p.known[q]; known {
		return planner, nil
	}
	if of.Resource == configMaps {
		if err := p.countConfigMap(); err != nil {
			return false, err
		}
	}
	if planner, err = p.mayPlan(ctx, verb, of); err != nil {
		return false, err
	}
	if p.known == nil {
		p.known = map[accessCheck]bool{}
	}
	p.known[q], p.onlyPlanned = planner, p.onlyPlanned || planner
	return planner, nil
}

func (p *permits) countConfigMap() error {
	if p.configMaps++; p.configMaps > maxConfigMaps {
		return tooLarge(fmt.Errorf("the manifests bring or refer to more than %d ConfigMaps: plan a part of them", maxConfigMaps))
	}
	return nil
}

// objects returns an error unless the caller may make or plan a change to these. It returns the resources
// whose change the caller may only plan. Objects of a kind that does not exist are faults of the manifests.
func (p *permits) objects(ctx context.Context, all []manifest.Object) (planned map[fettle.ResourceRef]bool, err error) {
	planned = map[fettle.ResourceRef]bool{}
	exists := make(map[fettle.ResourceRef]bool, len(p.base.Input.Resources))
	for _, r := range p.base.Input.Resources {
		exists[fettle.RefOf(r)] = true
	}
	for _, o := range all {
		ref := fettle.ResourceRef(o.Kind + "/" + o.Name)
		verb, of := "create", target{}
		switch {
		case o.APIVersion == corev1.SchemeGroupVersion.String():
			verb, of = "update", configMap(o.Namespace, o.Name)
		case fettle.NewResource(o.Kind) == nil && typeOf(p.base, o.Kind) == nil:
			continue
		default:
			of = targetOf(p.base, o.Kind)
		}
		if exists[ref] {
			verb = "update"
		}
		planner, err := p.ask(ctx, verb, of)
		if err != nil {
			return nil, err
		}
		if planner {
			planned[ref] = true
		}
	}
	return planned, nil
}

// rest returns an error unless the caller may make or plan the other parts of a change: what it deletes, and the ConfigMaps that its
// resources refer to. onlyPlanned tells whether the caller may not make some part of it.
func (p *permits) rest(ctx context.Context, change planning.Change) (onlyPlanned bool, err error) {
	for _, r := range p.base.Removed(change) {
		if _, err := p.ask(ctx, "delete", targetOf(p.base, r.KindName())); err != nil {
			return false, err
		}
	}
	read := map[types.NamespacedName]bool{}
	for _, r := range change.Put {
		if change.Unread[fettle.RefOf(r)] {
			if err := p.mayRead(ctx, r, change, read); err != nil {
				return false, err
			}
		}
	}
	return p.onlyPlanned, nil
}

// mayRead returns an error unless the caller may read the ConfigMaps that a resource refers to, or brings them: their contents are in
// catalogs and diffs.
func (p *permits) mayRead(ctx context.Context, of fettle.Resource, change planning.Change, read map[types.NamespacedName]bool) error {
	for _, v := range fettle.ValueReferencesOf(of) {
		from := v.From.ConfigMapKeyRef
		if from == nil || read[nameOf(from)] {
			continue
		}
		if _, brought := change.ConfigMaps[nameOf(from)]; brought {
			continue
		}
		if err := p.countConfigMap(); err != nil {
			return err
		}
		it := configMap(from.Namespace, from.Name)
		ok, err := p.may(ctx, "get", it)
		if err != nil {
			return err
		}
		if !ok {
			return apierrors.NewForbidden(it.GroupResource(), from.Name, fmt.Errorf("%s: %s refers to it, and %q may not read it in namespace %s", fettle.RefOf(of), v.Field, p.caller.GetName(), from.Namespace))
		}
		read[nameOf(from)] = true
	}
	return nil
}

// targetOf is the resource of the API that has the objects of a kind.
func targetOf(base *planning.Base, kind string) target {
	gvk := fettle.GroupVersionOf(kind).WithKind(kind)
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	if t := typeOf(base, kind); t != nil {
		plural.Resource = t.Name
	}
	return target{GroupVersionResource: plural}
}

// typeOf returns the type of the cluster that defines a kind; nil if there is none.
func typeOf(base *planning.Base, kind string) *fettle.ExternalType {
	i := slices.IndexFunc(base.Types, func(t *fettle.ExternalType) bool { return t.Spec.Kind == kind })
	if i < 0 {
		return nil
	}
	return base.Types[i]
}

func nameOf(k *fettle.KeyRef) types.NamespacedName {
	return types.NamespacedName{Namespace: k.Namespace, Name: k.Name}
}

const configMaps = "configmaps"

func configMap(namespace, name string) target {
	return target{GroupVersionResource: corev1.SchemeGroupVersion.WithResource(configMaps), Namespace: namespace, Name: name}
}
