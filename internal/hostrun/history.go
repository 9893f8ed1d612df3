package hostrun

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/state"
	"github.com/fettle-dev/fettle/internal/text"
)

// History returns the reports in the history of a host, the latest last. Those that no program can read are left out.
func History(dir string) ([]report.Stored, error) {
	all, err := state.Reports(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot read the reports in %s: %w", dir, err)
	}
	var history []report.Stored
	for _, raw := range all {
		one := report.Stored{Number: raw.Number}
		if json.Unmarshal(raw.Report, &one.Report) == nil {
			history = append(history, one)
		}
	}
	return history, nil
}

// remember adds a report without diffs to the history of the host, unless the run changed nothing and found the same as the latest
// one in it.
func (o Options) remember(brief report.Report) error {
	all, err := state.Reports(o.Dir)
	if err != nil {
		return fmt.Errorf("cannot read the earlier reports: %w", err)
	}
	kept := fit(brief)
	if brief.Counts.Changed+brief.Counts.Refreshed == 0 && len(all) > 0 {
		var latest report.Report
		if err := json.Unmarshal(all[len(all)-1].Report, &latest); err == nil && outcome(latest) == outcome(kept) {
			return nil
		}
	}
	return state.AddReport(o.Dir, encode(kept))
}

// outcome is what a report says apart from times and from the catalog's name, as text that can be compared.
func outcome(r report.Report) string {
	r.Started, r.Duration, r.Metrics, r.CatalogDigest = time.Time{}, 0, report.Metrics{}, ""
	r.Resources = slices.Clone(r.Resources)
	for i := range r.Resources {
		r.Resources[i].Duration = 0
	}
	return string(encode(r))
}

// fit returns a report whose JSON is not too large for the history. It omits resources, those that did not fail first. The counts
// still include them.
func fit(r report.Report) report.Report {
	all := slices.Clone(r.Resources)
	slices.SortStableFunc(all, func(a, b report.ResourceReport) int { return rank(a) - rank(b) })
	r.Resources = nil
	const field = len(`"resources":[],`)
	left := state.MaxReportBytes - len(encode(r)) - field
	for i := range all {
		if left -= len(encode(all[i])); left < 0 { // its line feed stands for the comma
			break
		}
		r.Resources = all[:i+1]
	}
	return r
}

func rank(r report.ResourceReport) int {
	switch r.State {
	case report.Failed:
		return 0
	case report.Changed, report.Refreshed:
		return 1
	case report.Noop, report.Skipped, report.InSync:
	}
	return 2
}

func encode(value any) []byte {
	raw, err := json.Marshal(value)
	if err != nil { // a time that has no text
		return nil
	}
	return append(text.EscapeJSON(raw), '\n')
}
