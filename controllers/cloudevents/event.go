package cloudevents

import (
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/reference"
)

// An event is a CloudEvent of version 1.0.
type event struct {
	SpecVersion     string `json:"specversion"`
	ID              string `json:"id"`
	Source          string `json:"source"`
	Type            string `json:"type"`
	Subject         string `json:"subject"`
	Time            string `json:"time"`
	DataContentType string `json:"datacontenttype"`
	Data            data   `json:"data"`
}

// data has the fields of an event of events.k8s.io/v1.
type data struct {
	Type      string  `json:"type"` // Normal or Warning
	Reason    string  `json:"reason"`
	Action    string  `json:"action"`
	Note      string  `json:"note"`
	Regarding object  `json:"regarding"`
	Related   *object `json:"related,omitempty"`
}

// An object identifies a Kubernetes object. Its namespace and UID may be unknown.
type object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	UID        string `json:"uid,omitempty"`
}

// typePrefix precedes the reason of an event in its type.
const typePrefix = "dev.fettle."

// encode returns the event in JSON.
func encode(id, source string, at time.Time, d data) ([]byte, error) {
	return json.Marshal(event{
		SpecVersion: "1.0", ID: id, Source: source, Type: typePrefix + d.Reason, Subject: d.Regarding.Kind + "/" + d.Regarding.Name,
		Time: at.UTC().Format(time.RFC3339Nano), DataContentType: "application/json", Data: d,
	})
}

// objectOf identifies an object.
func objectOf(scheme *runtime.Scheme, o runtime.Object) (object, error) {
	ref, ok := o.(*corev1.ObjectReference)
	if !ok {
		var err error
		if ref, err = reference.GetReference(scheme, o); err != nil {
			return object{}, fmt.Errorf("cannot refer to an object: %w", err)
		}
	}
	return object{APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name, UID: string(ref.UID)}, nil
}
