package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// DefaultRolloutPolicy is the name of the RolloutPolicy that also takes the nodes that no policy selects.
const DefaultRolloutPolicy = "default"

// RolloutPolicy paces how changes reach the nodes that it selects: a few nodes first, and more as these prove that a change works. The policy
// named default also takes the nodes that no other policy selects. Changes reach a node that no policy takes at once.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=rop,categories=fettle
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.nodes.total`
// +kubebuilder:printcolumn:name="Stable",type=string,JSONPath=`.status.stable`
// +kubebuilder:printcolumn:name="Target",type=string,JSONPath=`.status.target`
// +kubebuilder:printcolumn:name="Affected",type=integer,JSONPath=`.status.nodes.affected`
// +kubebuilder:printcolumn:name="Proven",type=integer,JSONPath=`.status.nodes.proven`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.nodes.failed`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type RolloutPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec RolloutPolicySpec `json:"spec"`
	// +optional
	// +default={"observedGeneration": -1}
	Status RolloutPolicyStatus `json:"status,omitempty"`
}

// RolloutPolicySpec is how changes reach nodes. Nothing is defaulted into it: an absent field has the default of its description.
//
// +kubebuilder:validation:XValidation:rule="!has(self.nodeSelector.matchExpressions) || self.nodeSelector.matchExpressions.all(e, e.operator in ['In', 'NotIn'] ? has(e.values) && size(e.values) > 0 : e.operator in ['Exists', 'DoesNotExist'] && (!has(e.values) || size(e.values) == 0))",fieldPath=.nodeSelector,message="operators are In and NotIn with values, and Exists and DoesNotExist without"
// +kubebuilder:validation:XValidation:rule="!has(self.first) || (type(self.first) == int ? self.first >= 1 && self.first <= 1000000 : self.first.matches('^([1-9][0-9]?|100)%$'))",fieldPath=.first,message="must be a number of nodes from 1, or a percentage from 1% to 100%"
// +kubebuilder:validation:XValidation:rule="!has(self.maxInFlight) || (type(self.maxInFlight) == int ? self.maxInFlight >= 1 && self.maxInFlight <= 1000000 : self.maxInFlight.matches('^([1-9][0-9]?|100)%$'))",fieldPath=.maxInFlight,message="must be a number of nodes from 1, or a percentage from 1% to 100%"
// +kubebuilder:validation:XValidation:rule="!has(self.maxFailed) || (type(self.maxFailed) == int ? self.maxFailed >= 0 && self.maxFailed <= 1000000 : self.maxFailed.matches('^([0-9][0-9]?|100)%$'))",fieldPath=.maxFailed,message="must be a number of nodes from 0, or a percentage from 0% to 100%"
// +kubebuilder:validation:XValidation:rule="!has(self.soak) || self.soak.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self.soak) >= duration('90s') && duration(self.soak) <= duration('168h')",fieldPath=.soak,message="must be a duration from 90s, that of an agent's Lease and 30 s, to 168h: an agent that a change silences would be taken for proven before its Lease expires"
// +kubebuilder:validation:XValidation:rule="!has(self.timeout) || self.timeout.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self.timeout) >= duration('1m') && duration(self.timeout) <= duration('168h')",fieldPath=.timeout,message="must be a duration from 1m to 168h"
type RolloutPolicySpec struct {
	// nodeSelector selects nodes by label. {} selects every node. A node that two policies select is moved by neither; the policy named
	// default gives way to others.
	// +required
	NodeSelector *metav1.LabelSelector `json:"nodeSelector"`
	// after lists policies that must have completed a revision before this one begins with it.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	After []string `json:"after,omitempty"`
	// first is how many nodes get a change before one has proven itself: a number, or a percentage of the affected nodes, rounded up. 100%
	// changes all nodes at once. Defaults to 1.
	// +optional
	// +kubebuilder:validation:XIntOrString
	First *intstr.IntOrString `json:"first,omitempty"`
	// maxInFlight is how many nodes may have a change that has neither proven itself nor failed there: a number, or a percentage of the affected
	// nodes, rounded up. Defaults to 25%, or to first if that is more.
	// +optional
	// +kubebuilder:validation:XIntOrString
	MaxInFlight *intstr.IntOrString `json:"maxInFlight,omitempty"`
	// soak is how long a node must be well after it has applied a change, until it has proven it. Defaults to 2m.
	// +optional
	Soak *metav1.Duration `json:"soak,omitempty"`
	// timeout is how long a node may take to apply a change; after that it counts as failed. Defaults to 10m.
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// maxFailed is how many nodes may fail before the rollout halts: a number, or a percentage of the nodes that have got the change, rounded down.
	// Defaults to 2%.
	// +optional
	// +kubebuilder:validation:XIntOrString
	MaxFailed *intstr.IntOrString `json:"maxFailed,omitempty"`
	// paused stops changes from reaching further nodes.
	// +optional
	Paused bool `json:"paused,omitempty"`
	// revision pins the nodes to a CatalogRevision. Absent: they get the newest.
	// +optional
	// +kubebuilder:validation:Pattern=`^sha256-[0-9a-f]{64}$`
	Revision string `json:"revision,omitempty"`
	// window is when changes may reach further nodes. Absent: at any time.
	// +optional
	Window *RolloutWindow `json:"window,omitempty"`
	// gates are types of conditions that others set on this policy. While one is False, no node gets a change; while one is absent or Unknown,
	// the rollout waits.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=316
	// +kubebuilder:validation:items:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="self.all(g, !(g in ['Ready', 'Reconciling', 'Stalled']))",message="Ready, Reconciling and Stalled are set by Fettle itself: name a condition that something else sets"
	Gates []string `json:"gates,omitempty"`
}

// RolloutWindow is a time of the week. All fields that are set must match.
// +kubebuilder:validation:XValidation:rule="has(self.range) || has(self.weekday)",message="window is empty: set range or weekday, or remove it"
type RolloutWindow struct {
	// range lists times of day, such as 22:00-04:00, inclusive at both ends. A range whose end is earlier than its start ends on the next day.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Range []TimeRange `json:"range,omitempty"`
	// weekday lists days of the week. Together with range, it lists the days on which a range starts.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=7
	Weekday []Weekday `json:"weekday,omitempty"`
	// timeZone of range and weekday, as the IANA database names it, such as Europe/Berlin. Defaults to UTC.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$`
	TimeZone string `json:"timeZone,omitempty"`
}

// RolloutPolicyStatus is the state of a policy's rollout. The manager writes it before it moves a node, and others only add conditions.
type RolloutPolicyStatus struct {
	// observedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// stable is the CatalogRevision that nodes have if they don't have the target, and that joining nodes get.
	// +optional
	Stable string `json:"stable,omitempty"`
	// target is the CatalogRevision that is rolled out. Absent at rest.
	// +optional
	Target string `json:"target,omitempty"`
	// pending is the newest CatalogRevision while it waits: for the target to be completed, or for other policies.
	// +optional
	Pending string `json:"pending,omitempty"`
	// started is when the rollout of the target started.
	// +optional
	Started *metav1.Time `json:"started,omitempty"`
	// admitting are the nodes that get the target next, or are about to have it. They count as admitted.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=512
	// +kubebuilder:validation:items:MaxLength=253
	Admitting []string `json:"admitting,omitempty"`
	// failures are nodes where the target failed, the first first. At most 256; nodes.failed counts all.
	// +optional
	// +listType=map
	// +listMapKey=node
	// +kubebuilder:validation:MaxItems=256
	Failures []RolloutFailure `json:"failures,omitempty"`
	// nodes by their state in the rollout.
	// +optional
	Nodes RolloutNodes `json:"nodes"`
	// samples are up to 10 nodes that the rollout waits for, with the reason.
	// +optional
	// +listType=map
	// +listMapKey=node
	// +kubebuilder:validation:MaxItems=10
	Samples []RolloutSample `json:"samples,omitempty"`
	// history has the last rollouts that have ended, the latest first. Their revisions are kept.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	History []RolloutRecord `json:"history,omitempty"`
	// conditions are Ready, Reconciling and Stalled, and those that others set for gates.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// RolloutNodes counts nodes. Affected, admitted, proven, failed and excluded are those of the present rollout, or of the last one.
type RolloutNodes struct {
	// total number of nodes that the policy takes.
	Total int32 `json:"total"`
	// affected nodes are those for which the target differs from the stable revision.
	Affected int32 `json:"affected"`
	// admitted nodes have got the target, or are about to.
	Admitted int32 `json:"admitted"`
	// proven nodes have applied the target, and have been well for the time of soak.
	Proven int32 `json:"proven"`
	// failed nodes failed with the target. A node that failed counts even if it is well again, or gone.
	Failed int32 `json:"failed"`
	// excluded nodes are affected and cannot show whether the target works: their agents are silent or disabled, or they failed before.
	Excluded int32 `json:"excluded"`
}

// RolloutFailure is a node where a revision failed.
type RolloutFailure struct {
	// node is the name of the node.
	// +kubebuilder:validation:MaxLength=253
	Node string `json:"node"`
	// reason is Failed, TimedOut, Silent or NotReady.
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason"`
	// message explains the reason.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Message string `json:"message,omitempty"`
	// at is when the manager noticed it.
	At metav1.Time `json:"at"`
}

// RolloutSample is a node that a rollout waits for.
type RolloutSample struct {
	// node is the name of the node.
	// +kubebuilder:validation:MaxLength=253
	Node string `json:"node"`
	// state is Applying, Soaking, Failed or Excluded.
	// +kubebuilder:validation:MaxLength=64
	State string `json:"state"`
	// message explains the state.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Message string `json:"message,omitempty"`
}

// RolloutRecord is a rollout that has ended.
type RolloutRecord struct {
	// revision that was rolled out.
	Revision string `json:"revision"`
	// outcome of the rollout.
	Outcome RolloutOutcome `json:"outcome"`
	// started is when it started.
	Started metav1.Time `json:"started"`
	// ended is when it ended.
	Ended metav1.Time `json:"ended"`
	// nodes when it ended.
	Nodes RolloutNodes `json:"nodes"`
}

// RolloutOutcome is how a rollout ended.
// +kubebuilder:validation:Enum=Completed;Unproven;Replaced
type RolloutOutcome string

// Outcomes of rollouts.
const (
	RolloutCompleted RolloutOutcome = "Completed" // every affected node that could has proven the revision
	RolloutUnproven  RolloutOutcome = "Unproven"  // it affected nodes, and none of them could try it
	RolloutReplaced  RolloutOutcome = "Replaced"  // another revision took its place before it had ended
)

// The length of CatalogRevisions in output: enough to tell them apart.
const shortRevision = 10

// ShortRevision returns the first characters of the hash in the name of a CatalogRevision, for people.
func ShortRevision(name string) string {
	const prefix = len("sha256-")
	if len(name) < prefix+shortRevision {
		return name
	}
	return name[prefix : prefix+shortRevision]
}

// AnnotationRetryRollout on a NodeCatalog makes the manager forget that a revision failed on the node, and the agent apply it again at once.
// Its value is the name of the CatalogRevision.
const AnnotationRetryRollout = "fettle.dev/retry-rollout"

// NodeRollout says which CatalogRevision the rest of a NodeCatalog's spec was made from.
type NodeRollout struct {
	// policy that took the node when this was written.
	// +kubebuilder:validation:MaxLength=253
	Policy string `json:"policy"`
	// revision that the spec was made from. A later revision may give the node the same spec.
	// +kubebuilder:validation:MaxLength=71
	Revision string `json:"revision"`
	// since is when the node was moved to the revision. Absent if it has had no other one.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
	// departed is when the node left the last revision that the policy has completed, if it has had another one since then, which was
	// replaced: what that broke must not pass for older than its fix.
	// +optional
	Departed *metav1.Time `json:"departed,omitempty"`
	// types are the definitions of the external types that the node's entries have, as the revision keeps them: the cluster may have
	// others.
	// +optional
	// +listType=map
	// +listMapKey=type
	Types []TypeDefinition `json:"types,omitempty"`
}

// RolloutPolicyList is a list of RolloutPolicies.
//
// +kubebuilder:object:root=true
type RolloutPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RolloutPolicy `json:"items"`
}
