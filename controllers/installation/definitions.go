package installation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// checkDefinitions returns an error that names the kinds that the API server does not serve, or
// whose CustomResourceDefinition is being deleted. One request tells, which any account may make.
func (i *Installation) checkDefinitions(ctx context.Context) error {
	served, err := i.served(ctx, v1alpha1.GroupVersion)
	if err != nil {
		return err
	}
	if problems := definitionProblems(served); len(problems) > 0 {
		return &missingError{problems, len(served) == 0}
	}
	return nil
}

// served returns the resources of an API group and version that the API server serves.
func (i *Installation) served(ctx context.Context, gv schema.GroupVersion) ([]metav1.APIResource, error) {
	var list metav1.APIResourceList
	err := i.rest.Get().AbsPath("/apis", gv.Group, gv.Version).Do(ctx).Into(&list)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("cannot reach the API server: %w", err)
	}
	return list.APIResources, nil
}

// externalKinds returns the kinds of external types.
func (i *Installation) externalKinds(ctx context.Context) (kinds []string, err error) {
	served, err := i.served(ctx, v1alpha1.ExternalGroupVersion)
	for _, r := range served {
		if !strings.Contains(r.Name, "/") && v1alpha1.NewResource(r.Kind) == nil {
			kinds = append(kinds, r.Kind)
		}
	}
	return kinds, err
}

// A missingError describes kinds that cannot be used.
type missingError struct {
	problems []string
	all      bool // the API server serves no kind at all
}

// Error implements error.
func (e *missingError) Error() string {
	return fmt.Sprintf("CustomResourceDefinitions of %s: %s; apply config/crd once none is being deleted", v1alpha1.GroupVersion.Group, strings.Join(e.problems, ", "))
}

// definitionProblems describes the kinds that cannot be used. A kind whose definition is being
// deleted is served without the verb create.
func definitionProblems(served []metav1.APIResource) []string {
	var problems []string
	for _, kind := range definedKinds() {
		n := slices.IndexFunc(served, func(r metav1.APIResource) bool { return r.Kind == kind && !strings.Contains(r.Name, "/") })
		switch {
		case n < 0:
			problems = append(problems, kind+" is missing")
		case !slices.Contains(served[n].Verbs, "create"):
			problems = append(problems, kind+" is being deleted")
		}
	}
	return problems
}

func definedKinds() []string {
	kinds := []string{"Catalog", "CatalogRevision", "ExternalType", "Fleet", "NodeCatalog", "RolloutPolicy"}
	for _, o := range v1alpha1.Resources() {
		kinds = append(kinds, o.KindName())
	}
	slices.Sort(kinds)
	return kinds
}
