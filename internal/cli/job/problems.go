package job

import (
	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/selection"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/resource"
)

// reportsOf turns the compiler's problems with selected resources into reports: a resource at fault has failed, one
// that depends on it is skipped. If none that is at fault is selected, those that depend on it have failed: nothing else would say
// that the selection cannot be applied.
func reportsOf(problems []compiler.Problem, selected selection.Selection) []report.ResourceReport {
	var out []report.ResourceReport
	at, atFault := map[v1alpha1.ResourceRef]int{}, false
	for _, p := range problems {
		if i, ok := at[p.Ref]; ok {
			out[i].Message += "; " + p.Message
			continue
		}
		ref, err := resource.ParseRef(string(p.Ref))
		if err != nil || !selected.Has(ref) { // never an error: the compiler made it from a kind and a name
			continue
		}
		at[p.Ref] = len(out)
		state := report.Failed
		if p.Reason == v1alpha1.ReasonDependsOnProblem {
			state = report.Skipped
		} else {
			atFault = true
		}
		out = append(out, report.ResourceReport{Ref: report.Ref(ref), State: state, Message: p.Message})
	}
	for i := range out {
		if !atFault {
			out[i].State = report.Failed
		}
	}
	return out
}
