package manifest

import (
	"fmt"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/text"
)

// head has the fields that identify an object.
type head struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        struct {
		Name      any `json:"name"` // its type is validated with the resource
		Namespace any `json:"namespace"`
	} `json:"metadata"`
}

// ref returns the reference of the object, "" if its name is missing or invalid.
func (h head) ref() v1alpha1.ResourceRef {
	name, ok := h.Metadata.Name.(string)
	if !ok || len(apivalidation.NameIsDNSSubdomain(name, false)) > 0 {
		return ""
	}
	return v1alpha1.ResourceRef(h.Kind + "/" + name)
}

// nameless reports whether the name is missing or empty.
func (h head) nameless() bool { return h.Metadata.Name == nil || h.Metadata.Name == "" }

// A subject is the object that a fault is about. The zero value is an unknown one.
type subject struct {
	ref    v1alpha1.ResourceRef
	object string // what it calls itself, if it has no ref
}

// resource is the subject of faults of a resource of a known kind.
func (h head) resource() subject {
	if ref := h.ref(); ref != "" {
		return subject{ref: ref}
	}
	return h.other()
}

// other is the subject of faults of any other object.
func (h head) other() subject {
	switch h.Metadata.Name.(type) {
	case string, int64, float64, bool: // others are no names
		return subject{object: text.Line(text.Clip(h.String(), maxReference))}
	}
	return subject{}
}

// String returns the kind and, if there is one, the name.
func (h head) String() string {
	if h.nameless() {
		return h.Kind
	}
	return fmt.Sprintf("%s/%v", h.Kind, h.Metadata.Name)
}
