package reportsapi

import (
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

// readChange reads and checks the change of a plan. The error is for the caller. notes are about manifests that are not part of it.
func readChange(ctx context.Context, base *planning.Base, spec v1alpha1.PlanSpec) (change planning.Change, notes []string, err error) {
	if spec.Sample < 0 {
		return change, nil, apierrors.NewBadRequest(fmt.Sprintf("spec.sample %d is negative: use 0 to ask all nodes", spec.Sample))
	}
	selector, err := labels.Parse(spec.Selector)
	if err != nil {
		return change, nil, apierrors.NewBadRequest(fmt.Sprintf("spec.selector %q: %v", spec.Selector, err))
	}
	known := typesOf(ctx, base)
	set, err := readManifests(ctx, known, spec.Manifests)
	if err != nil {
		return change, nil, err
	}
	change = planning.Change{
		Put: set.Resources(), ConfigMaps: map[types.NamespacedName]map[string]string{},
		Removes: func(r fettle.Resource) bool { return spec.Prune && selector.Matches(labels.Set(r.GetLabels())) },
	}
	for _, c := range set.ConfigMaps {
		if c.Namespace == "" {
			notes = append(notes, fmt.Sprintf("ConfigMap %s has no namespace: it is not part of the plan", c.Name))
			continue
		}
		change.ConfigMaps[types.NamespacedName{Namespace: c.Namespace, Name: c.Name}] = c.Data
	}
	for range set.Secrets {
		notes = append(notes, "a Secret is not part of the plan: values of the cluster's Secrets are used")
	}
	for _, d := range set.Types.Definitions()[len(known.Definitions()):] {
		notes = append(notes, fmt.Sprintf("ExternalType %s is not part of the plan: apply it first", d.Name))
	}
	for _, other := range set.Ignored {
		notes = append(notes, other+" is not of fettle.dev")
	}
	return change, notes, nil
}

// readManifests reads manifests like an API server. Its error has their faults.
func readManifests(ctx context.Context, known manifest.Types, all []v1alpha1.PlanManifest) (*manifest.Set, error) {
	var sources []source.Source
	for _, m := range all {
		sources = append(sources, source.Source{Name: m.Name, Read: func(context.Context) ([]byte, error) { return []byte(m.Text), nil }})
	}
	set := known.Read(ctx, sources, nil)
	if len(set.Faults) == 0 {
		return set, nil
	}
	var lines []string
	for _, f := range set.Faults[:min(len(set.Faults), maxFaults)] {
		lines = append(lines, f.Error())
	}
	if more := len(set.Faults) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return nil, apierrors.NewBadRequest(strings.Join(lines, "\n"))
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

func nameOf(k *fettle.KeyRef) types.NamespacedName {
	return types.NamespacedName{Namespace: k.Namespace, Name: k.Name}
}

func configMap(namespace, name string) thing {
	return thing{GroupVersionResource: corev1.SchemeGroupVersion.WithResource("configmaps"), Namespace: namespace, Name: name}
}
