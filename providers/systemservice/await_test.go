package systemservice_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
)

// A lagging service reaches a requested state some reads later. Like most services it
// ignores a start while it still runs.
type lagging struct {
	runs, shall bool
	looks       int
}

func (l *lagging) do(verb string) host.Result {
	switch verb {
	case "status":
		if l.looks--; l.looks <= 0 {
			l.runs = l.shall
		}
		return host.Result{ExitCode: map[bool]int{true: 0, false: 3}[l.runs]}
	case "start":
		if l.runs {
			return host.Result{}
		}
	}
	l.shall, l.looks = verb == "start", 3
	return host.Result{}
}

func TestStartAndStopAreAwaited(t *testing.T) {
	const script = "/etc/init.d/slow"
	for name, c := range map[string]struct{ attributes, runner string }{
		"a script":                            {"{name: slow", ""},
		"own commands":                        {"{name: slow, start: " + script + " start, stop: " + script + " stop, status: " + script + " status, hasRestart: false", ""},
		"own commands with a unit of systemd": {"{name: ledger, start: " + script + " start, stop: " + script + " stop, status: " + script + " status, hasRestart: false", "systemd-run"},
	} {
		t.Run(name, func(t *testing.T) {
			h, slow := hosttest.New(t), &lagging{}
			h.Handle("update-rc.d", func(host.Cmd) host.Result { return host.Result{} })
			if c.runner != "" {
				h = newFake(t).Host
				h.Handle(c.runner, func(cmd host.Cmd) host.Result { return slow.do(cmd.Args[len(cmd.Args)-1]) })
			}
			h.Put(script, "#!/bin/sh\n")
			h.Handle(script, func(cmd host.Cmd) host.Result { return slow.do(cmd.Args[1]) })
			if diff := cmp.Diff([]string{"ensure changed stopped to running"}, apply(t, h, c.attributes+", ensure: running}")); diff != "" {
				t.Errorf("started (-want +got):\n%s", diff)
			}
			if err := bind(t, h, c.attributes+"}").Refresh(t.Context(), resourcetest.Writer(h)); err != nil || !slow.runs {
				t.Errorf("refreshed: %v, it runs: %v", err, slow.runs)
			}
			if diff := cmp.Diff([]string{"ensure changed running to stopped"}, apply(t, h, c.attributes+", ensure: stopped}")); diff != "" {
				t.Errorf("stopped (-want +got):\n%s", diff)
			}
		})
	}
}
