// Package questions passes questions to the agents of nodes, and their answers back.
//
// Everything is in memory and bounded, and a question ends with the request of its caller.
package questions

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/api/reports/v1alpha1"
	"github.com/fettle-dev/fettle/internal/text"
)

// Limits of a Hub.
const (
	// MaxQuestions is the number of questions that may be open, and MaxNodeQuestions their number for one node. Each may have an answer of
	// 1 MiB. Clients ask again when there are too many.
	MaxQuestions     = 200
	MaxNodeQuestions = 8
	// Patience is how long an answer is waited for.
	Patience = 10 * time.Second
)

// ErrTooMany is returned when as many questions are open as allowed.
var ErrTooMany = errors.New("too many questions are open: try again later")

// ErrNoQuestion is returned for an answer to a question that the node was not asked, or that is over.
var ErrNoQuestion = errors.New("no such question: it was for another node, was answered, or its caller no longer waits")

// A TimeoutError is returned when a node did not answer.
type TimeoutError struct {
	Node string
	// Connected reports whether the agent was connected at the end.
	Connected bool
	After     time.Duration
}

// Error names the node and the probable reason.
func (e *TimeoutError) Error() string {
	reason := "it is not connected to the manager: it is silent, older than the manager, or connects again within ten minutes"
	if e.Connected {
		reason = "it is busy with a run; try again later"
	}
	return fmt.Sprintf("the agent of %s did not answer within %s: %s", e.Node, e.After, reason)
}

// maxProblem is the length of the longest problem that is shown, in bytes.
const maxProblem = 1000

// A ProblemError is an answer without a result.
type ProblemError struct{ Node, Problem string }

// Error names the node.
func (e *ProblemError) Error() string {
	return fmt.Sprintf("the agent of %s answers: %s", e.Node, text.Clip(text.Line(e.Problem), maxProblem))
}

// A Hub has the open questions of all nodes. The zero Hub is ready to use. It is safe for concurrent use.
type Hub struct {
	mu      sync.Mutex
	open    map[string]*question // by name
	watches map[string]map[*Watch]bool
	perNode map[string]int
	// receiving has the number of answers of each node that are being received.
	receiving map[string]int
}

// A question waits for its answer.
type question struct {
	v1alpha1.NodeQuestion
	node     string
	answer   chan *v1alpha1.NodeAnswer // of capacity one
	answered bool
}

// Ask asks a node, and returns its answer. The error is ErrTooMany, a *TimeoutError, a *ProblemError, or the error of ctx.
func (h *Hub) Ask(ctx context.Context, node string, topic v1alpha1.Topic) (*v1alpha1.NodeAnswer, error) {
	return h.ask(ctx, node, v1alpha1.NodeQuestion{Topic: topic})
}

// Propose asks a node what a change of its catalog would do to its host. See Ask.
func (h *Hub) Propose(ctx context.Context, node string, change *v1alpha1.Proposal) (*v1alpha1.NodeAnswer, error) {
	return h.ask(ctx, node, v1alpha1.NodeQuestion{Topic: v1alpha1.TopicPlan, Proposal: change})
}

func (h *Hub) ask(ctx context.Context, node string, about v1alpha1.NodeQuestion) (*v1alpha1.NodeAnswer, error) {
	q, err := h.add(node, about)
	if err != nil {
		return nil, err
	}
	defer h.remove(q)
	patience, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	select {
	case answer := <-q.answer:
		if answer.Problem != "" {
			return nil, &ProblemError{Node: node, Problem: answer.Problem}
		}
		return answer, nil
	case <-patience.Done():
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return nil, &TimeoutError{Node: node, Connected: h.Connected(node), After: Patience}
	}
}

// add opens a question, and sends it to the node.
func (h *Hub) add(node string, about v1alpha1.NodeQuestion) (*question, error) {
	q := &question{NodeQuestion: about, node: node, answer: make(chan *v1alpha1.NodeAnswer, 1)}
	q.Name, q.Seconds = strings.ToLower(rand.Text()), int32(Patience/time.Second)
	q.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("NodeQuestion"))
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.open) >= MaxQuestions || h.perNode[node] >= MaxNodeQuestions {
		return nil, ErrTooMany
	}
	if h.open == nil {
		h.open, h.perNode = map[string]*question{}, map[string]int{}
	}
	h.open[q.Name] = q
	h.perNode[node]++
	for w := range h.watches[node] {
		w.send(q.NodeQuestion)
	}
	return q, nil
}

func (h *Hub) remove(q *question) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.open, q.Name)
	if h.perNode[q.node]--; h.perNode[q.node] == 0 {
		delete(h.perNode, q.node)
	}
}

// Connected reports whether the agent of a node receives questions.
func (h *Hub) Connected(node string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.watches[node]) > 0
}

// Answer answers a question of a node, once. It returns ErrNoQuestion if the node has no open question of that name.
func (h *Hub) Answer(node string, answer *v1alpha1.NodeAnswer) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	q := h.open[answer.Name]
	if q == nil || q.node != node || q.answered {
		return ErrNoQuestion
	}
	q.answered = true
	q.answer <- answer
	return nil
}

// Open returns the open questions of a node, in no particular order.
func (h *Hub) Open(node string) []v1alpha1.NodeQuestion {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.openOf(node)
}

func (h *Hub) openOf(node string) []v1alpha1.NodeQuestion {
	var all []v1alpha1.NodeQuestion
	for _, q := range h.open {
		if q.node == node && !q.answered {
			all = append(all, q.NodeQuestion)
		}
	}
	return all
}
