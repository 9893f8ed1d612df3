package promise

import (
	"strings"
	"testing"
)

// A Case is a catalog on a host. Plan has what its plan says of each resource: the reference, the state, and why the outcome is unknown or
// the failure, so that a case shows what it is about.
type Case struct {
	Host Host
	Plan []string
}

// Keep tests that a plan keeps its promise.
func (c Case) Keep(t *testing.T) {
	t.Helper()
	o, err := c.Host.Try(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range o.Breaches() {
		t.Error(b)
	}
	if got := o.Told(); strings.Join(got, "\n") != strings.Join(c.Plan, "\n") {
		t.Errorf("the plan says\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.Plan, "\n"))
	}
}

// Told returns what the plan says of each resource, in a line.
func (o Outcome) Told() []string {
	var lines []string
	for _, r := range o.Plan.Resources {
		line := r.Ref.String() + " " + string(r.State)
		if r.Unknown != "" {
			line += " (unknown: " + r.Unknown + ")"
		}
		if r.Message != "" {
			line += ": " + r.Message
		}
		lines = append(lines, line)
	}
	return lines
}
