package overview

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/state"
)

// A Control is the part of a NodeCatalog, or of the Fleet, that says whether runs are disabled.
type Control struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Disabled      *v1alpha1.Disabled `json:"disabled"`
		FleetDisabled *v1alpha1.Disabled `json:"fleetDisabled"` // of a NodeCatalog
	} `json:"spec"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

// is reports whether spec.disabled is d.
func (c Control) is(d *v1alpha1.Disabled) bool {
	return equality.Semantic.DeepEqual(c.Spec.Disabled, d)
}

// WithoutOwn is the control once runs are enabled for the node itself.
func (c Control) WithoutOwn() Control {
	c.Spec.Disabled = nil
	return c
}

// WithoutFleet is the control once runs are enabled for all nodes.
func (c Control) WithoutFleet() Control {
	c.Spec.FleetDisabled = nil
	return c
}

// Remains says by what runs are disabled on a node, and how to enable them; "" if they are not. The host's own part is from the last
// report of its agent.
func (c Control) Remains(now time.Time) string {
	var by []string
	if c.Spec.Disabled.InEffect(now) {
		by = append(by, fmt.Sprintf("disabled%s: use kubectl fettle enable %s", terms(c.Spec.Disabled), c.Name))
	}
	if c.Spec.FleetDisabled.InEffect(now) {
		by = append(by, fmt.Sprintf("disabled with all nodes%s: use kubectl fettle enable --all", terms(c.Spec.FleetDisabled)))
	}
	ready := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionReady)
	if ready != nil && ready.Reason == v1alpha1.ReasonDisabled && strings.HasPrefix(ready.Message, state.DisabledOnHost) {
		by = append(by, "disabled on its host: use fettle enable there")
	}
	return strings.Join(by, "; ")
}

// terms are the end and the reason of what is disabled.
func terms(d *v1alpha1.Disabled) string {
	if d.Reason == "" {
		return until(d)
	}
	return until(d) + " (" + d.Reason + ")"
}

// until is when runs resume by themselves; "" for never.
func until(d *v1alpha1.Disabled) string {
	if d.Until == nil {
		return ""
	}
	return " until " + d.Until.UTC().Format(time.RFC3339)
}

// DisabledLine says that what was before is disabled now. done says whether that is so.
func DisabledLine(what string, before Control, now *v1alpha1.Disabled, done string) string {
	if before.is(now) {
		return what + " already disabled" + terms(now)
	}
	return what + " disabled" + terms(now) + done
}

// EnabledLine says that what was before is enabled now, except by what remains.
func EnabledLine(what string, before Control, remains, done string) string {
	switch {
	case before.Spec.Disabled != nil && remains != "":
		return what + " enabled" + done + ", but remains " + remains
	case before.Spec.Disabled != nil:
		return what + " enabled" + done
	case remains != "":
		return what + " remains " + remains
	}
	return what + " not disabled"
}
