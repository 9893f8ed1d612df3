package glance_test

import (
	"errors"
	"os"
	"os/exec"
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

const (
	transcript        = "testdata/transcript.txt"
	blockedTranscript = "testdata/blocked.txt"
)

func TestFleetAnswersAsInTheTranscript(t *testing.T) {
	debian.Require(t)
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	dir := t.TempDir()
	programs := glance.Programs{Manager: filepath.Join(dir, "manager"), Agent: filepath.Join(dir, "nodeagent"), Plugin: filepath.Join(dir, "kubectl-fettle")}
	program.Build(t, "manager", programs.Manager)
	program.Build(t, "nodeagent", programs.Agent)
	program.Build(t, "kubectl-fettle", programs.Plugin)
	f := glance.Start(t.Context(), t, programs, simulated)
	f.Drift(t.Context())
	golden.Text(t, transcript, f.Transcript(t.Context()))
	f.Block(t.Context())
	golden.Text(t, blockedTranscript, f.BlockedTranscript(t.Context()))
	for line, want := range glance.BlockedCodes() {
		t.Run(line, func(t *testing.T) {
			out, err := f.Command(t.Context(), line).CombinedOutput()
			var exit *exec.ExitError
			if got := 0; err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			} else if exit != nil {
				got = exit.ExitCode()
				if got != want {
					t.Errorf("exit code %d, want %d:\n%s", got, want, out)
				}
			} else if want != 0 {
				t.Errorf("exit code 0, want %d:\n%s", want, out)
			}
		})
	}
	t.Run("all count alike", func(t *testing.T) { f.CountAlike(t.Context()) })
	f.Confirm(t.Context())
}

func TestDocumentedOutputOfABlockedFleetIsTested(t *testing.T) {
	t.Parallel()
	const file = "../../../docs/blocked.md"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tested, err := os.ReadFile(blockedTranscript)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(page), "```console\n$ kubectl fettle status\n")
	_, after, _ := strings.Cut(rest, "```\n")
	golden.Text(t, file, before+"```console\n"+string(tested)+"```\n"+after)
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
	got = glance.Steady("To confirm: kubectl annotate fleet fleet fettle.dev/confirm-deselection=2df1a387 --overwrite\n\n" +
		"NAME    LAST RUN   AGENT         HELD   SILENT\nnode-1  79s        v0.0.0-a+b    2m5s   \n")
	want = "To confirm: kubectl annotate fleet fleet fettle.dev/confirm-deselection=5ca1ab1e --overwrite\n\n" +
		"NAME    LAST RUN  AGENT  HELD  SILENT\nnode-1  1m        devel  1m\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("output of kubectl (-want +got):\n%s", diff)
	}
}
