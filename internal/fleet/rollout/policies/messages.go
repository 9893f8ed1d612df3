package policies

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/text"
)

// progress counts the nodes of a rollout, and adds a reason.
func (o Outcome) progress(reason string) string {
	if o.Status.Target == "" {
		return strings.Join(slices.DeleteFunc([]string{o.outstanding(), reason}, func(part string) bool { return part == "" }), "; ")
	}
	n := o.Status.Nodes
	parts := []string{fmt.Sprintf("revision %s: %d of %s proven", v1alpha1.ShortRevision(o.Status.Target), n.Proven, text.Count(int(n.Affected), "affected node"))}
	for _, p := range []struct {
		n    int32
		what string
	}{{max(0, n.Admitted-n.Proven-n.Failed), "in progress"}, {n.Failed, "failed"}, {n.Excluded, "excluded"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	line := strings.Join(parts, ", ")
	if failed := o.failed(); failed != "" {
		line += " (" + failed + ")"
	}
	if reason != "" {
		line += "; " + reason
	}
	return line
}

// outstanding counts the nodes that have yet to get the stable revision at rest, "" for none.
func (o Outcome) outstanding() string {
	if o.Elsewhere == 0 {
		return ""
	}
	return fmt.Sprintf("%s %s yet to get revision %s", text.Count(o.Elsewhere, "node"), text.Plural(o.Elsewhere, "has", "have"), v1alpha1.ShortRevision(o.Status.Stable))
}

// failed names nodes that failed, with reasons.
func (o Outcome) failed() string {
	var all []string
	for _, f := range o.Status.Failures {
		line := f.Node + " " + f.Reason
		if f.Message != "" {
			line += ": " + text.ClipMiddle(text.Line(f.Message), maxFailure)
		}
		all = append(all, line)
	}
	return text.ListOf(max(len(all), int(o.Status.Nodes.Failed)), all)
}

// maxFailure bounds the message of one node, in bytes.
const maxFailure = 200

func (o Outcome) halted() string {
	n := o.Status.Nodes
	limit, remedy := fmt.Sprintf("maxFailed allows %d", o.MaxFailed), "raise maxFailed, "
	if int(n.Failed) <= o.MaxFailed {
		limit, remedy = "none has proven it", ""
	}
	return fmt.Sprintf("revision %s is halted: %d of %s failed, and %s: %s; fix it in Git, %sor run kubectl fettle rollout undo %s",
		v1alpha1.ShortRevision(o.Status.Target), n.Failed, text.Count(int(n.Admitted), "admitted node"), limit, o.failed(), remedy, o.Policy)
}

func (o Outcome) conflict() string {
	verb := text.Plural(len(o.Conflicts), "is", "are")
	return fmt.Sprintf("%s %s selected by %s, too, and %s not changed: %s; change spec.nodeSelector of one of them",
		text.Count(len(o.Conflicts), "node"), verb, nameAll(o.ConflictWith), verb, text.List(o.Conflicts))
}

func (o Outcome) unproven() string {
	n := o.Status.Nodes
	line := fmt.Sprintf("revision %s: none of %s can try it", v1alpha1.ShortRevision(o.Status.Target), text.Count(int(n.Affected), "affected node"))
	var all []string
	for _, s := range o.Status.Samples {
		all = append(all, s.Node+": "+text.ClipMiddle(text.Line(s.Message), maxFailure))
	}
	if len(all) > 0 {
		line += " (" + text.ListOf(max(len(all), int(n.Excluded)), all) + ")"
	}
	return line + "; it goes on when one can"
}

// pending says what comes after the target, "" for nothing.
func (o Outcome) pending() string {
	switch {
	case o.Waits.Stops():
		return o.Waits.Message
	case o.Newest != "" && o.Newest != o.Status.Target && o.Aim != o.Status.Target:
		return "revision " + v1alpha1.ShortRevision(o.Newest) + " comes next"
	}
	return ""
}

// rest says where the nodes are, and adds a remark.
func (o Outcome) rest(remark string) string {
	line := fmt.Sprintf("revision %s: rolled out to %s", v1alpha1.ShortRevision(o.Status.Stable), text.Count(int(o.Status.Nodes.Total), "node"))
	if n := o.Status.Nodes.Excluded; n > 0 {
		line += fmt.Sprintf(", %d excluded", n)
	}
	if remark != "" {
		line += "; " + remark
	}
	return line
}
