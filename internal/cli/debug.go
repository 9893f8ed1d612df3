package cli

import (
	"io"
	"time"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/trace"
	"github.com/fettle-dev/fettle/internal/resource"
)

// traced is a host that logs what is done to it where --debug asks for that.
func (a *app) traced(h Host) Host {
	if !a.debug {
		return h
	}
	return struct {
		host.Host
		host.Watcher
		io.Closer
	}{trace.New(h, time.Now, a.debugLine), h, h}
}

// trace is where a run traces the states of its resources to; nil for nowhere.
func (a *app) trace() func(line string) {
	if !a.debug {
		return nil
	}
	return a.debugLine
}

func (a *app) debugLine(line string) { a.tellDebug("%s", line) }

// debugSuitability tells of the providers of the kinds that are there.
func (a *app) debugSuitability(items []resource.Item, facts resource.Facts, h host.Reader) {
	if !a.debug {
		return
	}
	used := map[string]bool{}
	for _, i := range items {
		used[i.Ref.Kind] = true
	}
	for _, k := range a.Kinds {
		if used[k.Name()] {
			a.debugKind(k, facts, h)
		}
	}
}

// debugKind tells of the providers of a kind.
func (a *app) debugKind(k resource.Kind, facts resource.Facts, h host.Reader) {
	if !a.debug {
		return
	}
	for _, s := range k.Suitability(facts, h) {
		a.tellDebug("%s", s.Explain(k.Name()))
	}
}

// debugResource tells how one resource ended.
func (a *app) debugResource(r engine.ResourceReport) {
	provider := ""
	if r.Provider != "" {
		provider = " by provider " + r.Provider
	}
	a.tellDebug("%s: %s%s in %s", r.Ref, r.State, provider, r.Duration)
}
