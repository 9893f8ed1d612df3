package output

import (
	"fmt"

	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/resource"
)

// An Exit is a nonzero exit code. All output was already printed.
type Exit int

// Error names the code.
func (e Exit) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// A Style is the format of reports.
type Style struct {
	Format string // text, json or yaml
	Diffs  bool
	Many   bool // several reports follow one another
}

// StateColor is the color of a resource's lines.
func StateColor(s report.State) Color {
	switch s {
	case report.Changed, report.Refreshed:
		return Green
	case report.Noop, report.Skipped:
		return Yellow
	case report.Failed:
		return Red
	case report.InSync:
	}
	return ""
}

// Resource writes the lines of one resource: failures to Err, others to Out. It omits events at debug level
// unless Debugging is on.
func (p *Printer) Resource(r report.ResourceReport, diffs bool) {
	if !p.Debugging {
		r = r.Above(resource.LevelDebug)
	}
	for _, line := range r.Lines() {
		if r.State == report.Failed {
			p.WarnIn(Red, "%s", forTerminal(p.ErrTerminal, line))
			continue
		}
		p.PrintIn(StateColor(r.State), "%s", forTerminal(p.OutTerminal, line))
	}
	if !diffs {
		return
	}
	for _, e := range r.Events {
		if e.Diff != "" {
			p.Diff(e.Diff)
		}
	}
}

// Report writes the summary of a run, or the whole report as JSON or YAML. The zero report stands for no run.
func (p *Printer) Report(r report.Report, s Style) error {
	if r.Kind == "" {
		return nil
	}
	if r.Message != "" {
		p.WarnIn(Red, "%s", r.Message)
	}
	if s.Format == "text" {
		p.Print("%s", r.Summary())
		return nil
	}
	if !s.Diffs {
		dropDiffs(r)
	}
	if s.Many && s.Format == "yaml" {
		p.Print("---")
	}
	return p.Encode(r, s.Format)
}

func dropDiffs(r report.Report) {
	for _, res := range r.Resources {
		for i := range res.Events {
			res.Events[i].Diff = ""
		}
	}
}
