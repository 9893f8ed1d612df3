package audit_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine/audit"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/resource"
)

func TestEventsOfAudits(t *testing.T) {
	t.Parallel()
	recorded := map[string]string{"same": "1", "changed": "1", "appeared": "", "vanished": "1", "secret": "1", "first secret": ""}
	got := audit.Events(recorded, []resource.AuditedValue{
		{Property: "same", Value: "1"},
		{Property: "changed", Value: "2"},
		{Property: "appeared", Value: "2"},
		{Property: "vanished", Value: ""},
		{Property: "new", Value: "2"},
		{Property: "absent", Value: ""},
		{Property: "secret", Value: "2", Sensitive: true},
		{Property: "first secret", Value: "2", Sensitive: true},
		{Property: "absent secret", Value: "", Sensitive: true},
	})
	event := func(property, was, is, message string) report.Event {
		return report.Event{Property: property, Status: report.Audit, Historical: was, Is: is, Message: "audit change: " + message}
	}
	want := []report.Event{
		event("changed", "1", "2", "previously recorded value of changed 1 has been changed to 2"),
		event("appeared", "absent", "2", "previously recorded value of appeared absent has been changed to 2"),
		event("vanished", "1", "", "previously recorded value of vanished 1 has been changed to absent"),
		event("new", "", "2", "newly-recorded value of new is 2"),
		event("absent", "", "", "newly-recorded value of absent is absent"),
		event("secret", "[redacted]", "[redacted]", "previously recorded value of secret [redacted] has been changed to [redacted]"),
		event("first secret", "absent", "[redacted]", "previously recorded value of first secret absent has been changed to [redacted]"),
		event("absent secret", "", "", "newly-recorded value of absent secret is absent"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOnlyAChangedValueIsAChange(t *testing.T) {
	t.Parallel()
	first := report.Event{Status: report.Audit, Is: "red"}
	changed := report.Event{Status: report.Audit, Is: "red", Historical: "blue"}
	made := report.Event{Status: report.Success, Is: "red", Historical: "blue"}
	for name, c := range map[string]struct {
		events []report.Event
		want   bool
	}{
		"nothing":                {nil, false},
		"first values":           {[]report.Event{first, first}, false},
		"a change that was made": {[]report.Event{made}, false},
		"a changed value":        {[]report.Event{first, changed}, true},
	} {
		if got := audit.FoundChange(c.events); got != c.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}
