// Package hostservice tests the agent as a service of a booted machine, with a real API server.
package hostservice
