// Package guard tests the write permissions of agents' tokens on a real API server.
//
// Tokens are bound to pods on nodes, as by a kubelet. Every verb is tried on every object: once with all permissions, so
// that only the admission policy denies requests, and once with those of config/rbac.
package guard
