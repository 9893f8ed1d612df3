package argocd_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/go-cmp/cmp"
	lua "github.com/yuin/gopher-lua"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// A health is what Argo CD says of an object.
type health struct{ Status, Message string }

// A check is one of health_test.yaml.
type check struct {
	InputPath    string `json:"inputPath"`
	HealthStatus health `json:"healthStatus"`
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
			if diff := cmp.Diff(c.HealthStatus, run(t, script, object(t, c.InputPath))); diff != "" {
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

// run runs a script as Argo CD does unless it was told useOpenLibs: with the base and the
// table library alone.
func run(t *testing.T, script string, o *unstructured.Unstructured) health {
	t.Helper()
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	l.SetContext(t.Context())
	for name, open := range map[string]lua.LGFunction{lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		must(t, l.CallByParam(lua.P{Fn: l.NewFunction(open), Protect: true}, lua.LString(name)))
	}
	l.SetGlobal("obj", inLua(l, o.Object))
	must(t, l.DoString(script))
	said, ok := l.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("the script gives a %s", l.Get(-1).Type())
	}
	var is health
	said.ForEach(func(key, value lua.LValue) {
		switch key.String() {
		case "status":
			is.Status = value.String()
		case "message":
			is.Message = value.String()
		default:
			t.Errorf("the script says %s", key)
		}
	})
	return is
}

// inLua is a value of JSON as Argo CD hands it to a script.
func inLua(l *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case bool:
		return lua.LBool(v)
	case string:
		return lua.LString(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	case []any:
		list := l.NewTable()
		for _, e := range v {
			list.Append(inLua(l, e))
		}
		return list
	case map[string]any:
		object := l.NewTable()
		for k, e := range v {
			object.RawSetString(k, inLua(l, e))
		}
		return object
	}
	return lua.LNil
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
