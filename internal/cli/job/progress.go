package job

import (
	"fmt"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
)

// progress is a line about a run that handles some resources now. Generated resources count as done, and not in the total.
func progress(done, total int, now []resource.Ref) string {
	done = min(done, total)
	return fmt.Sprintf("%s%d of %s: %s", output.Bar(done, total), done, text.Count(total, "resource"), text.ListOf(len(now), now[:1]))
}

// A tally sums up the runs of Watch.
type tally struct {
	counts      report.Counts // of all resources after the last run or correction
	states      map[report.Ref]report.State
	corrections int
	last        resource.Ref // that was corrected
	at          time.Time    // of its correction
}

// with returns the tally after another run, or a correction of some resources.
func (t tally) with(r report.Report, now time.Time) tally {
	if !r.Partial {
		t.counts, t.states = r.Counts, map[report.Ref]report.State{}
	} else {
		t.counts.InSync += t.counts.Changed + t.counts.Refreshed
		t.counts.Changed, t.counts.Refreshed, t.counts.OutOfSync = 0, 0, 0
	}
	for _, res := range r.Resources {
		if r.Partial {
			t.replace(res)
		}
		t.states[res.Ref] = res.State
	}
	if corrected := r.Corrected(); len(corrected) > 0 {
		t.corrections += len(corrected)
		t.last, t.at = corrected[len(corrected)-1], now
	}
	return t
}

// replace counts a resource in its new state instead of the one before.
func (t *tally) replace(r report.ResourceReport) {
	switch t.states[r.Ref] {
	case report.Noop:
		t.counts.Noop--
	case report.Failed:
		t.counts.Failed--
	case report.Skipped:
		t.counts.Skipped--
	default: // a change was made before
		t.counts.InSync--
	}
	t.counts.Total--
	t.counts.Add(r)
}

// String is "watching: 2 of 3 resources in sync, 1 failed; 4 corrections, the last one at 15:04:05 of File/a".
func (t tally) String() string {
	c := t.counts
	parts := []string{fmt.Sprintf("watching: %d of %s in sync", c.InSync+c.Changed+c.Refreshed, text.Count(c.Total, "resource"))}
	for _, part := range []struct {
		n    int
		what string
	}{{c.Noop, "noop"}, {c.Skipped, "skipped"}, {c.Failed, "failed"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	line := strings.Join(parts, ", ")
	if t.corrections > 0 {
		line += fmt.Sprintf("; %s, the last one at %s of %s", text.Count(t.corrections, "correction"), t.at.Format(time.TimeOnly), t.last)
	}
	return line
}
