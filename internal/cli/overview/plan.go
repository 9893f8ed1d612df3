package overview

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	reports "github.com/fettle-dev/fettle/api/reports/v1alpha1"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/fleet/nodestate"
	"github.com/fettle-dev/fettle/internal/fleet/rollout/policies"
)

// A Plan is what a change would do to the nodes of a cluster.
type Plan struct {
	Nodes    PlanNodes             `json:"nodes"`
	Groups   []PlanGroup           `json:"groups"`
	Problems []reports.PlanProblem `json:"problems"`
	// OmittedProblems is the number of problems beyond the list.
	OmittedProblems int32    `json:"omittedProblems,omitempty"`
	Notes           []string `json:"notes,omitempty"`
	// RolloutPolicies are those that the change would pass, in order; nil if that is not known, and empty if the cluster has none.
	RolloutPolicies []policies.Stage `json:"rolloutPolicies,omitzero"`
}

// PlanNodes counts nodes. Affected, those whose catalogs change, is the sum of the next three and Waiting.
type PlanNodes struct {
	Total    int `json:"total"`
	Affected int `json:"affected"`
	Answered int `json:"answered"`
	NoAnswer int `json:"noAnswer"`
	NotAsked int `json:"notAsked"`
	// Waiting nodes are not asked, because they have an older revision than the newest, which a rollout has yet to bring to them.
	Waiting int `json:"waiting,omitempty"`
	// Changing are nodes whose hosts would change, as far as they answered.
	Changing int `json:"changing"`
	// Failing are those on which something would fail.
	Failing int `json:"failing,omitempty"`
	// Unknown counts the nodes whose outcome is not completely known: something was not checked or compared.
	Unknown int `json:"unknown,omitempty"`
	// Withheld are affected nodes from which a resource would be withheld.
	Withheld int `json:"withheld,omitempty"`
	// Silent, Disabled and Held are affected nodes that would not apply the change for now.
	Silent   int `json:"silent,omitempty"`
	Disabled int `json:"disabled,omitempty"`
	Held     int `json:"held,omitempty"`
}

// Differs reports whether the change would change something on hosts, or in catalogs whose hosts were not asked.
func (p *Plan) Differs() bool { return p.Nodes.Changing+p.Nodes.NotAsked+p.Nodes.Waiting > 0 }

// Fails reports whether something would fail or be withheld, nodes would not apply the change, or the plan does not tell all.
func (p *Plan) Fails() bool {
	n := p.Nodes
	return n.Failing+n.Unknown+n.NoAnswer+n.Withheld+n.Silent+n.Disabled+n.Held+len(p.Problems) > 0
}

// A PlanGroup are nodes with the same outcome.
type PlanGroup struct {
	Nodes          []string             `json:"nodes"`
	Changes        []reports.PlanChange `json:"changes"`
	OmittedChanges int32                `json:"omittedChanges,omitempty"`
	Answer         reports.Answer       `json:"answer"`
	Message        string               `json:"message,omitempty"`
	Report         *report.Report       `json:"report,omitempty"`
	// Generated is the number of resources whose names are omitted.
	Generated int32 `json:"generated,omitempty"`
}

// Changing reports whether the hosts of a group would change.
func (g PlanGroup) Changing() bool { return g.Report != nil && g.Report.Counts.Noop > 0 }

// Failing reports whether something would fail on the hosts of a group.
func (g PlanGroup) Failing() bool { return g.Report != nil && g.Report.Counts.Failed > 0 }

// Withheld reports whether a resource would be withheld from a group. Those that are listed decide.
func (g PlanGroup) Withheld() bool {
	return slices.ContainsFunc(g.Changes, func(c reports.PlanChange) bool { return c.Action == reports.ActionWithhold })
}

// Unknown reports whether something was not checked or not compared on the hosts of a group. A change whose outcome only an apply can
// tell was.
func (g PlanGroup) Unknown() bool {
	return g.Report != nil && slices.ContainsFunc(g.Report.Resources, func(r report.ResourceReport) bool {
		return IsUnchecked(r) || strings.Contains(r.Message, reports.NotCompared)
	})
}

// IsUnchecked reports whether a plan tells nothing of a resource. Others are skipped because of something that it does tell.
func IsUnchecked(r report.ResourceReport) bool {
	return r.State == report.Skipped && strings.HasPrefix(r.Message, reports.NotChecked)
}

// Plan asks the nodes of a cluster what a change would do, until all are asked or the time is over. While the cluster makes too many
// other plans, it tries again.
func (c *Client) Plan(ctx context.Context, spec reports.PlanSpec, limit time.Duration) (*Plan, error) {
	p, known := &Plan{Groups: []PlanGroup{}, Problems: []reports.PlanProblem{}}, map[string]int{}
	var last *reports.PlanStatus
	for end := time.Now().Add(limit); ; {
		status, err := c.planPartUntil(ctx, spec, end)
		if apierrors.IsTooManyRequests(err) && last != nil {
			p.count(last)
			return p, nil
		}
		if err != nil {
			return nil, err
		}
		if err := p.add(status, known); err != nil {
			return nil, fmt.Errorf("cannot read the plan: %w", err)
		}
		last = status
		if spec.Continue = status.Continue; spec.Continue == "" || !time.Now().Before(end) {
			p.count(status)
			return p, nil
		}
	}
}

// planPartUntil asks some of the nodes, as soon as the cluster does not make too many other plans.
func (c *Client) planPartUntil(ctx context.Context, spec reports.PlanSpec, end time.Time) (*reports.PlanStatus, error) {
	for {
		status, err := c.planPart(ctx, spec)
		if !apierrors.IsTooManyRequests(err) || !time.Now().Before(end) || !pause(ctx, err) {
			return status, err
		}
	}
}

// pause waits as long as an error asks for, at least a second. It reports whether ctx has not ended.
func pause(ctx context.Context, err error) bool {
	seconds, _ := apierrors.SuggestsClientDelay(err)
	select {
	case <-time.After(time.Duration(max(1, seconds)) * time.Second):
		return true
	case <-ctx.Done():
		return false
	}
}

// planPart asks some of the nodes.
func (c *Client) planPart(ctx context.Context, spec reports.PlanSpec) (*reports.PlanStatus, error) {
	p := &reports.Plan{Spec: spec}
	p.SetGroupVersionKind(reports.GroupVersion.WithKind("Plan"))
	body, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	if len(body) > reports.MaxPlanBytes {
		return nil, fmt.Errorf("the manifests have %d KiB as JSON, and a plan has room for %d: plan a part of them", (len(body)+1023)>>10, reports.MaxPlanBytes>>10)
	}
	raw, err := bodyOf(c.rest.Post().AbsPath("/apis/"+reports.GroupVersion.String()+"/plans").SetHeader("Content-Type", "application/json").Body(body).MaxRetries(0).Do(ctx))
	if err := explainAnswer(err); err != nil {
		return nil, fmt.Errorf("cannot plan: %w", err)
	}
	p = &reports.Plan{}
	if err := json.Unmarshal(raw, p); err != nil {
		return nil, fmt.Errorf("cannot read the plan: %w", err)
	}
	return &p.Status, nil
}

// add adds a response. known maps the keys of groups to their places.
func (p *Plan) add(s *reports.PlanStatus, known map[string]int) error {
	for _, g := range s.Groups {
		if i, ok := known[g.Key]; ok {
			p.Groups[i].Nodes = append(p.Groups[i].Nodes, g.Nodes...)
			continue
		}
		known[g.Key] = len(p.Groups)
		group := PlanGroup{Nodes: g.Nodes, Changes: g.Changes, OmittedChanges: g.OmittedChanges, Answer: g.Answer, Message: g.Message, Generated: g.Generated}
		if g.Report != nil {
			group.Report = &report.Report{}
			if err := json.Unmarshal(g.Report.Raw, group.Report); err != nil {
				return err
			}
		}
		p.Groups = append(p.Groups, group)
	}
	return nil
}

// count completes a plan with what the last response says of all nodes.
func (p *Plan) count(last *reports.PlanStatus) {
	p.Problems, p.OmittedProblems, p.Notes = append(p.Problems, last.Problems...), last.OmittedProblems, last.Notes
	p.Nodes.Total, p.Nodes.Affected = int(last.Total), int(last.Affected)
	for _, g := range p.Groups {
		switch g.Answer {
		case reports.AnswerReport:
			p.Nodes.Answered += len(g.Nodes)
		case reports.AnswerNone:
			p.Nodes.NoAnswer += len(g.Nodes)
		case reports.AnswerWaiting:
			p.Nodes.Waiting += len(g.Nodes)
		case reports.AnswerNotAsked: // see below
		}
		for count, is := range map[*int]bool{
			&p.Nodes.Changing: g.Changing(), &p.Nodes.Failing: g.Failing(), &p.Nodes.Unknown: g.Unknown(), &p.Nodes.Withheld: g.Withheld(),
		} {
			if is {
				*count += len(g.Nodes)
			}
		}
	}
	p.Nodes.NotAsked = max(0, p.Nodes.Affected-p.Nodes.Answered-p.Nodes.NoAnswer-p.Nodes.Waiting)
}

// CountStates adds the states of the affected nodes to a plan.
func (p *Plan) CountStates(all []NodeCatalog) {
	states := make(map[string]nodestate.State, len(all))
	for _, n := range all {
		states[n.Name] = n.State().State
	}
	for _, g := range p.Groups {
		for _, name := range g.Nodes {
			switch states[name] {
			case nodestate.Silent:
				p.Nodes.Silent++
			case nodestate.Disabled:
				p.Nodes.Disabled++
			case nodestate.Held:
				p.Nodes.Held++
			case nodestate.Pending, nodestate.Failed, nodestate.Withheld, nodestate.OutOfSync, nodestate.InSync:
			}
		}
	}
}

// explainAnswer is an error of the API of reports for users.
func explainAnswer(err error) error {
	switch status, _ := errors.AsType[*apierrors.StatusError](err); {
	case apierrors.IsServiceUnavailable(err):
		return fmt.Errorf("the manager does not answer for %s; see kubectl get apiservice %s: %w", reports.GroupVersion.Group, apiService, err)
	case apierrors.IsNotFound(err) && (status.ErrStatus.Details == nil || status.ErrStatus.Details.Name == ""):
		return fmt.Errorf("the cluster does not serve %s: install config/reports, or set reportsAPI.enabled in the chart", reports.GroupVersion.Group)
	}
	return err
}
