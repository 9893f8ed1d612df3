package manifest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/graph"
	"github.com/fettle-dev/fettle/internal/text"
)

// rolloutPolicy is the kind of policies. They are for clusters: hosts ignore them.
const rolloutPolicy = "RolloutPolicy"

// A Policy is a RolloutPolicy that an API server would accept, and its place.
type Policy struct {
	*v1alpha1.RolloutPolicy
	where string
	after []string // the places of the names in spec.after
}

// addPolicy adds a RolloutPolicy. It is not in the cache, which has only what hosts need.
func (b *batch) addPolicy(ctx context.Context, o object, h head) {
	b.cached.skip()
	if h.nameless() {
		b.reject(o, subject{}, fieldError{"metadata.name", "is missing: give this " + h.Kind + " a name"})
		return
	}
	k, err := b.schemas[rolloutPolicy]()
	if err != nil {
		b.reject(o, h.other(), fieldError{"", err.Error()})
		return
	}
	p := &v1alpha1.RolloutPolicy{}
	errs, _ := check(ctx, o, k, p)
	if o.duplicates != nil {
		errs = append(errs, fieldError{"", o.duplicates.Error()})
	}
	if len(errs) > 0 {
		b.reject(o, h.other(), errs...)
		return
	}
	added := Policy{RolloutPolicy: p, where: b.where(o)}
	for i := range p.Spec.After {
		added.after = append(added.after, fmt.Sprintf("%s:%d", o.file, b.layout(o.part).line(joined(o.path, fmt.Sprintf("spec.after[%d]", i)))))
	}
	b.Policies = append(b.Policies, added)
}

// PolicyFaults returns the faults of the policies as a whole: names that occur twice, names in after that no policy has, and cycles. Whether
// two policies select the same node depends on the cluster. Unknown names are no faults if documents could not be read.
func (s *Set) PolicyFaults() (faults []Fault) {
	number := map[string]int{}
	for i, p := range s.Policies {
		if first, twice := number[p.Name]; twice {
			faults = append(faults, p.fault(p.where, "is already in "+s.Policies[first].where+"; rename or remove one"))
			continue
		}
		number[p.Name] = i
	}
	order := graph.New(len(s.Policies))
	incomplete := slices.ContainsFunc(s.Faults, func(f Fault) bool { return f.Ref == "" })
	for i, p := range s.Policies {
		for j, name := range p.Spec.After {
			other, known := number[name]
			switch {
			case known:
				order.Add(other, i)
			case !incomplete:
				faults = append(faults, p.fault(p.after[j], unknownPolicy(name, number)))
			}
		}
	}
	return append(faults, s.policyCycles(order)...)
}

func (p Policy) fault(where, message string) Fault {
	return Fault{Where: where, Object: rolloutPolicy + "/" + p.Name, Message: message}
}

func unknownPolicy(name string, known map[string]int) string {
	message := fmt.Sprintf("spec.after: names %s, which does not exist", name)
	if near := nearest(name, known); near != "" {
		return message + "; did you mean " + near + "?"
	}
	return message + "; there are " + text.List(slices.Sorted(maps.Keys(known)))
}

// policyCycles returns a fault for each policy in a cycle of after.
func (s *Set) policyCycles(order *graph.Graph) (faults []Fault) {
	for _, cycle := range order.Cycles() {
		names := make([]string, 0, len(cycle)+1)
		for _, i := range slices.Backward(cycle) { // each is after the next one
			names = append(names, s.Policies[i].Name)
		}
		names = append([]string{s.Policies[cycle[0]].Name}, names...)
		slices.Sort(cycle)
		for _, i := range cycle {
			faults = append(faults, s.Policies[i].fault(s.Policies[i].where, "spec.after: "+strings.Join(names, " -> ")+" is a cycle: remove one of these names"))
		}
	}
	return faults
}
