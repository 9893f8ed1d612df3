package catalog

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// Compile makes the catalogs of a fleet. It is pure: the order of the input changes
// nothing, and the input is not changed.
func Compile(input Input) Result {
	return new(Compiler).Compile(input)
}

// Compile is [Compile], with what was the same the last time as it was then.
func (c *Compiler) Compile(input Input) Result {
	c.begin(input.Kinds)
	p := c.plan(sortedResources(input.Resources), draftingOf(input, false), 1, c.nodesOf(subjects(input), (*selection).matches))
	result := Result{
		Catalogs: map[string]*v1alpha1.Catalog{},
		Nodes:    make(map[string]*NodeResult, len(input.Nodes)),
		Selected: make(map[v1alpha1.ResourceRef][]string, len(p.drafts)),
	}
	c.compare(p)
	t := &tally{classes: map[*class][]string{}}
	for _, n := range p.nodes.all {
		s := c.share(p, n)
		result.Nodes[n.Name] = s.result
		t.count(s, c.was.shares[n.Name])
	}
	c.is.selected = c.selectedBy(t)
	for _, of := range p.targets {
		nodes := c.is.selected[of.selection]
		for _, d := range of.drafts {
			result.Selected[d.ref] = nodes
		}
		if len(nodes) > 0 {
			maps.Copy(result.Catalogs, of.catalogs)
		}
	}
	result.Problems = t.problems(p, result.Selected)
	c.end()
	return result
}

// selectedBy are the nodes of each selection: those of the last time, where no node has
// come, gone or moved.
func (c *Compiler) selectedBy(t *tally) map[*selection][]string {
	if !t.moved && len(t.shares) == len(c.was.shares) {
		return c.was.selected
	}
	selected := make(map[*selection][]string, len(c.is.selections))
	for _, s := range t.shares {
		for _, of := range s.targets {
			selected[of.selection] = append(selected[of.selection], s.node.Name)
		}
	}
	return selected
}

// A tally is what shares come to.
type tally struct {
	shares  []*share // by name of their node
	classes map[*class][]string
	moved   bool // some node is selected by others than the last time
	found   findings
}

func (t *tally) count(s, was *share) {
	t.moved = t.moved || was == nil || was != s && !sameSelections(s, was)
	t.shares = append(t.shares, s)
	t.classes[s.class] = append(t.classes[s.class], s.node.Name)
	t.found.addOwn(s)
}

func sameSelections(a, b *share) bool {
	return slices.EqualFunc(a.targets, b.targets, func(a, b *target) bool { return a.selection == b.selection })
}

// problems are what keeps resources from one node, from nodes of a class, and from all.
func (t *tally) problems(p *plan, selected map[v1alpha1.ResourceRef][]string) []Problem {
	for c, nodes := range t.classes {
		t.found.addClass(c, nodes)
	}
	for _, d := range p.drafts {
		if d.fault != nil {
			t.found.add(d.ref, d.fault, selected[d.ref]...)
		}
	}
	return t.found.problems(selected)
}

// addOwn adds what keeps resources from one node alone.
func (fs *findings) addOwn(s *share) {
	for d, f := range s.blocked {
		if d.fault == nil {
			fs.add(d.ref, f, s.node.Name)
		}
	}
}

// addClass adds what can't go together on nodes of a class.
func (fs *findings) addClass(c *class, nodes []string) {
	for position, faults := range c.survey.faults {
		for _, f := range faults {
			fs.add(c.members[position].ref, f, nodes...)
		}
	}
}

func sortedResources(all []v1alpha1.Resource) []v1alpha1.Resource {
	return slices.SortedFunc(slices.Values(all), compareResources)
}

// compareResources goes by kind and name; then by the whole resource, as an input may
// hold two of one name.
func compareResources(a, b v1alpha1.Resource) int {
	byName := cmp.Or(strings.Compare(a.KindName(), b.KindName()), strings.Compare(a.GetName(), b.GetName()))
	if byName != 0 || a == b {
		return byName
	}
	return strings.Compare(encoded(a), encoded(b))
}

func encoded(r v1alpha1.Resource) string {
	raw, err := json.Marshal(r)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// subjects are the nodes of an input, by name.
func subjects(input Input) []*subject {
	all := make([]*subject, len(input.Nodes))
	for i, n := range input.Nodes {
		all[i] = &subject{Node: n, seal: input.Seal}
	}
	slices.SortFunc(all, func(a, b *subject) int { return strings.Compare(a.Name, b.Name) })
	return all
}
