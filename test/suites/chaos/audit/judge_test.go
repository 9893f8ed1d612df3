package audit_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/test/suites/chaos/audit"
)

var limits = audit.Limits{First: 1, MaxInFlight: 4, MaxFailed: 1, Soak: 10 * time.Second}

// goodRollout reaches all five nodes.
const goodRollout = `
	0s   status stable=s
	5s   status stable=s target=t started=5 admitting=a
	6s   node a t
	20s  status stable=s target=t started=5 admitting=b,c,d proven=1
	21s  node b t
	21s  node c t
	21s  node d t
	40s  status stable=s target=t started=5 admitting=e proven=4
	41s  node e t
	60s  status stable=s target=t started=5 proven=5
	60s  status stable=t
`

// badRollout reaches two nodes, where it fails.
const badRollout = `
	0s   status stable=s
	5s   status stable=s target=t started=5 admitting=a
	6s   node a t
	70s  status stable=s target=t started=5 admitting=b failed=a
	71s  node b t
	140s status stable=s target=t started=5 failed=a,b
`

func TestLogsThatKeepAllRulesHaveNoFaults(t *testing.T) {
	t.Parallel()

	for name, log := range map[string]string{
		"a good change":                           goodRollout,
		"a bad change":                            badRollout,
		"a bad change, and its fix":               badRollout + "200s status stable=s target=u started=200 admitting=b\n 201s node b u",
		"a bad change that is reverted":           badRollout + "200s status stable=s target=s started=200 admitting=a,b\n 201s node a s\n 201s node b s",
		"a revision that was completed before":    goodRollout + "70s status stable=t target=s started=70 admitting=a,b,c,d\n 71s node a s\n 71s node b s",
		"nodes that follow at rest":               goodRollout + "70s status stable=t admitting=f,g,h,i,j,k\n 71s node f t\n 71s node g t",
		"a node that joins with the stable one":   "0s status stable=s\n 5s status stable=s target=t started=5\n 6s join f s",
		"a node whose facts change":               goodRollout + "61s node a\n 62s node a t",
		"the first record of the stable revision": "0s status stable=s\n 1s node a s",
		"a manager that begins again with its proofs": `
			0s   status stable=s
			5s   status stable=s target=t started=5 admitting=a
			6s   node a t
			20s  status stable=s target=t started=5 admitting=b,c,d proven=1
			21s  node b t
			40s  status stable=s target=t started=5 admitting=c,d
			41s  node c t
			41s  node d t`,
		"a move that the API server did not answer": `
			0s   status stable=s
			5s   status stable=s target=t started=5 admitting=a
			6s   node? a
			20s  status stable=s target=t started=5 admitting=b,c proven=1
			21s  node b t`,
		"a status that the API server did not answer": `
			0s   status stable=s
			5s   status? stable=s target=t started=5 admitting=a,b,c
			20s  status stable=s target=t started=5 admitting=a
			21s  node a t`,
		"a node that cannot show whether the change works": `
			0s   status stable=s
			5s   status stable=s target=t started=5 admitting=a
			6s   node a t
			20s  status stable=s target=t started=5 admitting=b excluded=1
			21s  node b t`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if faults := audit.Judge(parse(t, log), limits).Faults; len(faults) > 0 {
				t.Errorf("rejected:\n%s", strings.Join(faults, "\n"))
			}
		})
	}
}

func TestLogsThatBreakARuleHaveFaults(t *testing.T) {
	t.Parallel()

	for name, tt := range map[string]struct{ log, want string }{
		"a move before any status": {
			"0s node a t",
			"node a gets revision t, but the policy has no status",
		},
		"a move of a node that no status names": {
			goodRollout + "61s status stable=t target=u started=61 admitting=a\n 62s node b u",
			"after 1m2s: node b gets revision u, but the last status does not name it",
		},
		"a move of a node that only an earlier status names": {
			"0s status stable=s\n 5s status stable=s target=t started=5 admitting=a\n 6s status stable=s target=t started=5\n 7s node a t",
			"after 7s: node a gets revision t, but the last status does not name it",
		},
		"a move of a node that only a status names which the API server did not answer": {
			"0s status stable=s target=t started=0\n 5s status? stable=s target=t started=0 admitting=a\n 6s node a t",
			"after 6s: node a gets revision t, but the last status does not name it",
		},
		"a move to another revision than the target": {
			"0s status stable=s\n 5s status stable=s target=t started=5 admitting=a\n 6s node a u",
			"after 6s: node a gets revision u, and not the goal, which is t",
		},
		"a move to a target that was replaced": {
			badRollout + "200s status stable=s target=u started=200 admitting=c\n 201s node c t",
			"after 3m21s: node c gets revision t, and not the goal, which is u",
		},
		"a node that joins with the target": {
			"0s status stable=s\n 5s status stable=s target=t started=5\n 6s join f t",
			"after 6s: node f joins with revision t, and not with the stable one, which is s",
		},
		"more first nodes than allowed": {
			"0s status stable=s\n 5s status stable=s target=t started=5 admitting=a,b",
			"after 5s: 2 nodes are admitted to t, 1 may: 0 have proven it, and 0 have failed",
		},
		"a second node before the first has proven the change": {
			"0s status stable=s\n 5s status stable=s target=t started=5 admitting=a\n 6s node a t\n 9s status stable=s target=t started=5 admitting=b",
			"after 9s: 2 nodes are admitted to t, 1 may: 0 have proven it, and 0 have failed",
		},
		"more than four nodes for each that has proven the change": {
			"0s status stable=s\n 5s status stable=s target=t started=5 admitting=a\n 6s node a t\n 20s status stable=s target=t started=5 admitting=b,c,d,e proven=1",
			"after 20s: 5 nodes are admitted to t, 4 may: 1 have proven it, and 0 have failed",
		},
		"more nodes in flight than allowed": {
			goodRollout + "61s status stable=t target=s started=61 admitting=a,b,c,d,e",
			"after 1m1s: 5 nodes are in flight, 4 may be: 5 are admitted to s, of which 0 have proven it, and 0 have failed",
		},
		"a further node after too many have failed": {
			badRollout + "150s status stable=s target=t started=5 admitting=c failed=a,b",
			"after 2m30s: 2 nodes have failed with t, 1 may, and the status names further nodes",
		},
		"a proof before the time of soak": {
			"0s status stable=s\n 5s status stable=s target=t started=5 admitting=a\n 6s node a t\n 15s status stable=s target=t started=5 admitting=b proven=1",
			"after 15s: the status counts 1 nodes that have proven t, but only 0 have had it for 10s",
		},
		"a proof by a node that never got the change": {
			"0s status stable=s\n 5s status stable=s target=t started=5 admitting=a\n 20s status stable=s target=t started=5 admitting=b proven=1",
			"after 20s: the status counts 1 nodes that have proven t, but only 0 have had it for 10s",
		},
		"a failure that is forgotten": {
			badRollout + "150s status stable=s target=t started=5 failed=b",
			"after 2m30s: the status counts 1 failed nodes, which were 2 before",
		},
		"a failure of a node that never got the change": {
			"0s status stable=s\n 5s status stable=s target=t started=5 failed=a",
			"after 5s: node a has failed with t, but never got it",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			faults := audit.Judge(parse(t, tt.log), limits).Faults
			for _, is := range faults {
				if strings.HasSuffix(is, tt.want) {
					return
				}
			}
			t.Errorf("no fault is %q, but:\n%s", tt.want, strings.Join(faults, "\n"))
		})
	}
}

func TestAVerdictHasTheRevisionsOfNodes(t *testing.T) {
	t.Parallel()

	is := audit.Judge(parse(t, badRollout+"150s join f s\n 160s node? b"), limits)
	want := audit.Verdict{Rollouts: 1, Moves: 2, Revisions: map[string]string{"a": "t", "b": "t", "f": "s"}, Uncertain: map[string]bool{"b": true}}
	if diff := cmp.Diff(want, is); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// parse returns the writes of a log with a line for each: its time, what it writes, and its fields. A ? after what it writes
// means that there was no answer.
func parse(t *testing.T, log string) (all []audit.Write) {
	t.Helper()
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for line := range strings.Lines(log) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		at, err := time.ParseDuration(fields[0])
		if err != nil {
			t.Fatal(err)
		}
		what, unanswered := strings.CutSuffix(fields[1], "?")
		w := audit.Write{At: began.Add(at), Uncertain: unanswered, Created: what == "join"}
		if what == "status" {
			w.Status = &v1alpha1.RolloutPolicyStatus{}
			for _, f := range fields[2:] {
				set(t, w.Status, f)
			}
		} else {
			w.Node = fields[2]
			w.Revision = strings.Join(fields[3:], "")
		}
		all = append(all, w)
	}
	return all
}

// set sets a field of a status that is written as key=value.
func set(t *testing.T, s *v1alpha1.RolloutPolicyStatus, field string) {
	t.Helper()
	key, value, _ := strings.Cut(field, "=")
	number, _ := strconv.Atoi(value) // 0 for names
	switch key {
	case "stable":
		s.Stable = value
	case "target":
		s.Target = value
	case "started":
		s.Started = new(metav1.Unix(int64(number), 0))
	case "admitting":
		s.Admitting = strings.Split(value, ",")
	case "failed":
		for node := range strings.SplitSeq(value, ",") {
			s.Failures = append(s.Failures, v1alpha1.RolloutFailure{Node: node})
			s.Nodes.Failed++
		}
	case "proven":
		s.Nodes.Proven = int32(number)
	case "excluded":
		s.Nodes.Excluded = int32(number)
	default:
		t.Fatal(fmt.Errorf("unknown field %s", field))
	}
}
