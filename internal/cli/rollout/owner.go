package rollout

import (
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/overview"
)

// lastApplied is the annotation in which kubectl apply and Argo CD store what they apply.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// gitTools returns the tools that apply what is in Git, again and again, by their field managers.
func gitTools() map[string]string {
	return map[string]string{
		"kustomize-controller": "Flux (kustomize-controller)", "helm-controller": "Flux (helm-controller)", "argocd-controller": "Argo CD",
	}
}

// reverter returns what will set a field of the spec again as it was, such as Argo CD; "" for nothing.
func reverter(p v1alpha1.RolloutPolicy, field string) string {
	tools := gitTools()
	applier := ""
	for _, m := range p.ManagedFields {
		if m.Manager == overview.FieldManager || !ownsSpec(m, field) {
			continue
		}
		if tool := tools[m.Manager]; tool != "" {
			return tool
		}
		if m.Operation == metav1.ManagedFieldsOperationApply {
			applier = "the next server-side apply of " + m.Manager
		}
	}
	if applier == "" && appliedSpec(p, field) {
		return "the next kubectl apply"
	}
	return applier
}

// ownsSpec reports whether an entry of managedFields has a field of the spec.
func ownsSpec(m metav1.ManagedFieldsEntry, field string) bool {
	var owned struct {
		Spec map[string]json.RawMessage `json:"f:spec"`
	}
	if m.FieldsV1 == nil || json.Unmarshal(m.FieldsV1.GetRawBytes(), &owned) != nil {
		return false
	}
	_, owns := owned.Spec["f:"+field]
	return owns
}

// appliedSpec reports whether the configuration that was applied last sets a field of the spec.
func appliedSpec(p v1alpha1.RolloutPolicy, field string) bool {
	var applied struct {
		Spec map[string]json.RawMessage `json:"spec"`
	}
	if json.Unmarshal([]byte(p.Annotations[lastApplied]), &applied) != nil {
		return false
	}
	_, sets := applied.Spec[field]
	return sets
}

// warnings say which of the changed fields will be reverted, and what to commit instead.
func warnings(p v1alpha1.RolloutPolicy, changes []change) (lines []string) {
	for _, c := range changes {
		if by := reverter(p, c.field); by != "" {
			lines = append(lines, fmt.Sprintf("warning: spec.%s of RolloutPolicy %s is set by its manifest, so %s will revert this: %s", c.field, p.Name, by, c.remedy()))
		}
	}
	return lines
}

// remedy says what to commit for a change.
func (c change) remedy() string {
	if c.value == nil {
		return fmt.Sprintf("remove spec.%s from the manifest, too", c.field)
	}
	return strings.TrimSpace(fmt.Sprintf("write spec.%s: %v into the manifest, too", c.field, c.value))
}
