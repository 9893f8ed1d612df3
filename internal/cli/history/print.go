package history

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/engine/report"
)

// Choose returns the report with a number; for "", the latest. The error is to follow "NODE has".
func Choose(all []report.Stored, number string) (report.Stored, error) {
	if number == "" && len(all) > 0 {
		return all[len(all)-1], nil
	}
	for _, r := range all {
		if strconv.FormatInt(r.Number, 10) == number {
			return r, nil
		}
	}
	if len(all) == 0 {
		return report.Stored{}, errors.New("no reports")
	}
	return report.Stored{}, fmt.Errorf("no report %q", number)
}

// Show prints a report as text, json or yaml.
func Show(p *output.Printer, r report.Report, as flags.Output) error {
	if as.Is(flags.Text) {
		for _, res := range r.Resources {
			p.Resource(res, true)
		}
	}
	return p.Report(r, output.Style{Format: as.String()})
}

// List prints reports as a table, csv, json or yaml.
func List(p *output.Printer, all []report.Stored, as flags.Output, now time.Time) error {
	rows := [][]string{{"NUMBER", "AGE", "STATUS", "CHANGED", "REFRESHED", "FAILED", "NOOP", "DURATION"}}
	for _, r := range all {
		c := r.Report.Counts
		rows = append(rows, []string{
			strconv.FormatInt(r.Number, 10), output.Age(r.Report.Started, now, as.String()), r.Report.Status,
			strconv.Itoa(c.Changed), strconv.Itoa(c.Refreshed), strconv.Itoa(c.Failed), strconv.Itoa(c.Noop), r.Report.Duration.String(),
		})
	}
	return as.PrintRows(p, all, rows)
}
