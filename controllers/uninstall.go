package controllers

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/externalkinds"
)

// definitionsPeriod is the time between two looks at our CustomResourceDefinitions while a
// deletion waits or a definition is missing.
const definitionsPeriod = 10 * time.Second

// uninstall has the kinds whose CustomResourceDefinition is missing or being deleted. All objects
// of such a kind are deleted with it, and nobody meant hosts to change: while there is one, nothing
// is published, and the finalizers of that kind are removed.
type uninstall struct {
	kinds   map[string]bool
	checked time.Time
}

func (u uninstall) inProgress() bool { return len(u.kinds) > 0 }

// checkDefinitions looks for an uninstallation. It costs no request unless objects are missing that
// were there before, or a deletion waits.
func (r *Fleet) checkDefinitions(ctx context.Context, s *snapshot) error {
	if !r.mayBeUninstalled(s) {
		return nil
	}
	// Without its ExternalType, a resource is withheld, so nodes leave what it manages as it is.
	kinds := []string{"NodeCatalog", "Catalog"}
	for _, o := range v1alpha1.Resources() {
		kinds = append(kinds, o.KindName())
	}
	next := uninstall{map[string]bool{}, r.Clock.Now()}
	for _, kind := range kinds {
		missing, err := r.definitionMissing(ctx, kind)
		if err != nil {
			return err
		}
		if missing {
			next.kinds[kind] = true
		}
	}
	if next.inProgress() != r.uninstall.inProgress() {
		ctrl.LoggerFrom(ctx).Info("checked CustomResourceDefinitions: nothing is published while one is missing or being deleted", "kinds", next.kinds)
	}
	r.uninstall = next
	return nil
}

// mayBeUninstalled reports whether it takes a look at definitions to tell.
func (r *Fleet) mayBeUninstalled(s *snapshot) bool {
	if r.compiled == nil || r.vanished(s) || r.specs.missing(s) {
		return true
	}
	waiting := r.uninstall.inProgress() || len(s.deleting) > 0
	return waiting && r.Clock.Now().Sub(r.uninstall.checked) >= definitionsPeriod
}

// definitionMissing asks the API server whether the definition of a kind is missing or being
// deleted.
func (r *Fleet) definitionMissing(ctx context.Context, kind string) (bool, error) {
	mapping, err := r.Client.RESTMapper().RESTMapping(schema.GroupKind{Group: v1alpha1.GroupVersion.Group, Kind: kind}, v1alpha1.GroupVersion.Version)
	if err != nil {
		return false, fmt.Errorf("cannot find the resource name of %s: %w", kind, err)
	}
	crd := externalkinds.DefinitionMetadata()
	err = r.Live.Get(ctx, types.NamespacedName{Name: mapping.Resource.GroupResource().String()}, crd)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("cannot read the CustomResourceDefinition of %s: %w", kind, err)
	}
	return err != nil || crd.DeletionTimestamp != nil, nil
}
