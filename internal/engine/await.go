package engine

import (
	"errors"
	"strings"

	"github.com/fettle-dev/fettle/internal/resource"
)

// A run that only reports meets a host on which nothing of the run was applied. What can't
// be told there, because an apply would first change other resources, is no failure.

// await notes what would be changed before a resource, if it only reports.
func (r *run) await(e *entry) {
	if e.situation.Noop {
		e.situation.Pending = r.pendingBefore(e, func(*entry) bool { return true })
	}
}

// awaitAny is await for what any resource may bring: a provider is looked for again after
// each change, whatever the order.
func (r *run) awaitAny(e *entry) {
	r.await(e)
	if e.situation.Noop && len(e.situation.Pending) == 0 {
		e.situation.Pending = refsOf(r.entries, func(o *entry) bool { return o.pending })
	}
}

// pendingBefore are the pending resources that one comes after, directly or not, in the
// order of the catalog.
func (r *run) pendingBefore(e *entry, of func(*entry) bool) []resource.Ref {
	seen := make([]bool, len(r.entries))
	next := []int{e.node}
	for len(next) > 0 {
		n := next[len(next)-1]
		next = next[:len(next)-1]
		if !seen[n] {
			seen[n] = true
			next = append(next, r.plan.before[n]...)
		}
	}
	return refsOf(r.entries, func(o *entry) bool { return seen[o.node] && o != e && o.pending && of(o) })
}

func refsOf(entries []*entry, which func(*entry) bool) []resource.Ref {
	var refs []resource.Ref
	for _, e := range entries {
		if which(e) {
			refs = append(refs, e.Ref)
		}
	}
	return refs
}

// hindrance is what would make the changes of a resource fail, nil for nothing: the error of
// its check, but for what the run would have put right before.
func (r *run) hindrance(e *entry, err error) error {
	if err == nil || len(r.pendingBefore(e, func(o *entry) bool { return o.Resource.SideEffects() })) > 0 {
		return nil
	}
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	var left []error
	for _, err := range all {
		if !r.mends(err) {
			left = append(left, err)
		}
	}
	return errors.Join(left...)
}

// mends reports whether an error is about something missing that the run would have made by
// now, or about what would do as well.
func (r *run) mends(err error) bool {
	missing, ok := errors.AsType[*resource.MissingError](err)
	return ok && (r.makes(missing) || r.mends(missing.Err))
}

// makes reports whether the run would have made what is missing.
func (r *run) makes(missing *resource.MissingError) bool {
	if !strings.HasSuffix(missing.Name, "/") {
		return r.made[key{missing.Kind, missing.Name}]
	}
	for made := range r.made {
		if made.kind == missing.Kind && strings.HasPrefix(made.name, missing.Name) {
			return true
		}
	}
	return false
}
