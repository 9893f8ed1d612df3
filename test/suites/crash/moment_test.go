package crash_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fettle-dev/fettle/test/fixtures/budget"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// Whenever an agent is killed, a command that is needed once runs once.
func TestNextAgentTakesOverAtAnyMoment(t *testing.T) {
	rounds, random := budget.Events(t, 3, 25), budget.Random(t)
	m := machine{debian.Boot(t)}
	const objects = `{kind: Exec, name: b, spec: {shell: true, creates: [/made], command: "echo x >> /ran; sleep 0.2; touch /made"}}`
	began := time.Now()
	m.manage(t, objects)
	took := time.Since(began)
	early := 0
	for round := 0; early < rounds; round++ {
		m.run(t, "rm", "-f", "/made", "/ran")
		moment := time.Duration(random.Int64N(int64(took)))
		cmd := m.agent(t, objects)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		<-time.After(moment)
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		if _, err := m.Run(t.Context(), "test", "-e", "/made"); err != nil {
			early++
		} else {
			took = moment + 1 // the machine was busy when the run was measured
		}
		report := m.manage(t, objects)
		if got := m.run(t, "sh", "-c", "cat /ran /made; ls /run/fettle-units"); got != "x\n" || strings.HasSuffix(report[0], "Failed") {
			t.Fatalf("round %d, killed after %s: it ran %q; %q", round, moment, got, report)
		}
	}
	m.awaitOrphans(t)
}
