package controllers

import (
	"context"
	"fmt"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// CacheOptions are for the manager that runs a [Fleet]. They keep out of its memory what
// no pass reads: who set which field, of a cluster's ConfigMaps all but their versions, every Secret
// that is not meant for nodes, of Leases all but when they were renewed, and those of others.
func CacheOptions() cache.Options {
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.ConfigMap{}:     {Transform: onlyVersion},
			&corev1.Secret{}:        exposedSecrets(),
			&coordinationv1.Lease{}: {Transform: onlyRenewal, Namespaces: map[string]cache.Config{v1alpha1.AgentNamespace: {}}},
		},
	}
}

// onlyVersion drops the rest of an object's metadata: kubectl may have put all of its
// data there once more.
func onlyVersion(o any) (any, error) {
	if m, err := meta.Accessor(o); err == nil { // a deletion that was missed is none
		m.SetManagedFields(nil)
		m.SetAnnotations(nil)
		m.SetLabels(nil)
	}
	return o, nil
}

// sources are the ConfigMaps that resources name. Each is read once a version. Safe for
// concurrent use.
type sources struct {
	mu    sync.Mutex
	known sourceSet
}

type sourceSet map[types.NamespacedName]source

// A source is a ConfigMap as it was read; zero where there was none.
type source struct {
	version string
	data    map[string]string
}

// remember makes changes of a ConfigMap matter from now on, and returns what was read of it.
func (s *sources) remember(name types.NamespacedName) source {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = sourceSet{}
	}
	was := s.known[name]
	s.known[name] = was
	return was
}

// keep forgets all ConfigMaps but those that were used.
func (s *sources) keep(used sourceSet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = used
}

func (s *sources) named(o client.Object) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.known[client.ObjectKeyFromObject(o)]
	return ok
}

// begin is for one compilation. versions tells which version there is, and may be a
// cache; live reads it.
func (s *sources) begin(versions, live client.Reader) *sourceReader {
	return &sourceReader{sources: s, versions: versions, live: live, used: sourceSet{}}
}

// A sourceReader reads what one compilation uses, every ConfigMap once.
type sourceReader struct {
	sources        *sources
	versions, live client.Reader
	used           sourceSet
	failed         error // the last failure to read
}

// key returns one key of a ConfigMap, or false where there is none.
func (r *sourceReader) key(ctx context.Context) func(v1alpha1.KeyRef) (string, bool) {
	return func(ref v1alpha1.KeyRef) (string, bool) {
		name := types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
		is, ok := r.used[name]
		if !ok {
			var err error
			if is, err = r.read(ctx, name); err != nil {
				r.failed = fmt.Errorf("cannot read ConfigMap %s: %w", name, err)
			}
			r.used[name] = is
		}
		value, ok := is.data[ref.Key]
		return value, ok
	}
}

func (r *sourceReader) read(ctx context.Context, name types.NamespacedName) (source, error) {
	was := r.sources.remember(name) // before it is looked at, so that no change falls between
	there := &metav1.PartialObjectMetadata{}
	there.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	if err := r.versions.Get(ctx, name, there); err != nil {
		return source{}, client.IgnoreNotFound(err)
	}
	if there.ResourceVersion == was.version {
		return was, nil
	}
	var cm corev1.ConfigMap
	if err := r.live.Get(ctx, name, &cm); err != nil {
		return source{}, client.IgnoreNotFound(err)
	}
	return source{cm.ResourceVersion, cm.Data}, nil
}
