package questions

import (
	"sync"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/fettle-dev/fettle/api/reports/v1alpha1"
)

// MaxNodeWatches is the number of watches of one node: an agent has one, and may open the next one before the last is closed.
const MaxNodeWatches = 4

// A Watch receives the questions of a node. It implements [watch.Interface], with events of the type Added alone.
type Watch struct {
	hub    *Hub
	node   string
	events chan watch.Event
	stop   sync.Once
}

// Watch returns a watch that begins with the open questions of a node. With more than MaxNodeWatches, another one of the node ends.
func (h *Hub) Watch(node string) *Watch {
	// Only open questions are sent, each once, so nothing blocks.
	w := &Watch{hub: h, node: node, events: make(chan watch.Event, 2*MaxNodeQuestions)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watches == nil {
		h.watches = map[string]map[*Watch]bool{}
	}
	if h.watches[node] == nil {
		h.watches[node] = map[*Watch]bool{}
	}
	for other := range h.watches[node] {
		if len(h.watches[node]) < MaxNodeWatches {
			break
		}
		other.end()
	}
	if h.watches[node] == nil {
		h.watches[node] = map[*Watch]bool{}
	}
	h.watches[node][w] = true
	for _, q := range h.openOf(node) {
		w.send(q)
	}
	return w
}

// send sends a question. A watch that does not take its questions ends. The hub is locked.
func (w *Watch) send(q v1alpha1.NodeQuestion) {
	select {
	case w.events <- watch.Event{Type: watch.Added, Object: &q}:
	default:
		w.end()
	}
}

// end ends the watch. The hub is locked.
func (w *Watch) end() {
	w.stop.Do(func() {
		delete(w.hub.watches[w.node], w)
		if len(w.hub.watches[w.node]) == 0 {
			delete(w.hub.watches, w.node)
		}
		close(w.events)
	})
}

// Stop implements [watch.Interface].
func (w *Watch) Stop() {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	w.end()
}

// ResultChan implements [watch.Interface].
func (w *Watch) ResultChan() <-chan watch.Event { return w.events }
