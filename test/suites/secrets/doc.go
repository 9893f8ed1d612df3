// Package secrets holds the tests of how a Secret gets to a host, with a real manager and
// real agents on a real API server.
//
// Values that are nowhere else are looked for in all that etcd has, and in all that
// manager and agent say and keep: they are in Secrets and on hosts alone.
package secrets
