package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version.
var GroupVersion = schema.GroupVersion{Group: "reports.fettle.dev", Version: "v1alpha1"}

// FieldNode is the field selector that lists the NodeReports of a node.
const FieldNode = "node"

// A Topic is what a question is about.
type Topic string

// The topics.
const (
	// TopicReports asks for the reports of the node's runs, the latest ones.
	TopicReports Topic = "Reports"
	// TopicDifference asks how the host differs from its catalog now.
	TopicDifference Topic = "Difference"
	// TopicPlan asks what the Proposal of the question would do to the host.
	TopicPlan Topic = "Plan"
)

// SubresourceAnswer is the subresource of a NodeQuestion that an agent creates to answer it, with a NodeAnswer. API servers
// take requests for it for long-running, so that none occupies a seat of their queues for as long as its body takes.
const SubresourceAnswer = "attach"

// MaxAnswerBytes is the size of the largest answer, as JSON.
const MaxAnswerBytes = 1 << 20

// A NodeQuestion is a question to the agent of a node.
//
// +kubebuilder:object:root=true
type NodeQuestion struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Topic Topic `json:"topic"`
	// Seconds is how long somebody waits for the answer.
	Seconds int32 `json:"seconds"`
	// Proposal is a change of the node's catalog, for TopicPlan.
	Proposal *Proposal `json:"proposal,omitempty"`
}

// NodeQuestionList is a list of NodeQuestions.
//
// +kubebuilder:object:root=true
type NodeQuestionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	Items []NodeQuestion `json:"items"`
}

// A NodeAnswer answers the NodeQuestion of the same name.
//
// +kubebuilder:object:root=true
type NodeAnswer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	// Problem is why there is no answer; "" if there is one.
	Problem string `json:"problem,omitempty"`
	// Reports are the reports of runs, the latest last. For TopicDifference and TopicPlan, it is the report of one run that
	// changed nothing.
	Reports []NumberedReport `json:"reports,omitempty"`
}

// A NumberedReport is the report of a run, as JSON of fettle apply and fettle plan.
type NumberedReport struct {
	// Number counts the reports that the node stored.
	Number int64                `json:"number,omitempty"`
	Report runtime.RawExtension `json:"report"`
}

// A NodeReport is the report of a run on a node. Its name is the node's name, a dot and a number.
//
// +kubebuilder:object:root=true
type NodeReport struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Node           string `json:"node"`
	NumberedReport `json:",inline"`
}

// NodeReportList is a list of NodeReports.
//
// +kubebuilder:object:root=true
type NodeReportList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	Items []NodeReport `json:"items"`
}

// A NodeDiff is how the host of the node with its name differs from its catalog now: the report of a run that changes nothing.
// Resources that a question must not check, such as an Exec, are skipped.
//
// +kubebuilder:object:root=true
type NodeDiff struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Report runtime.RawExtension `json:"report"`
}

// AddToScheme registers every kind.
func AddToScheme(s *runtime.Scheme) error {
	add(s, GroupVersion)
	metav1.AddToGroupVersion(s, GroupVersion)
	return s.AddFieldLabelConversionFunc(GroupVersion.WithKind("NodeReport"), selectByNode)
}

// AddInternalToScheme registers every kind also as its own internal version, for a server.
func AddInternalToScheme(s *runtime.Scheme) error {
	add(s, schema.GroupVersion{Group: GroupVersion.Group, Version: runtime.APIVersionInternal})
	return nil
}

func add(s *runtime.Scheme, gv schema.GroupVersion) {
	s.AddKnownTypes(gv, &NodeQuestion{}, &NodeQuestionList{}, &NodeAnswer{}, &NodeReport{}, &NodeReportList{}, &NodeDiff{}, &Plan{})
}
