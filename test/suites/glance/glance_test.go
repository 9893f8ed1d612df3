package glance_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fettle-dev/fettle/test/fixtures/debian"
	"github.com/fettle-dev/fettle/test/fixtures/golden"
	"github.com/fettle-dev/fettle/test/fixtures/program"
	"github.com/fettle-dev/fettle/test/suites/glance"
)

// simulated is the number of simulated nodes.
const simulated = 200

const transcript = "testdata/transcript.txt"

func TestFleetAnswersAsInTheTranscript(t *testing.T) {
	debian.Require(t)
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	dir := t.TempDir()
	programs := glance.Programs{Manager: filepath.Join(dir, "manager"), Agent: filepath.Join(dir, "nodeagent"), Fettle: filepath.Join(dir, "fettle")}
	program.Build(t, "manager", programs.Manager)
	program.Build(t, "nodeagent", programs.Agent)
	program.Build(t, "fettle", programs.Fettle)
	f := glance.Start(t.Context(), t, programs, simulated)
	f.Drift(t.Context())
	golden.Text(t, transcript, f.Transcript(t.Context()))
}

// number and space are what differs between fleets of other sizes.
var (
	number = regexp.MustCompile(`\d+`)
	space  = regexp.MustCompile(` +`)
)

// shape is text without what depends on the number of nodes.
func shape(text string) string {
	return space.ReplaceAllString(number.ReplaceAllString(text, "0"), " ")
}

func TestDocumentedTranscriptHasOnlyMoreNodes(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/transcript.md")
	if err != nil {
		t.Fatal(err)
	}
	tested, err := os.ReadFile(transcript)
	if err != nil {
		t.Fatal(err)
	}
	_, documented, _ := strings.Cut(string(page), "```console\n")
	documented, _, _ = strings.Cut(documented, "```\n")
	if diff := cmp.Diff(shape(string(tested)), shape(documented)); diff != "" {
		t.Errorf("docs/transcript.md differs not only in numbers: make bench-glance updates it (-tested +documented):\n%s", diff)
	}
}

func TestAgesAndDurationsAreAlwaysTheSame(t *testing.T) {
	t.Parallel()
	got := glance.Steady("Nodes  3m total\n\nNODE    SINCE   MESSAGE\nnode-1  2m15s   since 3m\nnode-2          \n\n1 resource in 12.5ms\n")
	want := "Nodes  3m total\n\nNODE    SINCE  MESSAGE\nnode-1  1m     since 3m\nnode-2\n\n1 resource in 0.01s\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}
