package controllers

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/counts"
)

// Metrics of a [Reconciler]. docs/metrics.md describes them.
type Metrics struct {
	unpublished, published         prometheus.Gauge
	droppedEvents, reconcileErrors prometheus.Counter
	resources, nodes               *prometheus.GaugeVec
	compile, publish               prometheus.Histogram
	rolloutHalted, rolloutUnused   *prometheus.GaugeVec // by policy
	rolloutAge                     *prometheus.GaugeVec // by policy
	rolloutNodes                   *prometheus.GaugeVec // by policy and state
	// of the last 24 hours
	driftedNodes, driftedResources, uncorrectedDrift prometheus.Gauge

	counted map[[2]string]int // resources by kind and state
}

// NewMetrics registers the metrics of a fleet, which panics if they are registered already. nil registers none.
func NewMetrics(in prometheus.Registerer) *Metrics {
	buckets := prometheus.ExponentialBuckets(0.005, 4, 8) // 5 ms to 82 s
	with := promauto.With(in)
	return &Metrics{
		unpublished: with.NewGauge(prometheus.GaugeOpts{
			Name: "fettle_unpublished_nodes", Help: "Nodes whose NodeCatalog the API server rejects. They stay at their last one.",
		}),
		droppedEvents: with.NewCounter(prometheus.CounterOpts{
			Name: "fettle_node_events_dropped_total", Help: "Events that were not sent because their node reports too many.",
		}),
		resources: with.NewGaugeVec(prometheus.GaugeOpts{
			Name: "fettle_fleet_resources", Help: "Resources by kind and state: Ready, Reconciling, Stalled or NotReady.",
		}, []string{"kind", "state"}),
		nodes: with.NewGaugeVec(prometheus.GaugeOpts{
			Name: "fettle_fleet_nodes", Help: "Nodes by state: InSync, Pending, Held, Failed, Withheld, OutOfSync, Disabled or Silent.",
		}, []string{"state"}),
		compile: with.NewHistogram(prometheus.HistogramOpts{
			Name: "fettle_compile_duration_seconds", Help: "Duration of compilations of all catalogs.", Buckets: buckets,
		}),
		publish: with.NewHistogram(prometheus.HistogramOpts{
			Name: "fettle_publish_duration_seconds", Help: "Duration of writing all Catalogs and NodeCatalogs that a compilation changed.", Buckets: buckets,
		}),
		rolloutHalted: with.NewGaugeVec(prometheus.GaugeOpts{
			Name: "fettle_rollout_halted", Help: "1 while the rollout of a RolloutPolicy is halted because too many nodes failed, else 0.",
		}, []string{"policy"}),
		rolloutUnused: with.NewGaugeVec(prometheus.GaugeOpts{
			Name: "fettle_rollout_window_unused", Help: "1 while a change waits and the last window of its RolloutPolicy passed without a node that got it, else 0.",
		}, []string{"policy"}),
		rolloutAge: with.NewGaugeVec(prometheus.GaugeOpts{
			Name: "fettle_rollout_target_seconds", Help: "Time since the rollout of the present target of a RolloutPolicy started, 0 at rest.",
		}, []string{"policy"}),
		rolloutNodes: with.NewGaugeVec(prometheus.GaugeOpts{
			Name: "fettle_rollout_nodes", Help: "Nodes of a RolloutPolicy by their state in its rollout: total, affected, admitted, proven, failed or excluded.",
		}, []string{"policy", "state"}),
		driftedNodes: with.NewGauge(prometheus.GaugeOpts{
			Name: "fettle_fleet_drifted_nodes", Help: "Nodes on which resources drifted in the last 24 hours.",
		}),
		driftedResources: with.NewGauge(prometheus.GaugeOpts{
			Name: "fettle_fleet_drifted_resources", Help: "Resources that drifted in the last 24 hours.",
		}),
		uncorrectedDrift: with.NewGauge(prometheus.GaugeOpts{
			Name: "fettle_fleet_uncorrected_drift", Help: "Resources on nodes that drifted in the last 24 hours and were not corrected.",
		}),
		published: with.NewGauge(prometheus.GaugeOpts{
			Name: "fettle_last_publish_timestamp_seconds", Help: "When this manager last brought all NodeCatalogs up to date, in Unix time.",
		}),
		reconcileErrors: with.NewCounter(prometheus.CounterOpts{
			Name: "fettle_reconcile_errors_total", Help: "Reconciliations of which a part failed. They are retried.",
		}),
	}
}

// observePublish notes that writing took some time until now, and whether all was written.
func (m *Metrics) observePublish(took time.Duration, now time.Time, err error) {
	m.publish.Observe(took.Seconds())
	if err == nil {
		m.published.Set(float64(now.Unix()))
	}
}

func (m *Metrics) setDrift(d v1alpha1.FleetDrift) {
	m.driftedNodes.Set(float64(d.Nodes))
	m.driftedResources.Set(float64(d.Resources))
	m.uncorrectedDrift.Set(float64(d.Uncorrected))
}

// setCounts ends the series of kinds that are gone.
func (m *Metrics) setCounts(c *counts.Counts) {
	for labels := range m.counted {
		if _, stays := c.Resources[labels]; !stays {
			m.resources.DeleteLabelValues(labels[0], labels[1])
		}
	}
	m.counted = c.Resources
	for labels, n := range c.Resources {
		m.resources.WithLabelValues(labels[0], labels[1]).Set(float64(n))
	}
	for state, n := range c.Nodes {
		m.nodes.WithLabelValues(string(state)).Set(float64(n))
	}
}
