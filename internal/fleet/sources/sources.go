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
	mu   sync.Mutex
	used map[source]bool // by the compilation under way and the last one

	// What the last Reader read.
	configMaps map[types.NamespacedName]configMap
	versions   map[v1alpha1.KeyRef]secretVersion
}

// A source is the name of an object of a kind.
type source struct {
	kind string
	name types.NamespacedName
}

// A configMap is one version of a ConfigMap; the zero value is one that does not exist.
type configMap struct {
	version string
	data    map[string]string
}

// UsesConfigMap reports whether a resource refers to a ConfigMap.
func (s *Sources) UsesConfigMap(o client.Object) bool { return s.uses("ConfigMap", o) }

// UsesSecret reports whether a resource refers to a Secret.
func (s *Sources) UsesSecret(o client.Object) bool { return s.uses("Secret", o) }

func (s *Sources) uses(kind string, o client.Object) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used[source{kind, client.ObjectKeyFromObject(o)}]
}

// use marks an object as used before it is looked at, so that no change goes unnoticed.
func (s *Sources) use(kind string, name types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used == nil {
		s.used = map[source]bool{}
	}
	s.used[source{kind, name}] = true
}

// Reader returns a reader for one compilation. cached tells versions and has Secrets; live reads
// ConfigMaps.
func (s *Sources) Reader(ctx context.Context, cached, live client.Reader) *Reader {
	return &Reader{
		ctx: ctx, sources: s, cached: cached, live: live,
		configMaps: map[types.NamespacedName]configMap{},
		secrets:    map[types.NamespacedName]*corev1.Secret{}, versions: map[v1alpha1.KeyRef]secretVersion{},
	}
}

// A Reader reads each object once. Close it when the compilation is done.
type Reader struct {
	ctx          context.Context // of the compilation, which calls back without one
	sources      *Sources
	cached, live client.Reader
	configMaps   map[types.NamespacedName]configMap
	secrets      map[types.NamespacedName]*corev1.Secret // nil for one that is missing or not exposed
	versions     map[v1alpha1.KeyRef]secretVersion
	failed       []error
}

// Close forgets what this compilation did not use, and returns the errors of reads.
func (r *Reader) Close() error {
	s := r.sources
	s.configMaps, s.versions = r.configMaps, r.versions
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = map[source]bool{}
	for name := range r.configMaps {
		s.used[source{"ConfigMap", name}] = true
	}
	for name := range r.secrets {
		s.used[source{"Secret", name}] = true
	}
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

// readConfigMap reads a ConfigMap unless the last compilation read the same version.
func (r *Reader) readConfigMap(name types.NamespacedName) (configMap, error) {
	r.sources.use("ConfigMap", name)
	cached := &metav1.PartialObjectMetadata{}
	cached.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	if err := r.cached.Get(r.ctx, name, cached); err != nil {
		return configMap{}, client.IgnoreNotFound(err)
	}
	if was := r.sources.configMaps[name]; cached.ResourceVersion == was.version {
		return was, nil
	}
	var cm corev1.ConfigMap
	if err := r.live.Get(r.ctx, name, &cm); err != nil {
		return configMap{}, client.IgnoreNotFound(err)
	}
	return configMap{cm.ResourceVersion, cm.Data}, nil
}
