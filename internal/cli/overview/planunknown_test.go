package overview_test

import (
	"testing"

	"github.com/fettle-dev/fettle/internal/cli/overview"
	"github.com/fettle-dev/fettle/internal/engine/report"
)

func TestAnUnknownOutcomeIsAChange(t *testing.T) {
	g := overview.PlanGroup{Report: &report.Report{
		Counts:    report.Counts{Total: 1, Noop: 1, Unknown: 1},
		Resources: []report.ResourceReport{{State: report.Noop, Unknown: "runs a command"}},
	}}
	if !g.Changing() || g.Failing() || g.Unknown() {
		t.Errorf("changing %t, failing %t, unknown %t; want only the first", g.Changing(), g.Failing(), g.Unknown())
	}
}
