package nodeagent

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fettle-dev/fettle/internal/engine/report"
)

// Metrics registers the agent's metrics and returns the function that updates them, for Config.Ran.
func Metrics(in prometheus.Registerer) (func(RunSummary), error) {
	duration := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "fettle_run_duration_seconds", Help: "Duration of runs.", Buckets: prometheus.ExponentialBuckets(0.01, 4, 9),
	}, []string{"trigger"})
	runs := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "fettle_runs_total", Help: "Runs by status: unchanged, changed, failed, or error if the run could not start or be saved.",
	}, []string{"status"})
	resources := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "fettle_resources", Help: "Resources by state after the last run.",
	}, []string{"state"})
	last := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "fettle_last_run_timestamp_seconds", Help: "Start of the last run, in Unix time.",
	})
	success := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "fettle_last_successful_run_timestamp_seconds", Help: "Start of the last run without a failure, in Unix time.",
	})
	catalog := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "fettle_catalog_applied_timestamp_seconds", Help: "Start of the first run that applied the present catalog, in Unix time, since this agent started.",
	})
	changes := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "fettle_changes_total", Help: "Resources that were changed, by cause: correction, if something other than Fettle had changed the host, or desired.",
	}, []string{"cause"})
	failures := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "fettle_resource_failures_total", Help: "Resources that failed, counted in each run.",
	})
	corrections := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "fettle_drift_corrections_total", Help: "Corrections of drift by kind of resource.",
	}, []string{"kind"})
	delay := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "fettle_drift_correction_seconds",
		Help:    "Time from the first notice of a change on the host to the end of the run that corrected drift, for each resource.",
		Buckets: prometheus.ExponentialBuckets(0.01, 4, 9), // 10 ms to 11 minutes
	})
	contended := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "fettle_contended_resources", Help: "Resources that something else changes again and again, against their corrections.",
	})
	var errs []error
	for _, c := range []prometheus.Collector{duration, runs, resources, last, success, catalog, changes, failures, corrections, delay, contended} {
		errs = append(errs, in.Register(c))
	}
	digest := ""
	return func(s RunSummary) {
		if s.Err != nil {
			runs.WithLabelValues("error").Inc()
			return
		}
		for kind, n := range correctedByKind(s.Report.Resources) {
			corrections.WithLabelValues(kind).Add(float64(n))
			for range n {
				s.observeDelay(delay)
			}
		}
		started := float64(s.Report.Started.Unix())
		runs.WithLabelValues(s.Report.Status).Inc()
		duration.WithLabelValues(string(s.Trigger)).Observe(time.Duration(s.Report.Duration).Seconds())
		last.Set(started)
		if s.succeeded() {
			success.Set(started)
		}
		if digest != s.Report.CatalogDigest {
			digest = s.Report.CatalogDigest
			catalog.Set(started)
		}
		for cause, n := range byCause(s.Report.Resources) {
			changes.WithLabelValues(cause).Add(float64(n))
		}
		failures.Add(float64(s.Report.Counts.Failed))
		contended.Set(float64(s.Contended))
		s.countResources(resources)
	}, errors.Join(errs...)
}

// succeeded reports whether a run of everything had no failure.
func (s RunSummary) succeeded() bool { return s.Report.Status != "failed" && !s.Report.Partial }

// countResources sets the number of resources in each state. A partial run says nothing of the others.
func (s RunSummary) countResources(in *prometheus.GaugeVec) {
	if s.Report.Partial {
		return
	}
	for state, n := range byState(s.Report.Counts) {
		in.WithLabelValues(string(state)).Set(float64(n))
	}
}

// observeDelay observes how long a correction took, if that is known.
func (s RunSummary) observeDelay(in prometheus.Observer) {
	if !s.Noticed.IsZero() {
		in.Observe(s.Ended.Sub(s.Noticed).Seconds())
	}
}

// correctedByKind counts corrected resources.
func correctedByKind(resources []report.ResourceReport) map[string]int {
	counts := map[string]int{}
	for _, r := range resources {
		if r.State != report.Failed && r.Corrected() {
			counts[r.Ref.Kind]++
		}
	}
	return counts
}

// byCause counts changed resources.
func byCause(resources []report.ResourceReport) map[string]int {
	counts := map[string]int{"correction": 0, "desired": 0}
	for _, r := range resources {
		switch {
		case r.State != report.Changed:
		case r.Corrective():
			counts["correction"]++
		default:
			counts["desired"]++
		}
	}
	return counts
}

func byState(c report.Counts) map[report.State]int {
	return map[report.State]int{
		report.InSync: c.InSync, report.Changed: c.Changed, report.Refreshed: c.Refreshed,
		report.Noop: c.Noop, report.Skipped: c.Skipped, report.Failed: c.Failed,
	}
}
