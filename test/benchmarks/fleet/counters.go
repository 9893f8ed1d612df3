package main

import (
	"bytes"
	"context"
	"time"

	dto "github.com/prometheus/client_model/go"
	"k8s.io/client-go/kubernetes"

	"github.com/fettle-dev/fettle/test/benchmarks/bench"
)

// counters are metrics of the API server since its start.
type counters struct {
	etcd                   float64 // bytes of its database
	leases, others, writes float64 // requests about what is ours
}

// counters requests the metrics of the API server.
func (f *fleet) counters(ctx context.Context) counters {
	set, err := kubernetes.NewForConfig(f.Config)
	f.Must(err)
	text, err := set.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	f.Must(err)
	families, err := bench.ParseMetrics(bytes.NewReader(text))
	f.Must(err)
	var c counters
	for _, m := range families["apiserver_request_total"].GetMetric() {
		c.request(labels(m), m.GetCounter().GetValue())
	}
	for _, m := range families["apiserver_storage_size_bytes"].GetMetric() {
		c.etcd += m.GetGauge().GetValue()
	}
	return c
}

// request counts requests of one kind.
func (c *counters) request(l map[string]string, n float64) {
	writes := map[string]bool{"CREATE": true, "PATCH": true, "PUT": true, "UPDATE": true, "DELETE": true, "APPLY": true, "POST": true}[l["verb"]]
	switch {
	case l["resource"] == "leases" && l["group"] == "coordination.k8s.io":
		c.leases += n
		return
	case l["group"] != "fettle.dev" && l["resource"] != "nodes" && l["resource"] != "configmaps" && l["resource"] != "secrets" && l["group"] != "events.k8s.io":
		return
	case writes:
		c.writes += n
	}
	c.others += n
}

func labels(m *dto.Metric) map[string]string {
	all := map[string]string{}
	for _, l := range m.GetLabel() {
		all[l.GetName()] = l.GetValue()
	}
	return all
}

// quietly measures a fleet to which nothing happens.
func (f *fleet) quietly(ctx context.Context, r *result) {
	before := f.counters(ctx)
	began := time.Now()
	f.Pause(ctx, f.quiet)
	after, seconds := f.counters(ctx), time.Since(began).Seconds()
	r.leases = (after.leases - before.leases) / seconds
	r.others = (after.others - before.others) / seconds
	r.writes = (after.writes - before.writes) / seconds
}
