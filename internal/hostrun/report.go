package hostrun

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/state"
	"github.com/fettle-dev/fettle/internal/text"
)

// keep puts the report of a run where people find it, and tools that watch the host: as
// JSON, brief. A run that finds all as it was left writes nothing, so that what is there
// tells of the last one that had something to tell. That it can't be kept is no failure
// of the run.
func (o Options) keep(result report.Report) {
	if result.Kind == "" || o.ReadOnly || o.isTold(result) {
		return
	}
	raw, err := json.MarshalIndent(result.Brief(), "", "  ")
	if err == nil {
		err = state.PutReport(o.Dir, append(text.EscapeJSON(raw), '\n'))
	}
	if err != nil {
		o.Warn(fmt.Sprintf("cannot keep the report of the run: %v", err))
	}
}

// isTold reports whether a run found what the report that is kept says: everything in
// sync, by the same catalog.
func (o Options) isTold(result report.Report) bool {
	if !result.Quiet() {
		return false
	}
	raw, err := state.Report(o.Dir)
	if err != nil {
		return false
	}
	kept, err := heading(raw)
	if err != nil {
		return false
	}
	left := kept.Counts.Failed + kept.Counts.Skipped + kept.Counts.Noop
	return left == 0 && kept.Message == "" && kept.CatalogDigest == result.CatalogDigest
}

// heading reads a report up to its resources, which come last and of which there may be
// very many.
func heading(raw []byte) (r report.Report, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
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
