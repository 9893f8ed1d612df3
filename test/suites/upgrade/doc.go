// Package upgrade tests that a version uses what another one has left on a host: an upgrade loses nothing, nor does a rollback.
package upgrade
