// Package secrets tests the path of a Secret to a host, with a real manager and real agents on a real API server.
//
// It searches for unique values in etcd and in all output and files of the manager and the agents: they must occur only
// in Secrets and on hosts.
package secrets
