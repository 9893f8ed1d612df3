package argocd_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/test/fixtures/argocd"
)

// A check is one of health_test.yaml.
type check struct {
	InputPath    string        `json:"inputPath"`
	HealthStatus argocd.Health `json:"healthStatus"`
}

func checks(t *testing.T) []check {
	t.Helper()
	var all struct{ Tests []check }
	must(t, yaml.UnmarshalStrict(read(t, "health_test.yaml"), &all))
	return all.Tests
}

func TestArgoCDSaysHowHealthyAnObjectIs(t *testing.T) {
	script := string(read(t, "health.lua"))
	for _, c := range checks(t) {
		t.Run(c.InputPath, func(t *testing.T) {
			is, err := argocd.HealthOf(t.Context(), script, object(t, c.InputPath))
			must(t, err)
			if diff := cmp.Diff(c.HealthStatus, is); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Flux goes by kstatus. Argo CD asks no script about what is being deleted, but says that
// it is Progressing.
func TestFluxSaysTheSame(t *testing.T) {
	for _, c := range checks(t) {
		t.Run(c.InputPath, func(t *testing.T) {
			o := object(t, c.InputPath)
			is, err := status.Compute(o)
			must(t, err)
			want := map[string]status.Status{"Healthy": status.CurrentStatus, "Progressing": status.InProgressStatus, "Suspended": status.InProgressStatus, "Degraded": status.FailedStatus}[c.HealthStatus.Status]
			if o.GetDeletionTimestamp() != nil {
				want = status.TerminatingStatus
			}
			if is.Status != want {
				t.Errorf("it is %s (%s), want %s", is.Status, is.Message, want)
			}
		})
	}
}

func TestAllTestdataIsTried(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	must(t, err)
	var tried []string
	for _, c := range checks(t) {
		tried = append(tried, c.InputPath)
	}
	slices.Sort(tried)
	if diff := cmp.Diff(files, tried); diff != "" {
		t.Errorf("(-there +tried):\n%s", diff)
	}
}

func TestTheConfigMapHasTheScriptForEachKind(t *testing.T) {
	var is corev1.ConfigMap
	must(t, yaml.UnmarshalStrict(read(t, "argocd-cm.yaml"), &is))
	script := string(read(t, "health.lua"))
	want := map[string]string{
		"resource.customizations.health.fettle.dev_NodeCatalog":   script,
		"resource.customizations.health.fettle.dev_ExternalType":  script,
		"resource.customizations.health.fettle.dev_RolloutPolicy": script,
	}
	for _, r := range v1alpha1.Resources() {
		want["resource.customizations.health.fettle.dev_"+r.KindName()] = script
	}
	if diff := cmp.Diff(want, is.Data); diff != "" {
		t.Error(diff)
	}
}

func object(t *testing.T, file string) *unstructured.Unstructured {
	t.Helper()
	text, err := yaml.YAMLToJSON(read(t, file))
	must(t, err)
	o := &unstructured.Unstructured{}
	must(t, o.UnmarshalJSON(text))
	return o
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	return text
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
