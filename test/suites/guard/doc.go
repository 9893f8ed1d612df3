// Package guard holds the tests of what an agent's token may write, on a real API server.
//
// Tokens are asked for as a kubelet does, bound to pods on nodes, and every verb is tried
// on every object: once with rights that are far too wide, so that the admission policy
// alone is what refuses, and once with those of config/rbac.
package guard
