package manifest

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// Secrets are those among the documents.
type Secrets []*corev1.Secret

// Value is that of one key, of a Secret that is exposed to nodes as in a cluster.
func (all Secrets) Value(ref v1alpha1.KeyRef) (value []byte, exposed, found bool) {
	for _, s := range all {
		if !refersTo(ref, s) || s.Labels[v1alpha1.LabelExposeToNodes] != "true" {
			continue
		}
		if text, ok := s.StringData[ref.Key]; ok { // as an API server would have it
			return []byte(text), true, true
		}
		value, found = s.Data[ref.Key]
		return value, true, found
	}
	return nil, false, false
}
