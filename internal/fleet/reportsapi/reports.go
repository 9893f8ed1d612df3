package reportsapi

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/fettle-dev/fettle/api/reports/v1alpha1"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/text"
)

// A checked report is one that a node sent, in the form that this version writes.
type checked struct {
	number int64
	report report.Report
	raw    runtime.RawExtension
}

// checkReports decodes reports and encodes them again, so that a caller gets reports, whatever the node sent.
func checkReports(all []v1alpha1.NumberedReport) ([]checked, error) {
	out := make([]checked, len(all))
	for i, r := range all {
		c := checked{number: r.Number}
		if err := json.Unmarshal(r.Report.Raw, &c.report); err != nil {
			return nil, err
		}
		raw, err := json.Marshal(c.report)
		if err != nil {
			return nil, err
		}
		c.raw.Raw = text.EscapeJSON(raw)
		out[i] = c
	}
	return out, nil
}

// summarize decodes the counts of a report.
func summarize(raw runtime.RawExtension) (r report.Report, err error) {
	err = json.Unmarshal(raw.Raw, &r)
	return r, err
}

func columns(names ...string) []metav1.TableColumnDefinition {
	all := []metav1.TableColumnDefinition{{Name: "Name", Type: "string", Format: "name"}}
	for _, n := range names {
		all = append(all, metav1.TableColumnDefinition{Name: n, Type: "string"})
	}
	return all
}

// reportTable prints NodeReports.
type reportTable struct{}

// ConvertToTable implements rest.TableConvertor.
func (reportTable) ConvertToTable(_ context.Context, o runtime.Object, _ runtime.Object) (*metav1.Table, error) {
	table := &metav1.Table{ColumnDefinitions: columns("Status", "Changed", "Refreshed", "Failed", "Noop", "Duration", "Age")}
	err := eachOf(o, func(item runtime.Object) error {
		n, ok := item.(*v1alpha1.NodeReport)
		if !ok {
			return fmt.Errorf("cannot print a %T", item)
		}
		r, err := summarize(n.Report)
		if err != nil {
			return err
		}
		table.Rows = append(table.Rows, metav1.TableRow{
			Cells:  []any{n.Name, status(r), r.Counts.Changed, r.Counts.Refreshed, r.Counts.Failed, r.Counts.Noop, r.Duration.String(), age(n.CreationTimestamp)},
			Object: runtime.RawExtension{Object: n},
		})
		return nil
	})
	return table, err
}

// diffTable prints NodeDiffs.
type diffTable struct{}

// ConvertToTable implements rest.TableConvertor.
func (diffTable) ConvertToTable(_ context.Context, o runtime.Object, _ runtime.Object) (*metav1.Table, error) {
	n, ok := o.(*v1alpha1.NodeDiff)
	if !ok {
		return nil, fmt.Errorf("cannot print a %T", o)
	}
	r, err := summarize(n.Report)
	if err != nil {
		return nil, err
	}
	return &metav1.Table{ColumnDefinitions: columns("Differ", "Failed", "Not Checked", "Duration"), Rows: []metav1.TableRow{{
		Cells: []any{n.Name, r.Counts.Noop, r.Counts.Failed, r.Counts.Skipped, r.Duration.String()}, Object: runtime.RawExtension{Object: n},
	}}}, nil
}

func eachOf(o runtime.Object, f func(runtime.Object) error) error {
	if meta.IsListType(o) {
		return meta.EachListItem(o, f)
	}
	return f(o)
}

// status is the status of a report if it is one of the known ones: the text is a node's.
func status(r report.Report) string {
	switch r.Status {
	case "unchanged", "changed", "failed":
		return r.Status
	}
	return "unknown"
}

func age(at metav1.Time) string {
	if at.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(time.Since(at.Time))
}
