package manifest

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// ConfigMaps are the ConfigMaps among the documents.
type ConfigMaps []*corev1.ConfigMap

// Value returns the value of a key.
func (all ConfigMaps) Value(ref v1alpha1.KeyRef) (string, bool) {
	for _, c := range all {
		if !refersTo(ref, c) {
			continue
		}
		if v, ok := c.Data[ref.Key]; ok {
			return v, true
		}
		v, ok := c.BinaryData[ref.Key]
		return string(v), ok
	}
	return "", false
}

// refersTo reports whether a reference is to an object. An object without a namespace is in the default one.
func refersTo(ref v1alpha1.KeyRef, o metav1.Object) bool {
	return ref.Namespace == cmp.Or(o.GetNamespace(), metav1.NamespaceDefault) && ref.Name == o.GetName()
}
