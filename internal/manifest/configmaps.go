package manifest

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// ConfigMaps are those among the documents.
type ConfigMaps []*corev1.ConfigMap

// Value is that of one key.
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

// refersTo has an object without a namespace in the one that kubectl would put it into.
func refersTo(ref v1alpha1.KeyRef, o metav1.Object) bool {
	return ref.Namespace == cmp.Or(o.GetNamespace(), metav1.NamespaceDefault) && ref.Name == o.GetName()
}
