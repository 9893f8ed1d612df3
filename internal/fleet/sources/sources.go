// Package sources reads the ConfigMaps and Secrets that resources refer to, for one compilation
// at a time, and seals secret values to nodes.
//
// It knows which objects the last compilation used, so that changes of others cause no work. All
// values that a [Reader] returns are of one version of each object.
package sources

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// Sources remember what compilations use. The zero value is ready. It is safe for concurrent use,
// but for one Reader at a time.
type Sources struct {
	mu         sync.Mutex
	configMaps map[types.NamespacedName]configMap // by the compilation under way and the last one
	secrets    map[types.NamespacedName]bool
	versions   map[v1alpha1.KeyRef]secretVersion
}

// A configMap is one version of a ConfigMap; the zero value is one that does not exist.
type configMap struct {
	version string
	data    map[string]string
}

// UsesConfigMap reports whether a resource refers to a ConfigMap.
func (s *Sources) UsesConfigMap(o client.Object) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.configMaps[client.ObjectKeyFromObject(o)]
	return ok
}

// UsesSecret reports whether a resource refers to a Secret.
func (s *Sources) UsesSecret(o client.Object) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.secrets[client.ObjectKeyFromObject(o)]
}

// Reader returns a reader for one compilation. cached tells versions and has Secrets; live reads
// ConfigMaps.
func (s *Sources) Reader(ctx context.Context, cached, live client.Reader) *Reader {
	return &Reader{
		ctx: ctx, sources: s, cached: cached, live: live,
		configMaps: map[types.NamespacedName]configMap{},
		secrets:    map[types.NamespacedName]*corev1.Secret{}, refs: map[v1alpha1.KeyRef]bool{},
	}
}

// A Reader reads each object once. Close it when the compilation is done.
type Reader struct {
	ctx          context.Context // of the compilation, which calls back without one
	sources      *Sources
	cached, live client.Reader
	configMaps   map[types.NamespacedName]configMap
	secrets      map[types.NamespacedName]*corev1.Secret // nil for one that is missing or not exposed
	refs         map[v1alpha1.KeyRef]bool
	failed       []error
}

// Close forgets what this compilation did not use, and returns the errors of reads.
func (r *Reader) Close() error {
	s := r.sources
	s.mu.Lock()
	defer s.mu.Unlock()
	s.configMaps, s.secrets = r.configMaps, map[types.NamespacedName]bool{}
	for name := range r.secrets {
		s.secrets[name] = true
	}
	maps.DeleteFunc(s.versions, func(ref v1alpha1.KeyRef, _ secretVersion) bool { return !r.refs[ref] })
	return errors.Join(r.failed...)
}

// ConfigMap returns one key of a ConfigMap, or false if it does not exist.
func (r *Reader) ConfigMap(ref v1alpha1.KeyRef) (string, bool) {
	name := types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
	is, ok := r.configMaps[name]
	if !ok {
		var err error
		if is, err = r.readConfigMap(name); err != nil {
			r.failed = append(r.failed, fmt.Errorf("cannot read ConfigMap %s: %w", name, err))
		}
		r.configMaps[name] = is
	}
	value, ok := is.data[ref.Key]
	return value, ok
}

// readConfigMap marks the ConfigMap as used before it looks, so that no change goes unnoticed.
func (r *Reader) readConfigMap(name types.NamespacedName) (configMap, error) {
	was := r.sources.useConfigMap(name)
	cached := &metav1.PartialObjectMetadata{}
	cached.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	if err := r.cached.Get(r.ctx, name, cached); err != nil {
		return configMap{}, client.IgnoreNotFound(err)
	}
	if cached.ResourceVersion == was.version {
		return was, nil
	}
	var cm corev1.ConfigMap
	if err := r.live.Get(r.ctx, name, &cm); err != nil {
		return configMap{}, client.IgnoreNotFound(err)
	}
	return configMap{cm.ResourceVersion, cm.Data}, nil
}

func (s *Sources) useConfigMap(name types.NamespacedName) configMap {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.configMaps == nil {
		s.configMaps = map[types.NamespacedName]configMap{}
	}
	was := s.configMaps[name]
	s.configMaps[name] = was
	return was
}
