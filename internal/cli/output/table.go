package output

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/internal/text"
)

// Table writes rows in columns, two spaces apart.
func (p *Printer) Table(rows [][]string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clearProgress()
	w := tabwriter.NewWriter(p.Out, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		cells := make([]string, len(r))
		for i, cell := range r {
			cells[i] = text.Line(forTerminal(p.OutTerminal, cell))
			if isFormula(cell) {
				cells[i] = "'" + cells[i]
			}
		}
		_, _ = fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	_ = w.Flush()
}

// Age is the time since another one as kubectl shows it or, in a table for other programs, that time. The age of the zero time is "".
func Age(at, now time.Time, format string) string {
	switch {
	case at.IsZero():
		return ""
	case format == "csv":
		return at.UTC().Format(time.RFC3339)
	}
	return duration.HumanDuration(max(0, now.Sub(at)))
}

// CSV writes rows as comma-separated values, with everything unprintable escaped. Cells that spreadsheets would take for formulas begin
// with an apostrophe: nodes and users choose names and messages.
func (p *Printer) CSV(rows [][]string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clearProgress()
	w := csv.NewWriter(p.Out)
	for _, r := range rows {
		cells := make([]string, len(r))
		for i, cell := range r {
			cells[i] = text.Line(cell)
			if isFormula(cell) {
				cells[i] = "'" + cells[i]
			}
		}
		if err := w.Write(cells); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// isFormula reports whether a spreadsheet may evaluate a cell. Numbers are none.
func isFormula(cell string) bool {
	start := strings.TrimLeft(cell, " \t\r\n")
	if start == "" || !strings.ContainsRune("=+-@", rune(start[0])) {
		return false
	}
	_, err := strconv.ParseFloat(start, 64)
	return err != nil
}

// Encode writes a value as json or yaml, with everything unprintable escaped. YAML has no escapes for some
// characters, so a value that needs them is written as JSON, which is YAML too.
func (p *Printer) Encode(v any, format string) error {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if format == "json" {
		raw = text.EscapeJSON(raw)
	} else {
		raw = text.EscapeYAML(raw) // first: YAML has line ends that JSON does not have
		if asYAML, err := yaml.JSONToYAML(raw); err == nil && text.Block(string(asYAML)) == string(asYAML) {
			raw = bytes.TrimRight(asYAML, "\n")
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = fmt.Fprintf(p.Out, "%s\n", raw)
	return nil
}
