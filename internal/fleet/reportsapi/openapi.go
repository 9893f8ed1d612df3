package reportsapi

import (
	"k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fettle-dev/fettle/api/reports/v1alpha1"
)

// definitions returns the schemas of the kinds, and of the types of Kubernetes that they refer to. Reports have no schema here: they
// have the format of fettle apply.
func definitions(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	all := openapi.GetOpenAPIDefinitions(ref)
	for _, d := range []struct {
		name        string
		description string
	}{
		{v1alpha1.NodeQuestion{}.OpenAPIModelName(), "NodeQuestion is a question to the agent of a node."},
		{v1alpha1.NodeQuestionList{}.OpenAPIModelName(), "NodeQuestionList is a list of NodeQuestions."},
		{v1alpha1.NodeAnswer{}.OpenAPIModelName(), "NodeAnswer answers the NodeQuestion of the same name."},
		{v1alpha1.NodeReport{}.OpenAPIModelName(), "NodeReport is the report of a run on a node. Its name is that of the node, a dot and a number."},
		{v1alpha1.NodeReportList{}.OpenAPIModelName(), "NodeReportList is a list of NodeReports."},
		{v1alpha1.NodeDiff{}.OpenAPIModelName(), "NodeDiff is how the host of the node with its name differs from its catalog now."},
		{v1alpha1.Plan{}.OpenAPIModelName(), "Plan is what a change of resources would do to the nodes of the cluster. It is created and never stored."},
	} {
		all[d.name] = common.OpenAPIDefinition{Schema: spec.Schema{
			SchemaProps:      spec.SchemaProps{Type: []string{"object"}, Description: d.description},
			VendorExtensible: spec.VendorExtensible{Extensions: spec.Extensions{"x-kubernetes-preserve-unknown-fields": true}},
		}}
	}
	return all
}
