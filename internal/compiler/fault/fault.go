// Package fault describes why resources are withheld from nodes: faults, and the problems that they become.
package fault

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/text"
)

// A Problem withholds a resource from one node, or from all nodes that it selects.
type Problem struct {
	Ref     v1alpha1.ResourceRef
	Node    string // "" for every node that it selects
	Reason  string // one of the reasons in api/v1alpha1
	Message string // names the value at fault and the fix
	Edge    Edge
}

// An Edge is a reference at fault: the attribute that has it, such as require, and the reference. The zero value is none.
type Edge struct {
	Attribute string
	Ref       v1alpha1.ResourceRef
}

// A Fault is a problem that is not yet attributed to a resource and a node.
type Fault struct {
	Reason  string // one of the reasons in api/v1alpha1
	Message string // one printable line
	Edge    Edge
}

// At returns the fault with the reference that causes it.
func (f *Fault) At(attribute string, ref v1alpha1.ResourceRef) *Fault {
	return &Fault{f.Reason, f.Message, Edge{attribute, ref}}
}

// maxMessage is the maximum length of a message, in bytes.
const maxMessage = 1024

// New formats a message. It escapes unprintable characters, because errors quote values that authors and nodes choose.
func New(reason, format string, args ...any) *Fault {
	for i, arg := range args {
		if err, ok := arg.(error); ok {
			args[i] = text.Error(err)
		}
	}
	return &Fault{Reason: reason, Message: text.Clip(text.Line(fmt.Sprintf(format, args...)), maxMessage)}
}

// Findings collects the faults of resources on nodes, and reports equal faults of one resource once.
type Findings map[string]*finding

type finding struct {
	problem Problem
	nodes   []string
}

// Add adds a fault of a resource on nodes.
func (fs Findings) Add(ref v1alpha1.ResourceRef, f *Fault, nodes ...string) {
	key := strings.Join([]string{string(ref), f.Reason, f.Message}, "\x00")
	if fs[key] == nil {
		fs[key] = &finding{problem: Problem{Ref: ref, Reason: f.Reason, Message: f.Message, Edge: f.Edge}}
	}
	fs[key].nodes = append(fs[key].nodes, nodes...)
}

// Problems returns the findings sorted by resource, node and reason. One that concerns all nodes that its resource selects names no node.
func (fs Findings) Problems(selected map[v1alpha1.ResourceRef][]string) []Problem {
	var all []Problem
	for _, f := range fs {
		p := f.problem
		if len(f.nodes) >= len(selected[p.Ref]) {
			all = append(all, p)
			continue
		}
		for _, p.Node = range f.nodes {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b Problem) int {
		return slices.Compare(
			[]string{string(a.Ref), a.Node, a.Reason, a.Message},
			[]string{string(b.Ref), b.Node, b.Reason, b.Message})
	})
	return all
}
