package controllers

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
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
	kinds map[string]bool
	ended bool // it was in progress before this reconciliation
}

func (u uninstall) inProgress() bool { return len(u.kinds) > 0 }

// definitions looks for an uninstallation.
type definitions struct {
	client client.Client // maps kinds to the names of their definitions
	live   client.Reader
	clock  clock.PassiveClock

	gone    map[string]bool // kinds, as of the last look
	checked time.Time
	// rollouts is true once there was a RolloutPolicy or a CatalogRevision. Before that, their definitions tell nothing, and the roles of
	// an older installation may not let the manager read them.
	rollouts bool
}

// check looks at the definitions if objects are missing that were there before, and now and then while a deletion waits. Otherwise,
// it makes no request.
func (d *definitions) check(ctx context.Context, s *snapshot, missing bool) (uninstall, error) {
	d.rollouts = d.rollouts || len(s.policies)+len(s.revisions) > 0
	waiting := len(d.gone) > 0 || len(s.deleting) > 0
	if !missing && (!waiting || d.clock.Now().Sub(d.checked) < definitionsPeriod) {
		return uninstall{kinds: d.gone}, nil
	}
	checked := d.clock.Now()
	gone, err := d.look(ctx)
	if err != nil {
		return uninstall{}, err
	}
	was := uninstall{kinds: d.gone}
	is := uninstall{kinds: gone, ended: was.inProgress() && len(gone) == 0}
	if is.inProgress() != was.inProgress() {
		ctrl.LoggerFrom(ctx).Info("checked CustomResourceDefinitions: nothing is published while one is missing or being deleted", "kinds", gone)
	}
	d.gone, d.checked = gone, checked
	return is, nil
}

// look returns the kinds whose definition is missing or being deleted. Without its ExternalType, a resource is withheld, so nodes
// leave what it manages as it is.
func (d *definitions) look(ctx context.Context) (gone map[string]bool, err error) {
	kinds := []string{"NodeCatalog", "Catalog"}
	if d.rollouts {
		kinds = append(kinds, "RolloutPolicy", "CatalogRevision")
	}
	for _, o := range v1alpha1.Resources() {
		kinds = append(kinds, o.KindName())
	}
	gone = map[string]bool{}
	for _, kind := range kinds {
		isGone, err := d.isGone(ctx, kind)
		if err != nil {
			return nil, err
		}
		if isGone {
			gone[kind] = true
		}
	}
	return gone, nil
}

// isGone asks the API server whether the definition of a kind is missing or being
// deleted.
func (d *definitions) isGone(ctx context.Context, kind string) (bool, error) {
	mapping, err := d.client.RESTMapper().RESTMapping(schema.GroupKind{Group: v1alpha1.GroupVersion.Group, Kind: kind}, v1alpha1.GroupVersion.Version)
	if err != nil {
		return false, fmt.Errorf("cannot find the resource name of %s: %w", kind, err)
	}
	crd := externalkinds.DefinitionMetadata()
	err = d.live.Get(ctx, types.NamespacedName{Name: mapping.Resource.GroupResource().String()}, crd)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("cannot read the CustomResourceDefinition of %s: %w", kind, err)
	}
	return err != nil || crd.DeletionTimestamp != nil, nil
}
