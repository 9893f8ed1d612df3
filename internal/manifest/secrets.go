package manifest

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// Secrets are the Secrets among the documents.
type Secrets []*corev1.Secret

// Value returns the value of a key, of a Secret that is exposed to nodes.
func (all Secrets) Value(ref v1alpha1.KeyRef) (value []byte, exposed, found bool) {
	for _, s := range all {
		if !refersTo(ref, s) || s.Labels[v1alpha1.LabelExposeToNodes] != "true" {
			continue
		}
		if text, ok := s.StringData[ref.Key]; ok { // overrides data, as in an API server
			return []byte(text), true, true
		}
		value, found = s.Data[ref.Key]
		return value, true, found
	}
	return nil, false, false
}
