// Package externalkinds follows the kinds of external types in a cluster, which come and go while a manager runs: which
// ExternalTypes can be used, and which resources their kinds have.
//
// The deletion of a CustomResourceDefinition deletes all resources of its kind, but nobody meant hosts to change. So a
// resource counts as deleted only if its definition was there after the resource was found missing. What happens to
// resources that cannot be read is unknown, and nodes leave what they manage as it is.
package externalkinds

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/fleet/limits"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Kinds follow the external types of a cluster. They are not safe for concurrent use, but for HasRemote.
type Kinds struct {
	// Cached reads ExternalTypes, the metadata of CustomResourceDefinitions, and resources.
	Cached client.Reader
	// Live reads CustomResourceDefinitions.
	Live client.Reader

	watches     *Watches               // nil if Cached needs none
	remote      atomic.Bool            // whether there are Remote types
	definitions map[string]*definition // by plural
	types       map[string]*usable     // by name of the ExternalType
}

// A Snapshot is what a cluster has at one time.
type Snapshot struct {
	// Kinds are the kinds of the types that are ready.
	Kinds []resource.Kind
	// External has all kinds whose resources can be read, also those that are not ready.
	External map[string]compiler.ExternalKind
	// Resources of all kinds that can be read. Of kinds that are being uninstalled, it has only those that
	// are being deleted, because their finalizers hold up the uninstallation. They are shared and must not be changed.
	Resources []v1alpha1.Resource
	// Refused maps resources whose attributes have no defaults to the reason.
	Refused map[v1alpha1.ResourceRef]string
	// Types are all ExternalTypes, by name.
	Types []Type
	// Syncing is how long to wait for the resources of a kind that are about to be listed; 0 if all are known. A
	// compilation would meanwhile withhold what depends on them.
	Syncing time.Duration
	// Retry is when to look again, 0 for never.
	Retry time.Duration

	remote map[string]time.Duration      // the time limits of Remote types, by kind
	broken map[v1alpha1.ResourceRef]bool // resources that are not in Resources, because they cannot be decoded
}

// Lost reports whether a resource is of an external kind and cannot be read, so that nobody knows whether it was deleted.
func (s *Snapshot) Lost(ref v1alpha1.ResourceRef) bool {
	kind, _, _ := strings.Cut(string(ref), "/")
	if v1alpha1.NewResource(kind) != nil {
		return false
	}
	_, readable := s.External[kind]
	return !readable || s.broken[ref]
}

// Remote returns the time limit of the programs of a Remote type, and false if the type is not Remote.
func (s *Snapshot) Remote(kind string) (limit time.Duration, remote bool) {
	limit, remote = s.remote[kind]
	return limit, remote
}

// HasRemote reports whether there are Remote types.
func (s *Snapshot) HasRemote() bool { return len(s.remote) > 0 }

// Watch has Follow start and stop watches, and read from the cache that they fill.
func (k *Kinds) Watch(w *Watches) { k.watches, k.Cached = w, w.Cache }

// HasRemote reports whether there were Remote types when the cluster was last read.
func (k *Kinds) HasRemote() bool { return k.remote.Load() }

// Follow reads the cluster. The resources of a new kind are known once they have been listed: see [Snapshot].
func (k *Kinds) Follow(ctx context.Context, now time.Time) (*Snapshot, error) {
	list := &v1alpha1.ExternalTypeList{}
	if err := k.Cached.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("cannot list ExternalTypes: %w", err)
	}
	k.readTypes(list.Items)
	if err := k.readDefinitions(ctx); err != nil {
		return nil, err
	}
	if k.watches != nil {
		k.watches.set(ctx, now, k.definitions)
	}
	s := &Snapshot{External: map[string]compiler.ExternalKind{}, Refused: map[v1alpha1.ResourceRef]string{}, remote: map[string]time.Duration{}, broken: map[v1alpha1.ResourceRef]bool{}}
	for _, plural := range slices.Sorted(maps.Keys(k.definitions)) {
		if err := k.add(ctx, s, k.definitions[plural], now); err != nil {
			return nil, err
		}
	}
	k.remote.Store(s.HasRemote())
	for i := range list.Items {
		t := &list.Items[i]
		s.Types = append(s.Types, Type{ExternalType: t, status: k.status(t, metav1.NewTime(now))})
	}
	slices.SortFunc(s.Types, func(a, b Type) int { return strings.Compare(a.Name, b.Name) })
	return s, nil
}

// add adds a kind with its resources to a snapshot, if they can be read.
func (k *Kinds) add(ctx context.Context, s *Snapshot, d *definition, now time.Time) error {
	d.unlisted = ""
	if d.kind == "" {
		return nil
	}
	if wait := k.untilSynced(d, now); wait > 0 {
		s.Syncing = shorter(s.Syncing, wait)
		return nil
	}
	if d.unlisted != "" {
		s.Retry = shorter(s.Retry, patience)
		return nil
	}
	all, err := d.list(ctx, k.Cached, k.Live)
	if err != nil {
		return err
	}
	if d.leaving {
		for _, r := range all {
			if r.GetDeletionTimestamp() != nil {
				s.Resources = append(s.Resources, r)
			}
		}
		return nil
	}
	for name := range d.broken {
		s.broken[v1alpha1.ResourceRef(d.kind+"/"+name)] = true
	}
	k.addReadable(s, d, all)
	return nil
}

func (k *Kinds) addReadable(s *Snapshot, d *definition, all []*v1alpha1.External) {
	t := k.types[d.plural]
	limit, remote := t.remote(d)
	if remote {
		s.remote[d.kind] = limit
	}
	if f := t.faultOf(d); f != nil {
		s.External[d.kind] = compiler.ExternalKind{Fault: f, Remote: remote}
		for _, r := range all {
			s.Resources = append(s.Resources, r)
		}
		return
	}
	s.External[d.kind] = compiler.ExternalKind{Type: t.definition.Ref(), Definition: t.stored, Remote: remote}
	s.Kinds = append(s.Kinds, t.kind)
	complete, failed := t.complete(all)
	s.Resources = append(s.Resources, complete...)
	maps.Copy(s.Refused, failed)
}

// untilSynced returns how long to wait for the resources of a kind, 0 if they are listed or waiting took too long.
func (k *Kinds) untilSynced(d *definition, now time.Time) time.Duration {
	if k.watches == nil {
		return 0
	}
	since, synced := k.watches.state(d.uid)
	if synced {
		return 0
	}
	if left := since.Add(patience).Sub(now); left > 0 {
		return min(left, retryPeriod)
	}
	d.unlisted = fmt.Sprintf("the API server does not list %s.%s", d.plural, group)
	return 0
}

// retryPeriod is the time between two attempts to watch a kind. patience is how long everything waits for the resources
// of one kind.
const retryPeriod, patience = time.Second, 10 * time.Second

func shorter(a, b time.Duration) time.Duration {
	w := limits.Wait(a)
	w.Add(b)
	return time.Duration(w)
}
