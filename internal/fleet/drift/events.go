package drift

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/text"
)

// Period is the minimum time between two events of one resource. The API server's clients join
// events that are equal but for their note while the earlier one is less than six minutes old.
const Period = 10 * time.Minute

// maxNodes is the number of nodes that an event names, and maxResources bounds what is remembered: a
// node that lies may name resources that do not exist.
const maxNodes, maxResources = 3, 10_000

// A Summary collects drift as it happens, so that a resource gets one event per period however many nodes drift. The zero value is
// empty. It is safe for concurrent use.
type Summary struct {
	mu      sync.Mutex
	pending map[v1alpha1.ResourceRef]map[string]int // times by resource and node
	last    map[v1alpha1.ResourceRef]time.Time      // when the resource last got an event
}

// Add adds drift of a resource on a node.
func (s *Summary) Add(ref v1alpha1.ResourceRef, node string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending == nil {
		s.pending, s.last = map[v1alpha1.ResourceRef]map[string]int{}, map[v1alpha1.ResourceRef]time.Time{}
	}
	if s.pending[ref] == nil {
		if len(s.pending) >= maxResources {
			return
		}
		s.pending[ref] = map[string]int{}
	}
	s.pending[ref][node]++
}

// An Occurrence says where a resource drifted, such as "3 times on 2 nodes: web-1, web-2", and names one of the nodes.
type Occurrence struct{ Where, Node string }

// Due returns the occurrences that are due for an event, by resource, and when the next one is; 0 for
// none. selected has the nodes that each resource selects, sorted.
func (s *Summary) Due(now time.Time, selected map[v1alpha1.ResourceRef][]string) (due map[v1alpha1.ResourceRef]Occurrence, next time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.last, func(_ v1alpha1.ResourceRef, at time.Time) bool { return now.Sub(at) >= Period })
	due = map[v1alpha1.ResourceRef]Occurrence{}
	for ref, nodes := range s.pending {
		maps.DeleteFunc(nodes, func(node string, _ int) bool { return !selects(selected[ref], node) })
		if at, recent := s.last[ref]; recent && len(nodes) > 0 {
			if left := at.Add(Period).Sub(now); next == 0 || left < next {
				next = left
			}
			continue
		}
		delete(s.pending, ref)
		if len(nodes) > 0 {
			due[ref], s.last[ref] = describe(nodes), now
		}
	}
	return due, next
}

func describe(nodes map[string]int) Occurrence {
	times := 0
	for _, n := range nodes {
		times += n
	}
	names := slices.Sorted(maps.Keys(nodes))
	where := fmt.Sprintf("%s on %s: %s", text.Count(times, "time"), text.Count(len(nodes), "node"), text.ListOf(len(names), names[:min(len(names), maxNodes)]))
	return Occurrence{where, names[0]}
}
