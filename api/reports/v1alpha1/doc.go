// Package v1alpha1 defines the API reports.fettle.dev, which the manager serves and which stores nothing: what nodes answer to
// questions.
//
// An agent watches NodeQuestions of its own node, and creates a NodeAnswer for each. A NodeReport and a NodeDiff are made of such
// answers, while their caller waits. What they say is what the node says.
//
// +kubebuilder:object:generate=true
package v1alpha1
