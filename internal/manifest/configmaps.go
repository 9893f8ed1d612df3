package manifest

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// ConfigMaps are those among the documents.
type ConfigMaps []*corev1.ConfigMap

// Value is that of one key.
func (all ConfigMaps) Value(ref v1alpha1.KeyRef) (string, bool) {
	for _, c := range all {
		namespace := c.Namespace
		if namespace == "" {
			namespace = metav1.NamespaceDefault
		}
		if namespace != ref.Namespace || c.Name != ref.Name {
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
