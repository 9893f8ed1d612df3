package controllers

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// A sight is what a manager knows of a node beside what that reports.
type sight struct {
	progress progress
	had      bool // the node's spec contains the resource, or did
	held     bool // the node keeps a spec that contains it
	silent   bool
}

// remnant is how a resource that is being deleted still is on a node; the zero state where
// nothing of it can be left. A node that was never given it has nothing, whatever it reports,
// and neither has one whose agent never reported.
func remnant(ref v1alpha1.ResourceRef, node v1alpha1.NodeCatalogStatus, s sight) state {
	if !s.had || node.AgentVersion == "" && node.AppliedDigest == "" {
		return state{}
	}
	is := trouble(ref, node)
	if why := s.waitsFor(ref, node); is.ResourceState == "" && why != "" {
		is = state{ResourceState: v1alpha1.StatePending, message: why}
	}
	if is.message != "" && s.silent {
		return state{ResourceState: v1alpha1.StateUnknown, message: silence + "; before, " + is.message}
	}
	return is
}

// trouble is what a node reports of a resource that is not good.
func trouble(ref v1alpha1.ResourceRef, node v1alpha1.NodeCatalogStatus) state {
	for _, r := range node.Resources {
		if v1alpha1.ResourceRef(r.Ref) == ref && !good(r.State) {
			return state{ResourceState: r.State, message: cmp.Or(r.Message, changesText(r.Changes), "it said no more")}
		}
	}
	return state{}
}

// waitsFor is why a resource may still be on a node that reports nothing of it; "" if it
// can't be.
func (s sight) waitsFor(ref v1alpha1.ResourceRef, node v1alpha1.NodeCatalogStatus) string {
	switch {
	case s.held:
		return heldBack
	case s.progress.some[ref] || s.progress.all:
		return cmp.Or(stalledMessage(node), "the node has yet to apply its deletion")
	case node.Omitted > 0:
		return moreTrouble
	}
	return ""
}

// stalledMessage is why a node can't go on; "" if it can.
func stalledMessage(node v1alpha1.NodeCatalogStatus) string {
	if c := meta.FindStatusCondition(node.Conditions, v1alpha1.ConditionStalled); c != nil && c.Status == "True" {
		return c.Message
	}
	return ""
}

// namedNodes is how many nodes a message names.
const namedNodes = 3

// cleaning says whom a deletion waits for, and how it can be broken off.
func (d departure) cleaning() string {
	var named []string
	for _, s := range d.samples[:min(len(d.samples), namedNodes)] {
		named = append(named, fmt.Sprintf("%s (%s: %s)", s.Node, s.State, s.Message))
	}
	return fmt.Sprintf("deletionPolicy %s: %s yet to clean up: %s. To have it go without them: %s",
		d.resource.GetTargeting().DeletionPolicy, countOf(d.n, "node has", "nodes have"), listed(named, d.n),
		annotate(d.ref, v1alpha1.AnnotationAbandonCleanup, "true"))
}

// outcome is what the status of a resource says while it waits: it counts the nodes that it
// waits for.
func (d departure) outcome() outcome {
	return outcome{
		generation: d.resource.GetGeneration(),
		gathering:  gathering{counts: d.counts(d.n), samples: d.samples},
		cleaning:   d.cleaning(),
	}
}

func countOf(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// listed joins the first of n names.
func listed(names []string, n int) string {
	text := strings.Join(names, ", ")
	if n > len(names) {
		text += fmt.Sprintf(" and %d more", n-len(names))
	}
	return text
}

// annotate is the command that sets an annotation of a resource.
func annotate(ref v1alpha1.ResourceRef, annotation, value string) string {
	kind, name, _ := strings.Cut(string(ref), "/")
	return fmt.Sprintf("kubectl annotate %s.%s %s %s=%s", strings.ToLower(kind), v1alpha1.GroupVersion.Group, name, annotation, value)
}
