package planning

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	reports "github.com/fettle-dev/fettle/api/reports/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/questions"
	"github.com/fettle-dev/fettle/internal/text"
)

// maxAsked is the number of nodes that a plan asks at the same time.
const maxAsked = 64

// Nodes answer: a *questions.Hub.
type Nodes interface {
	Connected(node string) bool
	Propose(ctx context.Context, node string, change *reports.Proposal) (*reports.NodeAnswer, error)
}

// A Request says which nodes are asked.
type Request struct {
	// Sample is how many nodes are asked of those whose catalogs change in the same way; 0 asks all.
	Sample int
	// After leaves out nodes up to this name; "" does not.
	After string
	// Stop is closed when no other node is asked any more. At least one node is.
	Stop <-chan struct{}
	// View is what the caller may know of hosts.
	View View
}

// A View is what a caller may know of hosts. The zero value is nothing.
type View int

// The views. Each has more than the last one.
const (
	// Catalogs is what changes in catalogs. No node is asked: whatever depends on a host answers guesses about its contents, whether it is a
	// state, a failure or a number, since the caller chooses what is compared.
	Catalogs View = iota
	// Outcomes is also which properties of the catalogs' resources would change, without values. It requires the right to make the
	// change, and would see as much in the status of the resources. Resources that others generate are only counted, because their
	// names are contents of the host.
	Outcomes
	// Values is all that nodes answer.
	Values
)

// forReaders is the message of groups in the view Catalogs.
const forReaders = "what hosts would change is for those who may get nodediffs: bind the role fettle-reports-reader"

// Ask asks the nodes of a request. It returns groups of the nodes up to the last one that was asked in time, in the order of their
// first nodes, and that node; "" if there are no others.
func (p *Proposed) Ask(ctx context.Context, nodes Nodes, r Request) (groups []reports.PlanGroup, last string) {
	from, found := slices.BinarySearch(p.Nodes, r.After)
	if found {
		from++
	}
	all := p.Nodes[from:]
	g := &grouping{proposed: p, outcomes: make([]outcome, len(all)), reports: map[string][]byte{}}
	if r.View == Catalogs {
		for i, node := range all {
			g.outcomes[i] = p.notAsked(node, forReaders)
		}
		return g.groups(all), ""
	}
	sampled := p.sample(r.Sample)
	var waiting sync.WaitGroup
	slots := make(chan struct{}, maxAsked)
	asked, end := 0, len(all)
	for i, node := range all {
		if !sampled[node] {
			g.outcomes[i] = p.notAsked(node, "")
			continue
		}
		if asked > 0 && !reserve(slots, r.Stop) {
			end = i
			break
		} else if asked == 0 {
			slots <- struct{}{}
		}
		asked++
		waiting.Go(func() {
			defer func() { <-slots }()
			o, report := p.ask(ctx, nodes, node, r.View)
			g.add(i, o, report)
		})
	}
	waiting.Wait()
	if end < len(all) {
		last = all[end-1]
	}
	return g.groups(all[:end]), last
}

// reserve waits for a slot, and reports whether there was one before stop was closed.
func reserve(slots chan<- struct{}, stop <-chan struct{}) bool {
	select {
	case <-stop:
		return false
	default:
	}
	select {
	case slots <- struct{}{}:
		return true
	case <-stop:
		return false
	}
}

// notAsked is the outcome of a node that is not asked: it waits for a rollout, or else for the reason in message.
func (p *Proposed) notAsked(node, message string) outcome {
	if why, waits := p.waiting[node]; waits {
		return outcome{answer: reports.AnswerWaiting, message: why}
	}
	return outcome{answer: reports.AnswerNotAsked, message: message}
}

// sample returns the nodes that are asked: the first n of those whose catalogs change in the same way, without those that wait for a
// rollout.
func (p *Proposed) sample(n int) map[string]bool {
	sampled, counts := map[string]bool{}, map[string]int{}
	for _, node := range p.Nodes {
		key := p.changes[node].key
		if _, waits := p.waiting[node]; !waits && (n == 0 || counts[key] < n) {
			sampled[node] = true
			counts[key]++
		}
	}
	return sampled
}

// ask asks a node.
func (p *Proposed) ask(ctx context.Context, nodes Nodes, node string, view View) (outcome, []byte) {
	c := p.changes[node]
	if c.size > reports.MaxProposalBytes {
		return none(fmt.Sprintf("the change of its catalog has %d KiB, and %d are sent: plan fewer resources", c.size>>10, reports.MaxProposalBytes>>10)), nil
	}
	if !nodes.Connected(node) {
		return none("not connected to the manager: its agent is silent, older than the manager, or connects again within ten minutes"), nil
	}
	answer, err := nodes.Propose(ctx, node, p.compare.proposal(c))
	if err != nil {
		return none(explain(err)), nil
	}
	report, generated, err := readAnswer(answer, view, c.concerns)
	if err != nil {
		return none("answers something that is not a report: " + text.Clip(text.Line(text.Error(err)), maxMessage)), nil
	}
	return outcome{answer: reports.AnswerReport, key: keyOf(string(report), fmt.Sprint(generated)), generated: generated}, report
}

// maxMessage is the length of the longest message about an answer, in bytes.
const maxMessage = 300

// explain is an error without the name of the node, which would make each group one of its own.
func explain(err error) string {
	var problem *questions.ProblemError
	var timeout *questions.TimeoutError
	switch {
	case errors.As(err, &problem):
		return "answers: " + text.Clip(text.Line(problem.Problem), maxMessage)
	case errors.As(err, &timeout):
		return fmt.Sprintf("did not answer within %s: its agent is busy with a run, or is gone", timeout.After)
	}
	return text.Clip(text.Line(text.Error(err)), maxMessage)
}

// An outcome is the answer of one node.
type outcome struct {
	answer  reports.Answer
	message string
	key     string // of the report
	// generated is how many resources that others generate are left out of the report.
	generated int32
}

func none(message string) outcome { return outcome{answer: reports.AnswerNone, message: message} }

// A grouping collects outcomes, and of equal reports one.
type grouping struct {
	proposed *Proposed
	mu       sync.Mutex
	outcomes []outcome
	reports  map[string][]byte // by key
	size     int               // of the reports
	listed   int               // changes in groups
}

func (g *grouping) add(i int, o outcome, report []byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.outcomes[i] = o
	if _, known := g.reports[o.key]; o.answer == reports.AnswerReport && !known && g.size+len(report) <= reports.MaxPlanReports {
		g.reports[o.key] = report
		g.size += len(report)
	}
}

// groups returns the groups of the first nodes.
func (g *grouping) groups(nodes []string) []reports.PlanGroup {
	all, index := []reports.PlanGroup{}, map[string]int{}
	for i, node := range nodes {
		o, c := g.outcomes[i], g.proposed.changes[node]
		key := keyOf(c.key, string(o.answer), o.message, o.key)
		at, known := index[key]
		if !known {
			at = len(all)
			index[key] = at
			all = append(all, g.group(key, o, c))
		}
		all[at].Nodes = append(all[at].Nodes, node)
	}
	return all
}

func (g *grouping) group(key string, o outcome, c *change) reports.PlanGroup {
	group := reports.PlanGroup{Key: key, Answer: o.answer, Message: o.message, Generated: o.generated}
	group.Changes, group.OmittedChanges = c.listed(reports.MaxListedChanges - g.listed)
	g.listed += len(group.Changes)
	if o.answer != reports.AnswerReport {
		return group
	}
	if report, ok := g.reports[o.key]; ok {
		group.Report = rawOf(report)
	} else {
		group.Message = "the report is omitted, because all reports together are larger than " + fmt.Sprint(reports.MaxPlanReports>>20) + " MiB: use a sample"
	}
	return group
}

var _ Nodes = (*questions.Hub)(nil)
