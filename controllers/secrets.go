package controllers

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/seal"
)

// exposedSecrets asks for no Secret but those that are meant for nodes.
func exposedSecrets() cache.ByObject {
	return cache.ByObject{
		Label:     labels.SelectorFromSet(labels.Set{v1alpha1.LabelExposeToNodes: "true"}),
		Transform: onlyData,
	}
}

// onlyData drops what kubectl may have written down of a Secret once more.
func onlyData(o any) (any, error) {
	if m, err := meta.Accessor(o); err == nil { // a deletion that was missed is none
		m.SetManagedFields(nil)
		m.SetAnnotations(nil)
	}
	return o, nil
}

// secrets know which Secrets resources name, and in which version a value was last seen
// to change, so that it is not sealed anew when something else of its Secret does. Of a
// value they keep a digest by a key of the process' own. Safe for concurrent use.
type secrets struct {
	mu    sync.Mutex
	key   []byte
	names map[types.NamespacedName]bool
	seen  map[v1alpha1.KeyRef]seenValue
}

type seenValue struct {
	digest  []byte
	version string
}

func (s *secrets) named(o client.Object) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.names[client.ObjectKeyFromObject(o)]
}

// remember makes changes of a Secret matter from now on.
func (s *secrets) remember(name types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names == nil {
		s.names = map[types.NamespacedName]bool{}
	}
	s.names[name] = true
}

// version is that in which a value last changed, as far as this process knows.
func (s *secrets) version(ref v1alpha1.KeyRef, value []byte, is string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.key == nil {
		s.key, s.seen = make([]byte, sha256.Size), map[v1alpha1.KeyRef]seenValue{}
		_, _ = rand.Read(s.key) // never fails
	}
	mac := hmac.New(sha256.New, s.key)
	_, _ = mac.Write(value) // a hash accepts every write
	digest := mac.Sum(nil)
	if was, ok := s.seen[ref]; ok && bytes.Equal(was.digest, digest) {
		return was.version
	}
	s.seen[ref] = seenValue{digest, is}
	return is
}

// keep forgets all that a compilation did not use.
func (s *secrets) keep(used *secretReader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names = map[types.NamespacedName]bool{}
	for name := range used.found {
		s.names[name] = true
	}
	for ref := range s.seen {
		if !used.refs[ref] {
			delete(s.seen, ref)
		}
	}
}

// begin is for one compilation.
func (s *secrets) begin(ctx context.Context, from client.Reader) *secretReader {
	return &secretReader{ctx: ctx, secrets: s, from: from, found: map[types.NamespacedName]*corev1.Secret{}, refs: map[v1alpha1.KeyRef]bool{}}
}

// A secretReader reads what one compilation uses, every Secret once, and is dropped with it.
type secretReader struct {
	ctx     context.Context // of the pass
	secrets *secrets
	from    client.Reader
	found   map[types.NamespacedName]*corev1.Secret // nil for what is not there, or not for nodes
	refs    map[v1alpha1.KeyRef]bool
	failed  error // the last failure to read
}

// value is what [compiler.Input] asks for.
func (r *secretReader) value(ref v1alpha1.KeyRef) compiler.SecretValue {
	r.refs[ref] = true
	s := r.secret(types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name})
	if s == nil {
		return compiler.SecretValue{}
	}
	value, ok := s.Data[ref.Key]
	if !ok {
		return compiler.SecretValue{Exposed: true}
	}
	return compiler.SecretValue{Exposed: true, Found: true, Value: value, Version: r.secrets.version(ref, value, s.ResourceVersion)}
}

func (r *secretReader) secret(name types.NamespacedName) *corev1.Secret {
	if s, ok := r.found[name]; ok {
		return s
	}
	r.found[name] = nil
	r.secrets.remember(name) // before it is looked at, so that no change falls between
	var s corev1.Secret
	if err := r.from.Get(r.ctx, name, &s); err != nil {
		if client.IgnoreNotFound(err) != nil {
			r.failed = fmt.Errorf("cannot read Secret %s: %w", name, err)
		}
		return nil
	}
	if s.Labels[v1alpha1.LabelExposeToNodes] == "true" {
		r.found[name] = &s
	}
	return r.found[name]
}

// A sealer seals for one compilation. What was sealed before stays as it is, as long as it
// is what is wanted: nobody can seal alike twice.
type sealer struct {
	secrets  *secretReader
	compiled *compilation // the one before; nil for none
	existing nodeCatalogs
}

// seal is what [compiler.Input] asks for.
func (s sealer) seal(n *compiler.Node, ref v1alpha1.ResourceRef, attribute string, from v1alpha1.SealedFrom) (v1alpha1.SealedValue, error) {
	want := v1alpha1.SealedValue{Attribute: attribute, From: from, Key: seal.Fingerprint(n.PublicKey)}
	for _, entries := range s.before(n.Name) {
		if v := sealedAlready(entries, ref, want); v != nil {
			return *v, nil
		}
	}
	key, err := seal.ParsePublicKey(n.PublicKey)
	if err != nil {
		return want, err
	}
	value := s.secrets.value(from.KeyRef).Value
	want.Value, err = seal.Seal(key, seal.Purpose{Node: n.Name, Ref: string(ref), Attribute: attribute}, value)
	return want, err
}

// before are a node's entries as they were compiled last, which may not be written yet,
// and as the cluster has them.
func (s sealer) before(node string) [][]v1alpha1.CatalogEntry {
	var all [][]v1alpha1.CatalogEntry
	if s.compiled != nil {
		if n := s.compiled.result.Nodes[node]; n != nil {
			all = append(all, n.Spec.Entries)
		}
	}
	if nc := s.existing[node]; nc != nil {
		all = append(all, nc.Spec.Entries)
	}
	return all
}

func sealedAlready(entries []v1alpha1.CatalogEntry, ref v1alpha1.ResourceRef, want v1alpha1.SealedValue) *v1alpha1.SealedValue {
	for i := range entries {
		if entries[i].Ref() != ref {
			continue
		}
		for j := range entries[i].Sealed {
			if v := &entries[i].Sealed[j]; v.Attribute == want.Attribute && v.From == want.From && v.Key == want.Key {
				return v
			}
		}
	}
	return nil
}
