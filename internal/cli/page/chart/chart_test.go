package chart_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/page/chart"
)

func TestHistoryHasAColumnForEachHour(t *testing.T) {
	t.Parallel()

	now := time.Date(2026, 1, 10, 12, 34, 0, 0, time.UTC)
	hour := func(ago int, inSync, drifting, failed, unknown int32) v1alpha1.FleetHour {
		return v1alpha1.FleetHour{
			Hour: metav1.NewTime(now.Truncate(time.Hour).Add(-time.Duration(ago) * time.Hour)), InSync: inSync, Drifting: drifting, Failed: failed, Unknown: unknown,
		}
	}
	shown := []v1alpha1.FleetHour{hour(0, 6, 2, 1, 1), hour(2, 0, 5, 0, 0), hour(167, 10, 0, 0, 0)}
	all := append([]v1alpha1.FleetHour{hour(-1, 1, 0, 0, 0), hour(1, 0, 0, 0, 0), hour(168, 1, 0, 0, 0)}, shown...)
	day := func(day int, x float64) chart.Day {
		return chart.Day{Begin: time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC), X: x}
	}
	want := chart.History{Width: 1008, Height: 120, Most: 10, Days: []chart.Day{
		day(4, 100*11./168), day(5, 100*35./168), day(6, 100*59./168), day(7, 100*83./168), day(8, 100*107./168), day(9, 100*131./168), day(10, 100*155./168),
	}, Columns: []chart.Column{
		{FleetHour: shown[0], X: 1002, Parts: []chart.Part{{"InSync", 48, 72}, {"Drifting", 24, 24}, {"Failed", 12, 12}, {"Unknown", 0, 12}}},
		{FleetHour: shown[1], X: 990, Parts: []chart.Part{{"Drifting", 60, 60}}},
		{FleetHour: shown[2], X: 0, Parts: []chart.Part{{"InSync", 0, 120}}},
	}}
	if diff := cmp.Diff(want, chart.HistoryOf(all, now)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := chart.HistoryOf(nil, now); len(got.Columns) != 0 {
		t.Errorf("without hours: %v", got)
	}
}

func TestResourcesAreDrawnRightOfTheirPredecessors(t *testing.T) {
	t.Parallel()

	got := chart.Draw([]chart.Edge{{From: "a", To: "c"}, {From: "a", To: "b"}, {From: "b", To: "c", Refresh: true}, {From: "x", To: "b"}})
	want := chart.Graph{
		Width: 780, Height: 62,
		Boxes: []chart.Box{{"a", 0, 0}, {"x", 0, 36}, {"b", 280, 0}, {"c", 560, 0}},
		Lines: []chart.Line{
			{chart.Edge{From: "a", To: "c"}, "M220 13C390 13 390 13 560 13"},
			{chart.Edge{From: "a", To: "b"}, "M220 13C250 13 250 13 280 13"},
			{chart.Edge{From: "b", To: "c", Refresh: true}, "M500 13C530 13 530 13 560 13"},
			{chart.Edge{From: "x", To: "b"}, "M220 49C250 49 250 13 280 13"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestACycleIsDrawn(t *testing.T) {
	t.Parallel()

	got := chart.Draw([]chart.Edge{{From: "a", To: "b"}, {From: "b", To: "a"}, {From: "b", To: "b"}, {From: "x", To: "a"}})
	want := []chart.Box{{"x", 0, 0}, {"a", 280, 0}, {"b", 280, 36}}
	if diff := cmp.Diff(want, got.Boxes); diff != "" || len(got.Lines) != 4 {
		t.Errorf("(-want +got):\n%s%v", diff, got.Lines)
	}
	if got := chart.Draw(nil); len(got.Boxes) != 0 {
		t.Errorf("without edges: %v", got)
	}
}
