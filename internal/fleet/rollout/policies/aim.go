package policies

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/rollout"
	"github.com/fettle-dev/fettle/internal/text"
)

// An Aim is the revision that a policy may roll out now.
type Aim struct {
	// Revision may be rolled out. "" for none: the policy stays where it is.
	Revision string
	// Pinned is true if spec.revision decides.
	Pinned bool
	// Waits is why Revision is not the newest. It stops nothing if it is.
	Waits Stop
}

// Aim returns the revision that a policy may roll out: the one that its spec.revision names, or the newest that the policies of its
// spec.after have completed. It waits for none of these with a revision that it has completed itself. exists reports whether a revision is still stored. A policy that does not exist aims at the newest.
func (s *Set) Aim(name, newest string, exists func(revision string) bool) Aim {
	p := s.named[name]
	switch {
	case p == nil:
		return Aim{Revision: newest}
	case p.Spec.Revision != "":
		return p.pinned(newest, exists)
	}
	missing := s.YetToComplete(name, newest)
	if newest == "" || len(missing) == 0 || includes(p.completed(), newest) {
		return Aim{Revision: newest}
	}
	return Aim{Revision: s.behind(p), Waits: Stop{Reason: v1alpha1.ReasonWaitingForPolicy, Message: fmt.Sprintf(
		"revision %s waits until %s %s completed it", v1alpha1.ShortRevision(newest), nameAll(missing), text.Plural(len(missing), "has", "have"))}}
}

// pinned ignores spec.after: a person decided.
func (p *policy) pinned(newest string, exists func(revision string) bool) Aim {
	pin := p.Spec.Revision
	switch {
	case !exists(pin):
		return Aim{Pinned: true, Waits: invalid(fmt.Sprintf("spec.revision: revision %s is not kept any more; %s", text.Line(pin), p.alternatives()))}
	case pin == newest:
		return Aim{Revision: pin, Pinned: true}
	}
	return Aim{Revision: pin, Pinned: true, Waits: Stop{Reason: v1alpha1.ReasonPinned, Message: fmt.Sprintf(
		"spec.revision pins the nodes to %s, and %s is the newest: to get it, remove spec.revision, or run kubectl fettle rollout resume %s",
		v1alpha1.ShortRevision(pin), v1alpha1.ShortRevision(newest), p.Name)}}
}

// alternatives are what spec.revision could name instead of a revision that is gone.
func (p *policy) alternatives() string {
	var names []string
	for _, r := range p.Status.History {
		if !slices.Contains(names, r.Revision) {
			names = append(names, r.Revision)
		}
	}
	if len(names) == 0 {
		return "history has none: remove spec.revision"
	}
	return fmt.Sprintf("history has %s: name one of these, or remove spec.revision", text.List(names))
}

// YetToComplete returns the names, sorted, in spec.after of a policy that have not completed a revision, or don't exist.
func (s *Set) YetToComplete(name, revision string) (missing []string) {
	p := s.named[name]
	if p == nil {
		return nil
	}
	for _, name := range p.Spec.After {
		if before := s.named[name]; before == nil || !before.isDoneWith(revision) {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	return missing
}

// isDoneWith reports whether a policy has completed a revision. One that it got without a rollout, and is leaving, does not count, nor does one
// that people have undone: the policy is pinned to another one.
func (p *policy) isDoneWith(revision string) bool {
	if pin := p.Spec.Revision; pin != "" && pin != revision {
		return false
	}
	return p.Status.Stable == revision && p.Status.Target == "" || rollout.Completed(p.Status.History, revision)
}

// behind returns the revision that a policy may roll out while the newest has yet to be completed by others. It never returns to one
// that it has completed itself.
func (s *Set) behind(p *policy) string {
	var all []*policy
	for _, name := range p.Spec.After {
		if s.named[name] == nil {
			return ""
		}
		all = append(all, s.named[name])
	}
	last := lastCompletedByAll(all)
	if includes(p.completed(), last) {
		return ""
	}
	return last
}

// nameAll is "policy staging", or "policies qa, staging".
func nameAll(names []string) string {
	return text.Plural(len(names), "policy", "policies") + " " + strings.Join(names, ", ")
}
