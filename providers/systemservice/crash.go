package systemservice

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/internal/host"
)

// crashing is a value of ensure that is only read: systemd restarts the service again and again.
const crashing = "crashing"

// A service is crash looping if systemd has restarted it this often, the last time within this window.
// Restart= handles a single crash.
const (
	crashLoopRestarts = 3
	crashLoopWindow   = time.Minute
)

// crashLoops reports whether the unit is in a crash loop on a host that booted uptime ago. Between two
// crashes such a unit is active, so its state is not enough.
func (u unit) crashLoops(uptime time.Duration) bool {
	restarts, err := strconv.Atoi(u.Restarts)
	return err == nil && restarts >= crashLoopRestarts && uptime-u.activeSince() < crashLoopWindow
}

// activeSince returns the time when the unit was last started, since boot.
func (u unit) activeSince() time.Duration {
	microseconds, _ := strconv.ParseInt(u.ActiveEnter, 10, 64) // 0 if it never was
	return time.Duration(microseconds) * time.Microsecond
}

// findCrashLoops marks the units in a crash loop. It reads the host's clock only if systemd has
// restarted one.
func findCrashLoops(h host.Reader, units []unit) error {
	var uptime time.Duration
	for i, u := range units {
		if u.Restarts == "" || u.Restarts == "0" {
			continue
		}
		if uptime == 0 {
			var err error
			if uptime, err = readUptime(h); err != nil {
				return err
			}
		}
		units[i].CrashLoops = u.crashLoops(uptime)
	}
	return nil
}

// readUptime returns the time since boot. The file begins with seconds, as in "350735.47 234388.90".
func readUptime(h host.Reader) (time.Duration, error) {
	text, err := h.ReadFile("/proc/uptime")
	if err != nil {
		return 0, fmt.Errorf("cannot find out when services were restarted: %w", err)
	}
	first, _, _ := strings.Cut(string(text), " ")
	uptime, err := time.ParseDuration(strings.TrimSpace(first) + "s")
	if err != nil {
		return 0, fmt.Errorf("cannot find out when services were restarted: /proc/uptime: %w", err)
	}
	return uptime, nil
}

// whyCrashing returns the error of a unit that does not stay up.
func whyCrashing(u unit) error {
	return fmt.Errorf("%s keeps crashing: systemd has restarted it %s times; fix the cause", u.ID, u.Restarts)
}
