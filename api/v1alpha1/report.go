package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ReportedRef is a ResourceRef, or names an object that a resource on the node generated, by kind
// and name on the host: File//srv/www/index.html.
// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*/`
// +kubebuilder:validation:MaxLength=4160
type ReportedRef string

// ResourceReport describes a resource on a node that is not in sync, or was corrected.
type ResourceReport struct {
	// ref of the resource.
	Ref ReportedRef `json:"ref"`
	// state of the resource after the run.
	State ResourceState `json:"state"`
	// message explains the state.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
	// changes that the run made, or would have made.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Changes []PropertyChange `json:"changes,omitempty"`
	// corrective is true if something other than Fettle changed the host.
	// +optional
	Corrective bool `json:"corrective,omitempty"`
	// outOfSync is true if the resource is known to differ from its desired state after the run: the
	// changes were not made, or not all of them. Absent from older agents.
	// +optional
	OutOfSync bool `json:"outOfSync,omitempty"`
	// since is the time at which the resource entered this state.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}

// PropertyChange is the change of one property. Secret values are redacted, and long values are
// truncated.
type PropertyChange struct {
	// property that differs.
	// +kubebuilder:validation:MaxLength=1024
	Property string `json:"property"`
	// is the value on the host.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Is string `json:"is,omitempty"`
	// should is the desired value.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Should string `json:"should,omitempty"`
}
