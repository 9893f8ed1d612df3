package nodeagent

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/state"
	"github.com/fettle-dev/fettle/nodeagent/catalogs"
	"github.com/fettle-dev/fettle/nodeagent/questions"
)

// receiver returns what answers the questions of the manager.
func (a *Agent) receiver() *questions.Receiver {
	return &questions.Receiver{
		Watch: a.cluster.WatchQuestions, Answer: a.cluster.Answer, Difference: a.difference, Reports: a.reports,
		Clock: a.Clock, Random: a.Random, Log: a.Log,
	}
}

// difference has the agent's goroutine compare the host with the target between two runs.
func (a *Agent) difference(ctx context.Context) (result report.Report, err error) {
	done := make(chan struct{})
	compare := func() {
		defer close(done)
		if ctx.Err() != nil { // nobody waits any more
			return
		}
		if a.target == nil || a.known == nil {
			err = errors.New("no run has taken place since the agent started")
			return
		}
		result, err = a.runner.compare(ctx, a.target, a.known)
	}
	select {
	case a.asked <- compare:
	case <-ctx.Done():
		return result, ctx.Err()
	}
	<-done
	return result, err
}

func (a *Agent) reports() ([]questions.Stored, error) {
	all, err := state.Reports(a.StateDir)
	stored := make([]questions.Stored, len(all))
	for i, r := range all {
		stored[i] = questions.Stored(r)
	}
	return stored, err
}

// compare reports how the host differs from a target. It changes nothing, and starts no program that an author or a type brings:
// resources that need one are skipped.
func (r *runner) compare(ctx context.Context, t *catalogs.Target, facts resource.Facts) (report.Report, error) {
	store, err := state.OpenReadOnly(r.control.Dir, r.control.State)
	if err != nil {
		return report.Report{}, err
	}
	excluded := r.starting(t.Entries)
	result, err := engine.Transaction{
		Reader: r.control.Host, Bucket: r.bucket, Facts: facts, Kinds: r.kinds, HostName: r.node, Digest: t.Digest, Store: store, Now: r.now,
		Withheld: withheldRefs(t.Spec.Withheld), IgnoreSchedules: true,
		Selected: func(i resource.Item) bool { return excluded[i.Ref] == "" },
	}.Run(ctx, catalog.Items(t.Entries, r.kinds, r.open))
	for i := range result.Resources {
		if why := excluded[resource.Ref(result.Resources[i].Ref)]; why != "" {
			result.Resources[i].Message = why
		}
	}
	return result, err
}

// starting returns the entries whose state only a program of an author or of a type can tell, and why.
func (r *runner) starting(entries []v1alpha1.CatalogEntry) map[resource.Ref]string {
	builtIn := map[string]bool{}
	for _, k := range r.kinds {
		builtIn[k.Name()] = true
	}
	all := map[resource.Ref]string{}
	for _, e := range entries {
		ref := resource.Ref{Kind: e.Kind, Name: e.Name}
		switch {
		case !builtIn[e.Kind]:
			all[ref] = "not checked: a question starts no program of an external type"
		case e.Kind == "Exec":
			all[ref] = "not checked: a question starts no command of an Exec"
		case hasOwnStatus(e):
			all[ref] = "not checked: a question starts no command of a SystemService"
		}
	}
	return all
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
