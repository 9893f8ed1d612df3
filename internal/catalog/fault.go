package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/text"
)

// A fault is why a resource must wait: on one node, or on all. The message is one printable line.
type fault struct {
	reason, message string
	others          []v1alpha1.ResourceRef
}

// faultf escapes what it is given: authors choose values, and nodes choose facts, that errors quote.
func faultf(reason, format string, args ...any) *fault {
	for i, arg := range args {
		if err, ok := arg.(error); ok {
			args[i] = text.Error(err)
		}
	}
	return &fault{reason: reason, message: capped(text.Line(fmt.Sprintf(format, args...)), maxMessage)}
}

// maxMessage is how long a message may be, in bytes.
const maxMessage = 1024

func capped(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit-len("...")], "") + "..."
}

// listed names at most five things.
func listed[T ~string](all []T) string {
	const limit = 5
	var names []string
	for _, s := range all[:min(limit, len(all))] {
		names = append(names, string(s))
	}
	text := strings.Join(names, ", ")
	if more := len(all) - limit; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func (f *fault) problem(ref v1alpha1.ResourceRef, node string) Problem {
	return Problem{Ref: ref, Node: node, Reason: f.reason, Message: f.message, Others: f.others}
}

// findings gathers equal faults of one resource on many nodes.
type findings struct {
	nodes map[string][]string // by key
	first map[string]Problem
}

func (fs *findings) add(ref v1alpha1.ResourceRef, f *fault, nodes ...string) {
	if fs.nodes == nil {
		fs.nodes, fs.first = map[string][]string{}, map[string]Problem{}
	}
	key := strings.Join([]string{string(ref), f.reason, f.message, fmt.Sprint(f.others)}, "\x00")
	fs.nodes[key] = append(fs.nodes[key], nodes...)
	fs.first[key] = f.problem(ref, "")
}

// problems are the faults by resource, node and reason. One that a resource has on all
// of its nodes is said once.
func (fs *findings) problems(selected map[v1alpha1.ResourceRef][]string) []Problem {
	var all []Problem
	for key, p := range fs.first {
		if nodes := fs.nodes[key]; len(nodes) < len(selected[p.Ref]) {
			for _, node := range nodes {
				p.Node = node
				all = append(all, p)
			}
			continue
		}
		all = append(all, p)
	}
	slices.SortFunc(all, compareProblems)
	return all
}

func compareProblems(a, b Problem) int {
	return slices.Compare(
		[]string{string(a.Ref), a.Node, a.Reason, a.Message},
		[]string{string(b.Ref), b.Node, b.Reason, b.Message})
}
