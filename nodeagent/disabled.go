package nodeagent

import (
	"path"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/state"
)

// A disabledWatch reports when runs may have been disabled or enabled on the host, so that the status shows it at once
// rather than at the next run. It is nil if the host reports no changes.
type disabledWatch struct {
	watch host.Watch
	file  string // on the host
}

// watchDisabled watches the file that disables runs.
func watchDisabled(h host.Host, stateDir string) (*disabledWatch, error) {
	w, ok := h.(host.Watcher)
	if !ok || stateDir == "" {
		return nil, nil
	}
	watch, err := w.Watch()
	if err != nil {
		return nil, err
	}
	d := &disabledWatch{watch: watch, file: path.Join(stateDir, state.DisabledName)}
	return d, d.follow()
}

func (d *disabledWatch) follow() error { return d.watch.Follow([]string{d.file}) }

// ready receives when something may have changed.
func (d *disabledWatch) ready() <-chan struct{} {
	if d == nil {
		return nil
	}
	return d.watch.Ready()
}

func (d *disabledWatch) close() {
	if d != nil {
		_ = d.watch.Close() // nothing is buffered
	}
}

// onDisabled is called when runs may have been disabled or enabled on the host. The next step finds out.
func (a *Agent) onDisabled() {
	a.disabled.watch.Take()
	if err := a.disabled.follow(); err != nil {
		a.Log.Debug("disabled runs are reported only at the interval", "error", err)
	}
}
