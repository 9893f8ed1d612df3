package sources

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
)

// secretVersions remember in which version of its Secret a value last changed, so that it is not
// sealed anew when another key of the Secret does. They hold digests under a key of this process
// and no values.
type secretVersions struct {
	key  []byte
	seen map[v1alpha1.KeyRef]secretVersion
}

type secretVersion struct {
	digest  []byte
	version string
}

// of returns the version in which a value last changed, as far as this process knows.
func (v *secretVersions) of(ref v1alpha1.KeyRef, value []byte, version string) string {
	if v.key == nil {
		v.key, v.seen = make([]byte, sha256.Size), map[v1alpha1.KeyRef]secretVersion{}
		_, _ = rand.Read(v.key) // never fails
	}
	mac := hmac.New(sha256.New, v.key)
	_, _ = mac.Write(value) // a hash accepts every write
	digest := mac.Sum(nil)
	if was, ok := v.seen[ref]; ok && bytes.Equal(was.digest, digest) {
		return was.version
	}
	v.seen[ref] = secretVersion{digest, version}
	return version
}

func (v *secretVersions) retain(refs map[v1alpha1.KeyRef]bool) {
	for ref := range v.seen {
		if !refs[ref] {
			delete(v.seen, ref)
		}
	}
}

// Secret returns one key of a Secret if that is exposed to nodes.
func (r *Reader) Secret(ref v1alpha1.KeyRef) compiler.SecretValue {
	r.refs[ref] = true
	s := r.secret(types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name})
	if s == nil {
		return compiler.SecretValue{}
	}
	value, ok := s.Data[ref.Key]
	if !ok {
		return compiler.SecretValue{Exposed: true}
	}
	r.sources.mu.Lock()
	defer r.sources.mu.Unlock()
	return compiler.SecretValue{Exposed: true, Found: true, Value: value, Version: r.sources.versions.of(ref, value, s.ResourceVersion)}
}

func (r *Reader) secret(name types.NamespacedName) *corev1.Secret {
	if s, ok := r.secrets[name]; ok {
		return s
	}
	r.sources.useSecret(name) // before it is looked at, so that no change goes unnoticed
	var s corev1.Secret
	r.secrets[name] = nil
	if err := r.cached.Get(r.ctx, name, &s); client.IgnoreNotFound(err) != nil {
		r.failed = append(r.failed, fmt.Errorf("cannot read Secret %s: %w", name, err))
	} else if err == nil && s.Labels[v1alpha1.LabelExposeToNodes] == "true" {
		r.secrets[name] = &s
	}
	return r.secrets[name]
}

func (s *Sources) useSecret(name types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.secrets == nil {
		s.secrets = map[types.NamespacedName]bool{}
	}
	s.secrets[name] = true
}
