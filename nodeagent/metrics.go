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
	err := errors.Join(in.Register(duration), in.Register(runs), in.Register(resources), in.Register(last))
	return func(s RunSummary) {
		if s.Err != nil {
			runs.WithLabelValues("error").Inc()
			return
		}
		runs.WithLabelValues(s.Report.Status).Inc()
		duration.WithLabelValues(string(s.Trigger)).Observe(time.Duration(s.Report.Duration).Seconds())
		last.Set(float64(s.Report.Started.Unix()))
		for state, n := range byState(s.Report.Counts) {
			resources.WithLabelValues(string(state)).Set(float64(n))
		}
	}, err
}

func byState(c report.Counts) map[report.State]int {
	return map[report.State]int{
		report.InSync: c.InSync, report.Changed: c.Changed, report.Refreshed: c.Refreshed,
		report.Noop: c.Noop, report.Skipped: c.Skipped, report.Failed: c.Failed,
	}
}
