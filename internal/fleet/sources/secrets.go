package sources

import (
	"bytes"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
)

// A secretVersion is the version of a Secret in which one of its values last changed, as far as this
// process knows. A value is not sealed anew when another key of its Secret changes. The cache has the
// value, too.
type secretVersion struct {
	value   []byte
	version string
}

func (r *Reader) versionOf(ref v1alpha1.KeyRef, value []byte, version string) string {
	if was, ok := r.sources.versions[ref]; ok && bytes.Equal(was.value, value) {
		version = was.version
	}
	r.versions[ref] = secretVersion{value, version}
	return version
}

// Secret returns one key of a Secret if that is exposed to nodes.
func (r *Reader) Secret(ref v1alpha1.KeyRef) compiler.SecretValue {
	s := r.secret(types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name})
	if s == nil {
		return compiler.SecretValue{}
	}
	value, ok := s.Data[ref.Key]
	if !ok {
		return compiler.SecretValue{Exposed: true}
	}
	return compiler.SecretValue{Exposed: true, Found: true, Value: value, Version: r.versionOf(ref, value, s.ResourceVersion)}
}

func (r *Reader) secret(name types.NamespacedName) *corev1.Secret {
	if s, ok := r.secrets[name]; ok {
		return s
	}
	r.sources.use("Secret", name)
	var s corev1.Secret
	r.secrets[name] = nil
	if err := r.cached.Get(r.ctx, name, &s); client.IgnoreNotFound(err) != nil {
		r.failed = append(r.failed, fmt.Errorf("cannot read Secret %s: %w", name, err))
	} else if err == nil && s.Labels[v1alpha1.LabelExposeToNodes] == "true" {
		r.secrets[name] = &s
	}
	return r.secrets[name]
}
