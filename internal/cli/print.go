package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/nodeagent/engine"
)

// printResource writes the lines of one resource as it ends: events to stdout,
// failures to stderr.
func (a *app) printResource(r engine.ResourceReport, f applyFlags) {
	if !a.debug {
		r = r.Above(resource.LevelDebug)
	}
	for _, line := range r.Lines() {
		if r.State == engine.Failed {
			a.complain("%s", a.paintErr(red, line))
			continue
		}
		a.say("%s", a.paint(stateColors[r.State], line))
	}
	if !f.diff {
		return
	}
	for _, e := range r.Events {
		if e.Diff != "" {
			a.say("%s", a.paintDiff(e.Diff))
		}
	}
}

// printReport ends the output: the summary, or the whole report.
func (a *app) printReport(r engine.Report, f applyFlags) error {
	if r.Kind == "" { // there was no run
		return nil
	}
	if r.Message != "" {
		a.complain("%s", a.paintErr(red, r.Message))
	}
	if f.output == "text" {
		a.say("%s", r.Summary())
		return nil
	}
	if !f.diff {
		dropDiffs(r)
	}
	if f.watch && f.output == "yaml" {
		a.say("---") // there may be more
	}
	return a.encode(r, f.output)
}

func dropDiffs(r engine.Report) {
	for _, res := range r.Resources {
		for i := range res.Events {
			res.Events[i].Diff = ""
		}
	}
}

// encode writes a value as json or yaml.
func (a *app) encode(v any, format string) error {
	encode := yaml.Marshal
	if format == "json" {
		encode = func(v any) ([]byte, error) { return json.MarshalIndent(v, "", "  ") }
	}
	raw, err := encode(v)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(a.Out, strings.TrimRight(string(raw), "\n")); err != nil {
		return fmt.Errorf("cannot write the output: %w", err)
	}
	return nil
}
