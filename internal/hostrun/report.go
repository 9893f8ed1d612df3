package hostrun

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/state"
	"github.com/fettle-dev/fettle/internal/text"
)

// keep saves the report of a run, as brief JSON, for people and for tools that monitor the host. A
// run that finds everything unchanged writes nothing, so the file describes the last eventful run.
// A failure to save the report does not fail the run.
func (o Options) keep(result report.Report) {
	if result.Kind == "" || o.ReadOnly || o.isTold(result) {
		return
	}
	brief := result.Brief()
	raw, err := json.MarshalIndent(brief, "", "  ")
	if err == nil {
		err = errors.Join(state.PutReport(o.Dir, append(text.EscapeJSON(raw), '\n')), o.remember(brief))
	}
	if err != nil {
		o.Warn(fmt.Sprintf("cannot save the report of the run: %v", err))
	}
}

// isTold reports whether the saved report already describes the result: everything in sync, by the
// same catalog.
func (o Options) isTold(result report.Report) bool {
	if !result.Quiet() {
		return false
	}
	if result.Partial { // it says nothing of the resources that the saved report may be about
		return true
	}
	file, err := state.OpenReport(o.Dir)
	if err != nil {
		return false
	}
	defer file.Close()
	kept, err := heading(file)
	if err != nil {
		return false
	}
	left := kept.Counts.Failed + kept.Counts.Skipped + kept.Counts.Noop
	return left == 0 && kept.Message == "" && kept.CatalogDigest == result.CatalogDigest
}

// heading decodes a report up to its resources, which come last and may be very many.
func heading(of io.Reader) (r report.Report, err error) {
	d := json.NewDecoder(of)
	fields := map[string]any{"message": &r.Message, "catalogDigest": &r.CatalogDigest, "counts": &r.Counts}
	_, err = d.Token()
	for err == nil && d.More() {
		var key json.Token
		if key, err = d.Token(); err != nil || key == "resources" {
			break
		}
		into, wanted := fields[fmt.Sprint(key)]
		if !wanted {
			into = new(json.RawMessage)
		}
		err = d.Decode(into)
	}
	return r, err
}
