package v1alpha1

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// NodeCatalog is the desired and observed state of one node. It has the name of its Node and is
// owned by it. The manager writes the spec; the agent on the node writes the status.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=nc,categories=fettle
// +kubebuilder:printcolumn:name="Node",type=string,JSONPath=`.metadata.name`
// +kubebuilder:printcolumn:name="InSync",type=integer,JSONPath=`.status.counts.inSync`
// +kubebuilder:printcolumn:name="Changed",type=integer,JSONPath=`.status.counts.changed`
// +kubebuilder:printcolumn:name="OutOfSync",type=integer,JSONPath=`.status.counts.outOfSync`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.counts.failed`
// +kubebuilder:printcolumn:name="Withheld",type=integer,JSONPath=`.status.counts.withheld`
// +kubebuilder:printcolumn:name="Noop",type=integer,JSONPath=`.status.counts.noop`
// +kubebuilder:printcolumn:name="Last run",type=date,JSONPath=`.status.lastRun.started`
// +kubebuilder:printcolumn:name="Last drift",type=date,JSONPath=`.status.drift[0].lastSeen`
// +kubebuilder:printcolumn:name="Agent",type=string,JSONPath=`.status.agentVersion`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Held",type=date,JSONPath=`.spec.held.since`
// +kubebuilder:printcolumn:name="Silent",type=date,JSONPath=`.metadata.annotations.fettle\.dev/silent-since`
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

// NodeCatalogSpec is the desired state of a node.
type NodeCatalogSpec struct {
	// catalogs whose resources apply to the node.
	// +optional
	// +listType=atomic
	Catalogs []CatalogRef `json:"catalogs,omitempty"`
	// entries are resources that are specific to this node, such as rendered templates.
	// +optional
	// +listType=atomic
	Entries []CatalogEntry `json:"entries,omitempty"`
	// withheld are resources of the catalogs that the node must not apply. The agent leaves the
	// objects that they manage unchanged. If there are thousands, some have no message.
	// +optional
	// +listType=atomic
	Withheld []Withheld `json:"withheld,omitempty"`
	// cleanup lists resources that were removed from this spec and that the node had not reported
	// as cleaned up. Only the manager reads it; a deletion waits for no other nodes.
	// +optional
	// +listType=atomic
	Cleanup []CleanupRef `json:"cleanup,omitempty"`
	// noop reports differences without correcting them, for every resource that does not set noop
	// itself.
	// +optional
	Noop bool `json:"noop,omitempty"`
	// disabled suspends runs on this node. People set it, for example with kubectl fettle disable; the
	// manager never changes it.
	// +optional
	Disabled *Disabled `json:"disabled,omitempty"`
	// fleetDisabled is the spec.disabled of the Fleet, which suspends runs on all nodes. Only the manager
	// sets it.
	// +optional
	FleetDisabled *Disabled `json:"fleetDisabled,omitempty"`
	// held is present while the manager does not update the rest of this spec, because too many nodes
	// would be deselected. Only the manager sets it.
	// +optional
	Held *Held `json:"held,omitempty"`
	// rollout is where the node stands between revisions. It is absent while no RolloutPolicy takes the node, and written
	// together with what the revision changes. Only the manager sets it.
	// +optional
	Rollout *NodeRollout `json:"rollout,omitempty"`
}

// Disabled suspends runs: a node is neither checked nor changed.
type Disabled struct {
	// reason for people. Optional.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Reason string `json:"reason,omitempty"`
	// until is when runs resume by themselves. Absent: when this is removed.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`
}

// InEffect reports whether runs are disabled at a time. nil disables none.
func (d *Disabled) InEffect(now time.Time) bool {
	return d != nil && (d.Until == nil || now.Before(d.Until.Time))
}

// Held explains why the manager does not update a node.
type Held struct {
	// since is when the manager first held the update.
	Since metav1.Time `json:"since"`
	// resources that the node would lose, sorted. At most 10.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	Resources []ResourceRef `json:"resources"`
	// omitted is the number of such resources that did not fit into resources.
	// +optional
	Omitted int32 `json:"omitted,omitempty"`
}

// AnnotationSilentSince is on the NodeCatalog of a node whose agent has stopped renewing its Lease. The
// value is the time of the last heartbeat, as the agent wrote it, in RFC 3339. Only the manager sets it.
const AnnotationSilentSince = "fettle.dev/silent-since"

// CatalogRef references a Catalog.
type CatalogRef struct {
	// name of the Catalog.
	// +kubebuilder:validation:Pattern=`^sha256-[0-9a-f]{64}$`
	Name string `json:"name"`
}

// CleanupRef identifies a resource by name and UID.
type CleanupRef struct {
	// ref of the resource.
	Ref ResourceRef `json:"ref"`
	// uid of the resource.
	UID types.UID `json:"uid"`
}

// Withheld is a resource that the node must not apply, with the reason.
type Withheld struct {
	// ref of the resource.
	Ref ResourceRef `json:"ref"`
	// reason is a reason of a condition of the resource.
	Reason string `json:"reason"`
	// message explains the reason.
	Message string `json:"message,omitempty"`
	// location is where on the node the resource manages something, so that purging and tidying go on elsewhere: a path, with a
	// / at its end if everything below it is managed too, or ~ and a user for something of that user's. Absent if it is unknown.
	// Older agents ignore it, and purge and tidy nothing of the kind.
	// +optional
	Location string `json:"location,omitempty"`
}

// IsMissing reports whether the node lacks the resource. Resources of a type that was uninstalled are not missing.
func (w Withheld) IsMissing() bool { return w.Reason != ReasonUninstalled }

// Why joins the reason and the message.
func (w Withheld) Why() string { return strings.TrimSuffix(w.Reason+": "+w.Message, ": ") }

// Given returns the entries that the node gets: another node that shares a Catalog may get what is withheld from this one. It reuses
// the memory of the entries.
func (s NodeCatalogSpec) Given(entries []CatalogEntry) []CatalogEntry {
	withheld := make(map[ResourceRef]bool, len(s.Withheld))
	for _, w := range s.Withheld {
		withheld[w.Ref] = true
	}
	return slices.DeleteFunc(entries, func(e CatalogEntry) bool { return withheld[e.Ref()] })
}

// NodeCatalogStatus is the observed state of a node. The agent writes it only when it changes, so a
// run that finds everything as the previous run left it writes nothing. All texts are bounded,
// because they are copied to the statuses of resources.
type NodeCatalogStatus struct {
	// observedGeneration is the latest generation that the agent has received; -1 before the first
	// one.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// appliedGeneration is the generation that the last run applied.
	// +optional
	AppliedGeneration int64 `json:"appliedGeneration,omitempty"`
	// appliedDigest is the digest, sha256-..., of the spec that the last run applied.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	AppliedDigest string `json:"appliedDigest,omitempty"`
	// agentVersion is the version of the agent.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	AgentVersion string `json:"agentVersion,omitempty"`
	// publicKey is the key that the manager encrypts secrets to.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	PublicKey string `json:"publicKey,omitempty"`
	// facts about the node, in Facter's structured form.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +mapType=atomic
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:MaxProperties=1024
	Facts *runtime.RawExtension `json:"facts,omitempty"`
	// omittedFacts names facts that exceed the limits of `facts`. Templates and `when` cannot use
	// them.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	OmittedFacts string `json:"omittedFacts,omitempty"`
	// lastRun is the last run that changed something or found a difference.
	// +optional
	LastRun *LastRun `json:"lastRun,omitempty"`
	// counts of resources by state after that run.
	// +optional
	Counts *RunCounts `json:"counts,omitempty"`
	// resources that are not in sync, and drift that the last run corrected. At most 50, failures
	// first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	Resources []ResourceReport `json:"resources,omitempty"`
	// omitted is the number of entries that did not fit into resources.
	// +optional
	Omitted int32 `json:"omitted,omitempty"`
	// drift of resources in the last 30 days, corrected or only reported; the latest first. At most 20.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Drift []DriftRecord `json:"drift,omitempty"`
	// conditions are Ready, Reconciling, Stalled and Degraded.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// DriftRecord sums up how often something other than Fettle changed what a resource manages on a node.
type DriftRecord struct {
	// ref of the resource.
	Ref ReportedRef `json:"ref"`
	// firstSeen is when drift was first found.
	FirstSeen metav1.Time `json:"firstSeen"`
	// lastSeen is when drift was last found.
	LastSeen metav1.Time `json:"lastSeen"`
	// count of times that drift was found. Drift that is only reported counts once while it lasts.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000
	Count int64 `json:"count"`
	// corrected is whether the last drift was corrected. It is false if it was only reported, or if the
	// correction failed.
	Corrected bool `json:"corrected"`
	// contended is true while something else changes the resource again and again, against its corrections, which are
	// then made less and less often.
	// +optional
	Contended bool `json:"contended,omitempty"`
	// properties that had drifted last.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=64
	Properties []string `json:"properties,omitempty"`
	// author of the last drift. Absent if it is unknown.
	// +optional
	Author *Author `json:"author,omitempty"`
}

// Author is a process that changed what a resource manages, as the node saw it. Processes can choose their names, so it is
// evidence and no proof.
type Author struct {
	// executable is the path of the program, or only the name of the process if it had already ended.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Executable string `json:"executable,omitempty"`
	// pid of the process on the node.
	PID int64 `json:"pid"`
	// uid is the effective user ID of the process.
	// +optional
	UID *int64 `json:"uid,omitempty"`
	// loginUID is the user ID that logged in, whatever user the process had become. Absent if nobody had.
	// +optional
	LoginUID *int64 `json:"loginUID,omitempty"`
	// unit of systemd that the process belonged to.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Unit string `json:"unit,omitempty"`
	// pod that the process belonged to, as namespace/name, or its UID if the node does not know more.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Pod string `json:"pod,omitempty"`
}

// RunTrigger is the cause of a run.
type RunTrigger string

// Triggers of runs.
const (
	TriggerStart    RunTrigger = "Start"
	TriggerChange   RunTrigger = "Change"
	TriggerInterval RunTrigger = "Interval"
	TriggerDrift    RunTrigger = "Drift" // something that a resource watches changed on the host
)

// LastRun describes a run.
type LastRun struct {
	// started is the time at which the run started.
	Started metav1.Time `json:"started"`
	// duration of the run, for example 0.021s.
	// +kubebuilder:validation:MaxLength=64
	Duration string `json:"duration"`
	// ended is when the run ended by the clock of the node, in RFC 3339 with microseconds, which traces
	// need. Absent from older agents.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Ended string `json:"ended,omitempty"`
	// trigger is the cause of the run.
	// +kubebuilder:validation:Enum=Start;Change;Interval;Drift
	Trigger RunTrigger `json:"trigger"`
	// cachedCatalogStatus is on_failure if the agent used the catalog on its disk because it could
	// not reach the API server; otherwise not_used.
	// +optional
	// +kubebuilder:validation:Enum=not_used;on_failure
	CachedCatalogStatus string `json:"cachedCatalogStatus,omitempty"`
}

// RunCounts counts resources by state after a run. Each resource is counted in exactly one of
// inSync, noop, skipped, failed and withheld, and total is their sum. changed and refreshed are subsets of
// inSync. outOfSync overlaps the others: it counts the noop, skipped and failed resources that are
// known to differ. So a resource that cannot be changed is failed and outOfSync, and one that cannot
// be read is only failed. NodeCounts count in the same way. Cleanup after a deleted resource counts
// only as changed.
type RunCounts struct {
	// total number of resources.
	Total int32 `json:"total"`
	// inSync resources match their desired state after the run.
	InSync int32 `json:"inSync"`
	// changed resources were corrected by the run.
	Changed int32 `json:"changed"`
	// outOfSync resources are known to differ from their desired state, whether they are noop, skipped
	// or failed.
	OutOfSync int32 `json:"outOfSync"`
	// failed resources could not be read, changed or refreshed.
	Failed int32 `json:"failed"`
	// skipped resources were not checked.
	Skipped int32 `json:"skipped"`
	// withheld resources must not be applied. Older agents do not count them.
	// +optional
	Withheld int32 `json:"withheld"`
	// noop resources differ and are only reported.
	Noop int32 `json:"noop"`
	// refreshed resources were in sync and reacted to a change of another resource.
	Refreshed int32 `json:"refreshed"`
}

// NodeCatalogList is a list of NodeCatalogs.
//
// +kubebuilder:object:root=true
type NodeCatalogList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodeCatalog `json:"items"`
}
