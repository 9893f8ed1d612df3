package output

import (
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Warnings writes errors to Err, a line each.
func (p *Printer) Warnings(errs []error) {
	for _, err := range errs {
		p.Warn("warning: %v", err)
	}
}

// Tracer returns the function that traces a run for --debug; nil unless Debugging is on.
func (p *Printer) Tracer() func(line string) {
	if !p.Debugging {
		return nil
	}
	return p.debugLine
}

func (p *Printer) debugLine(line string) { p.Debug("%s", line) }

// DebugProviders explains which providers of a kind work on a host, and why the others do not.
func (p *Printer) DebugProviders(k resource.Kind, facts resource.Facts, h host.Reader) {
	if !p.Debugging {
		return
	}
	for _, s := range k.Suitability(facts, h) {
		p.Debug("%s", s.Explain(k.Name()))
	}
}

// DebugResource shows the state, provider and duration of a resource.
func (p *Printer) DebugResource(r report.ResourceReport) {
	if !p.Debugging {
		return
	}
	provider := ""
	if r.Provider != "" {
		provider = " by provider " + r.Provider
	}
	p.Debug("%s: %s%s in %s", r.Ref, r.State, provider, r.Duration)
}
