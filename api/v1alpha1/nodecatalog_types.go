package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// A NodeCatalog is what one node should be, and how it is. It is named as its Node
// and owned by it. The manager writes its spec, the node's agent its status.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=nc,categories=fettle
// +kubebuilder:printcolumn:name="Node",type=string,JSONPath=`.metadata.name`
// +kubebuilder:printcolumn:name="InSync",type=integer,JSONPath=`.status.counts.inSync`
// +kubebuilder:printcolumn:name="Changed",type=integer,JSONPath=`.status.counts.changed`
// +kubebuilder:printcolumn:name="OutOfSync",type=integer,JSONPath=`.status.counts.outOfSync`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.counts.failed`
// +kubebuilder:printcolumn:name="Noop",type=integer,JSONPath=`.status.counts.noop`
// +kubebuilder:printcolumn:name="Last run",type=date,JSONPath=`.status.lastRun.started`
// +kubebuilder:printcolumn:name="Agent",type=string,JSONPath=`.status.agentVersion`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type NodeCatalog struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec NodeCatalogSpec `json:"spec,omitempty"`
	// +optional
	// +default={"observedGeneration": -1}
	Status NodeCatalogStatus `json:"status,omitempty"`
}

// NodeCatalogSpec is what the node should be.
type NodeCatalogSpec struct {
	// catalogs that select the node, by name.
	// +optional
	// +listType=atomic
	Catalogs []CatalogRef `json:"catalogs,omitempty"`
	// entries are the node's own: rendered from its facts.
	// +optional
	// +listType=atomic
	Entries []CatalogEntry `json:"entries,omitempty"`
	// withheld are entries of the catalogs that must wait on this node: what they
	// speak of is left as it is. Where there are thousands, some have no message.
	// +optional
	// +listType=atomic
	Withheld []Withheld `json:"withheld,omitempty"`
	// cleanup lists resources that left this spec and that the node had yet to report
	// gone when it was written. Only the manager reads it: a deletion waits for no other nodes.
	// +optional
	// +listType=atomic
	Cleanup []CleanupRef `json:"cleanup,omitempty"`
	// noop only reports, for every resource that does not say otherwise.
	// +optional
	Noop bool `json:"noop,omitempty"`
}

// CatalogRef names a Catalog.
type CatalogRef struct {
	// name of the Catalog.
	// +kubebuilder:validation:Pattern=`^sha256-[0-9a-f]{64}$`
	Name string `json:"name"`
}

// CleanupRef names a resource, and which one of those that bore the name.
type CleanupRef struct {
	Ref ResourceRef `json:"ref"`
	UID types.UID   `json:"uid"`
}

// Withheld is a resource that must wait on this node, and why.
type Withheld struct {
	Ref     ResourceRef `json:"ref"`
	Reason  string      `json:"reason"`
	Message string      `json:"message,omitempty"`
}

// NodeCatalogStatus is how the node is. It changes when what it says changes: a run
// that finds all as the last one left it writes nothing. Its texts have limits, as what a
// node says of a resource becomes part of that one's status, too.
type NodeCatalogStatus struct {
	// observedGeneration is the generation that the agent has last seen; -1 before any.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// appliedGeneration is the generation that the last run applied.
	// +optional
	AppliedGeneration int64 `json:"appliedGeneration,omitempty"`
	// appliedDigest is the digest of the catalog that the last run applied, as
	// sha256-...
	// +optional
	// +kubebuilder:validation:MaxLength=128
	AppliedDigest string `json:"appliedDigest,omitempty"`
	// agentVersion is the version of the agent.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	AgentVersion string `json:"agentVersion,omitempty"`
	// publicKey is the node's key that secrets are sealed to.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	PublicKey string `json:"publicKey,omitempty"`
	// facts that the node reports about itself, in Facter's structured names.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +mapType=atomic
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:MaxProperties=1024
	Facts *runtime.RawExtension `json:"facts,omitempty"`
	// omittedFacts names facts that there is no room for in facts: templates and when
	// don't see them.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	OmittedFacts string `json:"omittedFacts,omitempty"`
	// lastRun is the last run that changed or found something new.
	// +optional
	LastRun *LastRun `json:"lastRun,omitempty"`
	// counts of resources by how they are since that run.
	// +optional
	Counts *RunCounts `json:"counts,omitempty"`
	// resources that are not in sync, and drift that the last run corrected.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	Resources []ResourceReport `json:"resources,omitempty"`
	// omitted is the number of further entries that resources has no room for.
	// +optional
	Omitted int32 `json:"omitted,omitempty"`
	// conditions are Ready, Reconciling, Stalled and Degraded.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// RunTrigger is why a run took place.
type RunTrigger string

// The triggers of runs.
const (
	TriggerStart    RunTrigger = "Start"
	TriggerChange   RunTrigger = "Change"
	TriggerInterval RunTrigger = "Interval"
	TriggerDrift    RunTrigger = "Drift" // something changed on the host that a resource watches
)

// LastRun is when and why a run took place.
type LastRun struct {
	// started is when the run began.
	Started metav1.Time `json:"started"`
	// duration of the run, as 0.021s.
	// +kubebuilder:validation:MaxLength=64
	Duration string `json:"duration"`
	// trigger is why it took place.
	// +kubebuilder:validation:Enum=Start;Change;Interval;Drift
	Trigger RunTrigger `json:"trigger"`
	// cachedCatalogStatus says whether the catalog came from the host's own disk
	// because the cluster could not be asked (on_failure) or not (not_used).
	// +optional
	// +kubebuilder:validation:Enum=not_used;on_failure
	CachedCatalogStatus string `json:"cachedCatalogStatus,omitempty"`
}

// RunCounts counts resources by how they are after a run: each is in sync, noop, skipped
// or failed, and Total is the sum of these. Changed and Refreshed are among those in
// sync; OutOfSync are those, noop or failed, that are known to be not as they should be.
// What is withheld is not counted; what was changed as the deletionPolicy of a resource says
// that is gone is counted as changed alone.
type RunCounts struct {
	Total     int32 `json:"total"`
	InSync    int32 `json:"inSync"`
	Changed   int32 `json:"changed"`
	OutOfSync int32 `json:"outOfSync"`
	Failed    int32 `json:"failed"`
	Skipped   int32 `json:"skipped"`
	Noop      int32 `json:"noop"`
	Refreshed int32 `json:"refreshed"`
}

// ReportedRef is a ResourceRef, or names what a resource of the node brought along by its
// kind and its name on the host: File//srv/www/index.html.
// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*/`
// +kubebuilder:validation:MaxLength=4160
type ReportedRef string

// ResourceReport is one resource of a node that is not in sync.
type ResourceReport struct {
	Ref   ReportedRef   `json:"ref"`
	State ResourceState `json:"state"`
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
	// changes that were made, or would be.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Changes []PropertyChange `json:"changes,omitempty"`
	// corrective says that the host was changed behind Fettle's back.
	// +optional
	Corrective bool `json:"corrective,omitempty"`
	// since is when the resource came into this state.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}

// PropertyChange is one property. Values of secrets are redacted, long ones cut.
type PropertyChange struct {
	// +kubebuilder:validation:MaxLength=1024
	Property string `json:"property"`
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Is string `json:"is,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Should string `json:"should,omitempty"`
}

// NodeCatalogList is a list of NodeCatalogs.
//
// +kubebuilder:object:root=true
type NodeCatalogList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodeCatalog `json:"items"`
}
