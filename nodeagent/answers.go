package nodeagent

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	reports "github.com/fettle-dev/fettle/api/reports/v1alpha1"
	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/host/guard"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/state"
	"github.com/fettle-dev/fettle/nodeagent/catalogs"
	"github.com/fettle-dev/fettle/nodeagent/proposal"
	"github.com/fettle-dev/fettle/nodeagent/questions"
)

// receiver returns what answers the questions of the manager.
func (a *Agent) receiver() *questions.Receiver {
	return &questions.Receiver{
		Watch: a.cluster.WatchQuestions, Answer: a.cluster.Answer, Difference: a.difference, Plan: a.plan, Reports: a.reports,
		Clock: a.Clock, Random: a.Random, Log: a.Log,
	}
}

// difference compares the host with the target between two runs.
func (a *Agent) difference(ctx context.Context) (report.Report, error) {
	return a.between(ctx, func(ctx context.Context, t *catalogs.Target, known resource.Facts) (report.Report, error) {
		return a.runner.simulate(ctx, t, known, simulation{})
	})
}

// plan finds out between two runs what a change of the target would do.
func (a *Agent) plan(ctx context.Context, change *reports.Proposal) (report.Report, error) {
	return a.between(ctx, func(ctx context.Context, t *catalogs.Target, known resource.Facts) (report.Report, error) {
		return a.runner.plan(ctx, t, change, known)
	})
}

// between simulates a run between two others, beside the agent's goroutine. A run that is due does not wait for it: it ends at once,
// and is simulated again afterwards, as long as somebody waits.
func (a *Agent) between(ctx context.Context, simulate func(context.Context, *catalogs.Target, resource.Facts) (report.Report, error)) (report.Report, error) {
	return a.simulations.run(ctx, func() (func(context.Context) (report.Report, error), error) {
		if a.target == nil || a.known == nil {
			return nil, errors.New("no run has taken place since the agent started")
		}
		target, known := a.target, a.known
		return func(ctx context.Context) (report.Report, error) { return simulate(ctx, target, known) }, nil
	})
}

func (a *Agent) reports() ([]questions.Stored, error) {
	all, err := state.Reports(a.StateDir)
	stored := make([]questions.Stored, len(all))
	for i, r := range all {
		stored[i] = questions.Stored(r)
	}
	return stored, err
}

// A simulation says what a simulated run is about besides its target. The zero value is the host's difference from the target.
type simulation struct {
	// owner, if there is one, has the report contain what would be removed of what that owner no longer has.
	owner string
	// former are entries of the owner's last target.
	former []v1alpha1.CatalogEntry
	// proposed are those entries of the target that nobody applied yet.
	proposed []v1alpha1.CatalogEntry
	// unopened are the attributes of entries that were sealed, and are not compared.
	unopened map[v1alpha1.ResourceRef][]string
}

// answerLimits bound what an answer reads: who asks need not be one who may change the node.
func answerLimits() guard.Limits { return guard.Limits{Bytes: 16 << 30, Names: 100_000} }

// simulate reports what a run of a target would change. It changes nothing, starts no program that an author or a type brings, and sends
// nothing to a server that is only proposed: resources that need one are skipped.
func (r *runner) simulate(ctx context.Context, t *catalogs.Target, facts resource.Facts, s simulation) (report.Report, error) {
	store, err := state.OpenReadOnly(r.control.Dir, r.control.State)
	if err != nil {
		return report.Report{}, err
	}
	excluded := r.excluding(t.Entries, s)
	result, err := engine.Transaction{
		Reader: r.control.Host, Guard: guard.Options{Own: r.own, Limits: answerLimits()}, Bucket: r.bucket, Facts: facts, Kinds: r.kinds, HostName: r.node, Digest: t.Digest, Store: store, Now: r.now,
		Withheld: withheld(t.Spec.Withheld), OwnerUID: s.owner, IgnoreSchedules: true,
		Selected: func(i resource.Item) bool { return excluded(i.Ref) == "" },
	}.Run(ctx, catalog.Items(t.Entries, r.kinds, r.open))
	for i := range result.Resources {
		res := &result.Resources[i]
		if why := excluded(resource.Ref(res.Ref)); why != "" {
			res.Message = why
		} else {
			proposal.NoteUnopened(res, s.unopened)
		}
	}
	return result, err
}

// plan reports what a change of a target would do: how a simulated run after the change differs from one before it.
func (r *runner) plan(ctx context.Context, t *catalogs.Target, change *reports.Proposal, facts resource.Facts) (report.Report, error) {
	next, err := proposal.Apply(t, change)
	if err != nil {
		return report.Report{}, err
	}
	is, wasUnopened := proposal.Unopened(t)
	next, unopened := proposal.Unopened(next)
	before, err := r.simulate(ctx, is, facts, simulation{owner: string(t.UID), unopened: wasUnopened})
	if err != nil {
		return report.Report{}, err
	}
	after, err := r.simulate(ctx, next, facts, simulation{owner: string(t.UID), former: t.Entries, proposed: change.Entries, unopened: unopened})
	if err != nil {
		return report.Report{}, err
	}
	return proposal.Effect(before, after, next.Entries, change), nil
}

// excluding returns a function that returns why a resource is not checked, because only a program of an author or of a type can tell its
// state, or because it would send a request that nobody applied; "" if it is checked. What is removed is known by its former entries alone.
func (r *runner) excluding(entries []v1alpha1.CatalogEntry, s simulation) func(resource.Ref) string {
	builtIn := map[string]bool{}
	for _, k := range r.kinds {
		builtIn[k.Name()] = true
	}
	services := plainServices(slices.Concat(s.former, entries))
	fetches := fetching(entries, s)
	return func(ref resource.Ref) string {
		switch {
		case !builtIn[ref.Kind]:
			return reports.NotChecked + "a question starts no program of an external type"
		case ref.Kind == "Exec":
			return reports.NotChecked + "a question starts no command of an Exec"
		case ref.Kind == "SystemService" && !services[ref]:
			return reports.NotChecked + "a question starts no command of a SystemService"
		case fetches[ref]:
			return reports.NotChecked + "a plan sends no request to a source"
		}
		return ""
	}
}

// fetching returns the resources that would send a request that nobody applied, or one that fails without its Secret.
func fetching(entries []v1alpha1.CatalogEntry, s simulation) map[resource.Ref]bool {
	fetches := map[resource.Ref]bool{}
	for _, e := range s.proposed {
		fetches[resource.Ref{Kind: e.Kind, Name: e.Name}] = hasURL(e)
	}
	for _, e := range entries {
		if len(s.unopened[e.Ref()]) > 0 && hasURL(e) {
			fetches[resource.Ref{Kind: e.Kind, Name: e.Name}] = true
		}
	}
	return fetches
}

// plainServices returns the services without a command of their own in any of their entries.
func plainServices(entries []v1alpha1.CatalogEntry) map[resource.Ref]bool {
	services := map[resource.Ref]bool{}
	for _, e := range entries {
		ref := resource.Ref{Kind: e.Kind, Name: e.Name}
		plain, known := services[ref]
		services[ref] = (plain || !known) && !hasOwnStatus(e)
	}
	return services
}

// hasOwnStatus reports whether a service has a command that tells whether it runs.
func hasOwnStatus(e v1alpha1.CatalogEntry) bool {
	if e.Kind != "SystemService" || e.Attributes == nil {
		return false
	}
	var attributes struct {
		Status json.RawMessage `json:"status"`
	}
	return json.Unmarshal(e.Attributes.Raw, &attributes) != nil || attributes.Status != nil
}

// hasURL reports whether an entry has a source on a server.
func hasURL(e v1alpha1.CatalogEntry) bool {
	if e.Attributes == nil {
		return false
	}
	var attributes struct {
		Source  string   `json:"source"`
		Sources []string `json:"sources"`
	}
	if json.Unmarshal(e.Attributes.Raw, &attributes) != nil {
		return true
	}
	return slices.ContainsFunc(append(attributes.Sources, attributes.Source), func(s string) bool { return strings.Contains(s, "://") && !strings.HasPrefix(s, "file://") })
}
