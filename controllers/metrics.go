package controllers

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics of a [Fleet]. A nil *Metrics counts nothing.
type Metrics struct {
	unpublished   prometheus.Gauge
	droppedEvents prometheus.Counter
}

// NewMetrics registers the metrics of a fleet.
func NewMetrics(in prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		unpublished: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "fettle_unpublished_nodes", Help: "Nodes whose NodeCatalog the API server rejects. They stay at their last one.",
		}),
		droppedEvents: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "fettle_node_events_dropped_total", Help: "Events that were not sent because their node reports too many.",
		}),
	}
	return m, errors.Join(in.Register(m.unpublished), in.Register(m.droppedEvents))
}

func (m *Metrics) setUnpublished(nodes int) {
	if m != nil {
		m.unpublished.Set(float64(nodes))
	}
}

func (m *Metrics) dropEvent() {
	if m != nil {
		m.droppedEvents.Inc()
	}
}
