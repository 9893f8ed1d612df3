package glance_test

import (
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fettle-dev/fettle/test/fixtures/debian"
	"github.com/fettle-dev/fettle/test/fixtures/golden"
	"github.com/fettle-dev/fettle/test/fixtures/program"
	"github.com/fettle-dev/fettle/test/suites/glance"
)

// simulated is the number of simulated nodes.
const simulated = 200

func TestTranscript(t *testing.T) {
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
	golden.Text(t, "testdata/transcript.txt", f.Transcript(t.Context()))
}
