package controllers

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics of a [Fleet]. A nil *Metrics counts nothing.
type Metrics struct {
	refused prometheus.Gauge
	dropped prometheus.Counter
}

// NewMetrics registers the metrics of a fleet.
func NewMetrics(in prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		refused: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "fettle_unpublished_nodes", Help: "Nodes whose NodeCatalog the API server refuses to write. They keep what they have.",
		}),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "fettle_node_events_dropped_total", Help: "Events that were not sent because their node reports too many.",
		}),
	}
	return m, errors.Join(in.Register(m.refused), in.Register(m.dropped))
}

func (m *Metrics) unpublished(nodes int) {
	if m != nil {
		m.refused.Set(float64(nodes))
	}
}

func (m *Metrics) droppedEvent() {
	if m != nil {
		m.dropped.Inc()
	}
}
