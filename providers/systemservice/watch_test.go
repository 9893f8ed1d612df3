package systemservice_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/providers/systemservice"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

// Changes by systemctl are noticed immediately, by their traces in the file systems.
func TestWatch(t *testing.T) {
	m := boot(t)
	r, err := bound.Kind(systemservice.Type()).Bind(resource.Ref{Kind: "SystemService", Name: "plain"}, json.RawMessage(`{"name":"plain"}`))
	if err == nil {
		err = r.Choose(nil, m.host, "systemd")
	}
	if err != nil {
		t.Fatal(err)
	}
	watch, err := m.host.(host.Watcher).Watch()
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	for _, command := range [][]string{
		{"systemctl", "start", "plain"},
		{"systemctl", "stop", "plain"},
		{"systemctl", "enable", "plain"},
		{"systemctl", "disable", "plain"},
		{"systemctl", "start", "plain"},
		{"systemctl", "kill", "--signal=KILL", "plain"},
	} {
		if err := watch.Follow(r.Watched(m.host)); err != nil {
			t.Fatal(err)
		}
		watch.Take()
		m.run(t, command...)
		if !sees(watch, r.Watched(m.host)) {
			t.Errorf("%v was not seen", command)
		}
	}
}

// sees reports whether one of some paths changes.
func sees(watch host.Watch, paths []string) bool {
	over := time.After(patient.Limit)
	for {
		select {
		case <-watch.Ready():
			if slices.ContainsFunc(watch.Take(), func(p string) bool { return slices.Contains(paths, p) }) {
				return true
			}
		case <-over:
			return false
		}
	}
}
