// Package alerts evaluates the alerts of config/prometheus with the code of Prometheus.
//
// It is a module of its own, so that Prometheus is no dependency of Fettle.
package alerts
