package systemservice_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

func TestCrashLoopingServiceIsNotRunning(t *testing.T) {
	const uptime = "1000.25 3000.50\n"
	for name, c := range map[string]struct {
		restarts string
		started  int // seconds since boot
		want     string
	}{
		"never restarted":             {"0", 999, "in sync"},
		"restarted twice":             {"2", 999, "in sync"},
		"restarted often, long ago":   {"50", 900, "in sync"},
		"restarted often, recently":   {"50", 999, "ensure changed crashing to running"},
		"restarted within the window": {"3", 941, "ensure changed crashing to running"},
		"restarted before the window": {"3", 940, "in sync"},
		"of a type without restarts":  {"", 999, "in sync"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.Put("/proc/uptime", uptime)
			f.add("app.service", "simple.service", map[string]string{
				"NRestarts": c.restarts, "ActiveEnterTimestampMonotonic": strconv.Itoa(c.started) + "000000",
			})
			got := "in sync"
			if changes := look(t, f, bind(t, f, "{name: app, ensure: running}")); len(changes) > 0 {
				got = changes[0].Message
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// staysFailed reads a service whose program lives just long enough to count as running.
func (m machine) staysFailed(t *testing.T) {
	write(t, m.host, "/etc/systemd/system/crashing.service",
		"[Unit]\nStartLimitIntervalSec=0\n[Service]\nExecStart=/bin/sh -c 'sleep 0.3; echo lost my port; exit 1'\nRestart=always\nRestartSec=10ms\n")
	m.run(t, "systemctl", "daemon-reload")
	m.run(t, "systemctl", "start", "crashing")
	patient.Until(t, "systemd restarts it", func() bool {
		restarts, _ := strconv.Atoi(m.property(t, "NRestarts", "crashing"))
		return restarts >= 3
	})

	r := bind(t, m.host, "{name: crashing, ensure: running}")
	for range 20 { // in every state of the restart cycle
		if changes := look(t, m.host, r); len(changes) == 0 {
			t.Fatal("it is in sync")
		}
	}
	got := refused(t, m.host, "{name: crashing, ensure: running}")
	if !strings.Contains(got, "lost my port") {
		t.Errorf("the error does not quote the journal: %s", got)
	}
	apply(t, m.host, "{name: crashing, ensure: stopped}")
}
