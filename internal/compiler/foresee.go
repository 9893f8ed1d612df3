package compiler

import (
	"maps"
	"slices"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// CompileFrom compiles a fleet once whose nodes keep what base has of resources at fault: see [Fleet.KeepFrom]. The problems are also those of
// what is kept. nil keeps nothing. Other compilers may use base at the same time.
func CompileFrom(in Input, base *Revision) Result {
	if base == nil {
		return Compile(in)
	}
	c := new(Compiler)
	fleet, draft := c.bounded(in), c.Draft(in)
	if result := fleet.Assign(draft, nil, in.Seal); result.Err != nil {
		return result
	}
	r, kept := fleet.KeepFrom(draft, c.adopt(base), in.Seal)
	result := fleet.Assign(r, nil, in.Seal)
	result.Problems = slices.Concat(result.Problems, KeptProblems(kept))
	return result
}

// adopt returns a revision whose targetings are compiled by this compiler, because compiled expressions are not safe for concurrent use.
func (c *Compiler) adopt(r *Revision) *Revision {
	drafts := make([]*Draft, len(r.Drafts))
	for i, d := range r.Drafts {
		is := *d
		drafts[i] = &is
	}
	return packed(drafts, r.definitions, c.selection)
}

// KeptProblem explains that nodes keep an earlier entry of a resource that is at fault.
func KeptProblem(ref v1alpha1.ResourceRef, f *Fault) Problem {
	return Problem{Ref: ref, Reason: f.Reason, Message: f.Message + "; nodes keep what was rolled out before"}
}

// KeptProblems returns the problem of each resource that is at fault and of which nodes keep an earlier entry.
func KeptProblems(faults map[v1alpha1.ResourceRef]*Fault) (all []Problem) {
	for _, ref := range slices.Sorted(maps.Keys(faults)) {
		all = append(all, KeptProblem(ref, faults[ref]))
	}
	return all
}
