package compiler_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/schedule"
)

func TestTheItemHasScheduleAndLogLevel(t *testing.T) {
	t.Parallel()

	daily := &v1alpha1.Schedule{
		Range: []v1alpha1.TimeRange{"22:00-04:00"}, Weekday: []v1alpha1.Weekday{"Sat"}, Period: "daily", PeriodMatch: "number", Repeat: 1,
	}
	entries, problems := compiler.Local(compiler.Input{
		Nodes: []compiler.Node{node("here", "web")}, Kinds: kinds(),
		Resources: []v1alpha1.Resource{
			service("a", func(s *v1alpha1.SystemService) { s.Spec.Schedule, s.Spec.LogLevel = daily, "debug" }),
			service("b", func(s *v1alpha1.SystemService) { s.Spec.LogLevel = "notice" }),
		},
	})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	items := catalog.Items(entries, kinds(), nil)
	want := &schedule.Schedule{
		Ranges:   []schedule.TimeRange{{From: schedule.Clock{Hour: 22}, To: schedule.Clock{Hour: 4}}},
		Weekdays: []time.Weekday{time.Saturday}, Period: schedule.Daily, ByNumber: true, Repeat: 1,
	}
	if diff := cmp.Diff(want, items[0].Schedule); diff != "" || items[0].LogLevel != resource.LevelDebug {
		t.Errorf("level %q, schedule (-want +got):\n%s", items[0].LogLevel, diff)
	}
	if entries[1].LogLevel != "" || items[1].Schedule != nil || items[1].Audit {
		t.Errorf("defaults are encoded: %+v", items[1])
	}
}

func TestAnInvalidAuditIsAProblem(t *testing.T) {
	t.Parallel()

	_, problems := compiler.Local(compiler.Input{
		Nodes: []compiler.Node{node("here", "web")}, Kinds: kinds(),
		Resources: []v1alpha1.Resource{file("a", "/a", func(f *v1alpha1.File) { f.Spec.Audit = []string{"colour"} })},
	})
	want := []compiler.Problem{{Ref: "File/a", Reason: v1alpha1.ReasonInvalidSpec, Message: `audit: resources of kind File leave no state to audit; remove audit`}}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Error(diff)
	}
}
