package cli

import (
	"bytes"
	"encoding/json"
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
)

// printResource writes the lines of one resource as it ends: events to stdout,
// failures to stderr.
func (a *app) printResource(r engine.ResourceReport, f applyFlags) {
	if !a.debug {
		r = r.Above(resource.LevelDebug)
	}
	for _, line := range r.Lines() {
		if r.State == engine.Failed {
			a.complainIn(red, "%s", line)
			continue
		}
		a.sayIn(stateColors[r.State], "%s", line)
	}
	if !f.diff {
		return
	}
	for _, e := range r.Events {
		if e.Diff != "" {
			a.sayDiff(e.Diff)
		}
	}
}

// printReport ends the output: the summary, or the whole report.
func (a *app) printReport(r engine.Report, f applyFlags) error {
	if r.Kind == "" { // there was no run
		return nil
	}
	if r.Message != "" {
		a.complainIn(red, "%s", r.Message)
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

// encode writes a value as json or yaml, in which all that would not print is escaped. YAML
// has no escapes for some of that: what needs them is written as JSON, which is YAML, too.
func (a *app) encode(v any, format string) error {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if format == "json" {
		raw = text.EscapeJSON(raw)
	} else {
		raw = text.EscapeYAML(raw) // first: YAML has line ends that JSON has not
		if asYAML, err := yaml.JSONToYAML(raw); err == nil && text.Block(string(asYAML)) == string(asYAML) {
			raw = bytes.TrimRight(asYAML, "\n")
		}
	}
	a.talking.Lock()
	defer a.talking.Unlock()
	_, _ = fmt.Fprintf(a.Out, "%s\n", raw)
	return nil
}
