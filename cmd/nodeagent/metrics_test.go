package main

import (
	"slices"
	"testing"

	clientmetrics "k8s.io/client-go/tools/metrics"
)

func TestMetricsOfTheProcessAndOfRequestsHaveTheirUsualNames(t *testing.T) {
	t.Parallel()

	metrics := newMetrics()
	clientmetrics.RequestResult.Increment(t.Context(), "200", "GET", "api")
	families, err := metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range families {
		names = append(names, f.GetName())
	}
	for _, want := range []string{"go_goroutines", "go_gc_heap_goal_bytes", "process_resident_memory_bytes", "rest_client_requests_total"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is not one of %s", want, names)
		}
	}
}
