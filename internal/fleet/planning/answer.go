package planning

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	reports "github.com/fettle-dev/fettle/api/reports/v1alpha1"
	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/text"
)

// readAnswer returns the report in an answer in the form that this version writes, without anything that differs from node to node
// though the outcome is the same, and without what a view does not have. generated is how many resources are left out, because those
// of the catalogs generate them.
func readAnswer(answer *reports.NodeAnswer, view View, listed func(v1alpha1.ResourceRef) bool) (raw []byte, generated int32, err error) {
	if len(answer.Reports) != 1 {
		return nil, 0, errors.New("there must be one report")
	}
	var r report.Report
	if err := json.Unmarshal(answer.Reports[0].Report.Raw, &r); err != nil {
		return nil, 0, err
	}
	plain := report.Report{Kind: "Report", APIVersion: "fettle.dev/v1alpha1", Noop: true, Resources: []report.ResourceReport{}}
	for _, res := range r.Resources {
		res.Duration, res.Author = 0, nil
		if view < Values {
			if !listed(v1alpha1.ResourceRef(res.Ref.String())) {
				generated++
				continue
			}
			res = withoutValues(res)
		}
		plain.Resources = append(plain.Resources, res)
	}
	plain.Complete(nil)
	plain.Metrics.Time, plain.Started = map[string]report.Duration{}, time.Time{}
	raw, err = json.Marshal(plain)
	return text.EscapeJSON(raw), generated, err
}

// withoutValues returns which properties would change, and how it ends.
func withoutValues(res report.ResourceReport) report.ResourceReport {
	events := res.Events
	res.Events = nil
	for _, e := range events {
		only := report.Event{Property: e.Property, Status: e.Status, Level: e.Level, Corrective: e.Corrective, Message: "refreshed"}
		if e.Property != "" {
			only.Message = e.Property + " changed"
		}
		res.Events = append(res.Events, only)
	}
	if res.Unknown != "" {
		res.Unknown = "only an apply can tell"
	}
	if !isValueless(res.Message) {
		res.Message = ""
	}
	return res
}

// isValueless reports whether a message has no value of a host: agents write these themselves.
func isValueless(message string) bool {
	return strings.HasPrefix(message, reports.NotChecked) || strings.HasPrefix(message, reports.NotCompared)
}

func rawOf(report []byte) *runtime.RawExtension { return &runtime.RawExtension{Raw: report} }
