package cli

import (
	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/manifest"
	"github.com/fettle-dev/fettle/internal/resource"
)

// refusals are what is wrong with each resource, with the place.
func refusals(faults []manifest.Fault) map[v1alpha1.ResourceRef]string {
	all := map[v1alpha1.ResourceRef]string{}
	for _, f := range faults {
		if f.Ref == "" {
			continue
		}
		text := f.Where + ": " + f.Message
		if before := all[f.Ref]; before != "" {
			text = before + "; " + text
		}
		all[f.Ref] = text
	}
	return all
}

// refused turns what the compiler left out into reports: a resource that is at
// fault failed, one that depends on such was skipped. Those that the run is not about are
// left out.
func refused(problems []compiler.Problem, selected selection) []engine.ResourceReport {
	var out []engine.ResourceReport
	at := map[v1alpha1.ResourceRef]int{}
	for _, p := range problems {
		if i, ok := at[p.Ref]; ok {
			out[i].Message += "; " + p.Message
			continue
		}
		ref, err := resource.ParseRef(string(p.Ref))
		if err != nil { // the compiler made it from a kind and a name
			continue
		}
		if !selected.has(ref) {
			continue
		}
		at[p.Ref] = len(out)
		state := engine.Failed
		if p.Reason == v1alpha1.ReasonDependsOnProblem {
			state = engine.Skipped
		}
		out = append(out, engine.ResourceReport{Ref: engine.Ref(ref), State: state, Message: p.Message})
	}
	return out
}

// leftOut are those that the run is not about. They belong to the host all the same: a Purge
// must know that it does not see everything.
func leftOut(problems []compiler.Problem, selected selection) []resource.Ref {
	var out []resource.Ref
	for _, p := range problems {
		if ref, err := resource.ParseRef(string(p.Ref)); err == nil && !selected.has(ref) {
			out = append(out, ref)
		}
	}
	return out
}
