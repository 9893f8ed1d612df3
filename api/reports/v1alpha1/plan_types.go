package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	fettle "github.com/fettle-dev/fettle/api/v1alpha1"
)

// Limits of a Plan.
const (
	// MaxPlanBytes is the size of the largest request, as JSON.
	MaxPlanBytes = 3 << 20
	// MaxProposalBytes is the size of the largest change of one node's catalog that is sent to the node, as JSON.
	MaxProposalBytes = 1 << 20
	// MaxPlanReports is the size of all reports in one response, as JSON.
	MaxPlanReports = 8 << 20
	// MaxPlanChanges is the number of changed resources that a group lists, and of problems that a Plan lists.
	MaxPlanChanges = 100
	// MaxListedChanges is the number of changed resources that all groups of a response list.
	MaxListedChanges = 20_000
)

// NotChecked begins the messages about resources that a question must not check.
const NotChecked = "not checked: "

// NotCompared begins the messages about resources with attributes that a question must not compare. The others are compared.
const NotCompared = "not compared: "

// A Plan is what a change of resources would do to the nodes of the cluster. It is created and never stored: the response has its
// status. Nodes are asked in the order of their names, and one response has the answers of those that were asked in time.
//
// +kubebuilder:object:root=true
type Plan struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   PlanSpec   `json:"spec"`
	Status PlanStatus `json:"status,omitzero"`
}

// A PlanSpec is the change, and which nodes are asked.
type PlanSpec struct {
	// Manifests are the resources to be created or replaced, and ConfigMaps that they refer to.
	Manifests []PlanManifest `json:"manifests,omitempty"`
	// Prune deletes the resources that the manifests lack.
	Prune bool `json:"prune,omitempty"`
	// Selector limits Prune to resources with these labels; "" does not.
	Selector string `json:"selector,omitempty"`
	// Sample is how many nodes are asked of those whose catalogs change in the same way; 0 asks all.
	Sample int32 `json:"sample,omitempty"`
	// Continue skips the nodes up to this one: the value of Continue in the last response.
	Continue string `json:"continue,omitempty"`
}

// A PlanManifest is a text with YAML or JSON documents.
type PlanManifest struct {
	// Name is the name of the file, for messages.
	Name string `json:"name"`
	Text string `json:"text"`
}

// A PlanStatus is what the change would do.
type PlanStatus struct {
	// Total is the number of nodes in the cluster. Affected is the number of nodes whose catalogs would change.
	Total    int32 `json:"total"`
	Affected int32 `json:"affected"`
	// Groups are the affected nodes of this response. All nodes of a group have the same outcome.
	Groups []PlanGroup `json:"groups"`
	// Problems are resources that nodes would not get: because of the change, or because it would not solve a problem of its own
	// resources.
	Problems []PlanProblem `json:"problems,omitempty"`
	// OmittedProblems is the number of problems beyond the list.
	OmittedProblems int32 `json:"omittedProblems,omitempty"`
	// Notes are about manifests that are not part of the plan.
	Notes []string `json:"notes,omitempty"`
	// Continue is the Continue of the next request; "" if there are no more nodes.
	Continue string `json:"continue,omitempty"`
}

// An Answer says how a node answered.
type Answer string

// The answers.
const (
	// AnswerReport means that the nodes answered with the report of the group.
	AnswerReport Answer = "Report"
	// AnswerNone means that there is no answer, and the message says why.
	AnswerNone Answer = "None"
	// AnswerNotAsked means that the nodes are not among the sample, or that the caller may not know what is on hosts; then the message
	// says so.
	AnswerNotAsked Answer = "NotAsked"
	// AnswerWaiting means that the nodes are not asked, because they wait for a rollout: they cannot compare the change with a revision
	// that they don't have. The message says which one they have.
	AnswerWaiting Answer = "Waiting"
)

// A PlanGroup are nodes with the same outcome.
type PlanGroup struct {
	// Key is the same for groups with the same outcome in other responses.
	Key string `json:"key"`
	// Nodes are sorted.
	Nodes []string `json:"nodes"`
	// Changes are the changes of the nodes' catalogs, of those that the newest revision gives to nodes that wait for a rollout.
	Changes []PlanChange `json:"changes"`
	// OmittedChanges is the number of changes beyond the list.
	OmittedChanges int32  `json:"omittedChanges,omitempty"`
	Answer         Answer `json:"answer"`
	Message        string `json:"message,omitempty"`
	// Report is the report of the first node, with the resources that the change affects: a run that changed nothing. It has no values and
	// diffs unless the caller may get NodeDiffs. It is omitted from answers that are too many or too large.
	Report *runtime.RawExtension `json:"report,omitempty"`
	// Generated is the number of other resources that the change affects, such as the files below a recursive File. The report
	// has them if the caller may get NodeDiffs: their names are contents of the host.
	Generated int32 `json:"generated,omitempty"`
}

// An Action is what a change does to a resource in a catalog.
type Action string

// The actions.
const (
	ActionAdd      Action = "Add"
	ActionChange   Action = "Change"
	ActionRemove   Action = "Remove"
	ActionWithhold Action = "Withhold"
)

// A PlanChange is a change of a catalog.
type PlanChange struct {
	Ref    fettle.ResourceRef `json:"ref"`
	Action Action             `json:"action"`
	// Reason and Message are why the resource is withheld.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Noop means that nodes only report what they would change.
	Noop bool `json:"noop,omitempty"`
}

// A PlanProblem withholds a resource from nodes.
type PlanProblem struct {
	Ref     fettle.ResourceRef `json:"ref"`
	Reason  string             `json:"reason"`
	Message string             `json:"message"`
	// Nodes is the number of nodes; 0 means all that the resource selects.
	Nodes int32 `json:"nodes,omitempty"`
	// Stays is set if the change does not cause the problem, but leaves a resource of its own withheld as it is now.
	Stays bool `json:"stays,omitempty"`
}

// A Proposal is a change of a node's catalog, for TopicPlan.
type Proposal struct {
	// Base is the digest of the catalog that it changes.
	Base string `json:"base"`
	// Digest is the digest of the result.
	Digest string `json:"digest"`
	// Entries are new, or replace the entries with the same kind and name.
	Entries []fettle.CatalogEntry `json:"entries,omitempty"`
	// Remove are the entries that are left out.
	Remove []fettle.ResourceRef `json:"remove,omitempty"`
	// Withheld are all resources that the node would not get although they select it.
	Withheld []fettle.ResourceRef `json:"withheld,omitempty"`
	// Reasons are why, and where they manage something. Older managers send none.
	Reasons []fettle.Withheld `json:"reasons,omitempty"`
}
