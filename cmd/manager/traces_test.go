package main_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
	"github.com/fettle-dev/fettle/test/fixtures/freeport"
)

// A receiver is a collector that accepts traces by OTLP over HTTP.
type receiver struct {
	mu       sync.Mutex
	requests []string // path and credentials
	raw      []byte   // of all requests
	resource map[string]string
	spans    []*spans.Span
	err      error
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	body, err := io.ReadAll(q.Body)
	message := &collector.ExportTraceServiceRequest{}
	if err == nil {
		err = proto.Unmarshal(body, message)
	}
	if err != nil {
		r.err = err
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.requests = append(r.requests, fmt.Sprintf("%s %s %s %s", q.Method, q.URL.Path, q.Header.Get("Content-Type"), q.Header.Get("Authorization")))
	r.raw = append(r.raw, body...)
	for _, of := range message.GetResourceSpans() {
		r.resource = values(of.GetResource().GetAttributes())
		for _, scope := range of.GetScopeSpans() {
			r.spans = append(r.spans, scope.GetSpans()...)
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// values returns attributes by name.
func values(attributes []*common.KeyValue) map[string]string {
	all := map[string]string{}
	for _, a := range attributes {
		all[a.GetKey()] = a.GetValue().GetStringValue()
		if _, number := a.GetValue().GetValue().(*common.AnyValue_IntValue); number {
			all[a.GetKey()] = fmt.Sprint(a.GetValue().GetIntValue())
		}
	}
	return all
}

// trace returns the spans of a trace as "parent > name".
func (r *receiver) trace(id []byte) (all []string) {
	names := map[string]string{}
	for _, s := range r.spans {
		names[hex.EncodeToString(s.GetSpanId())] = s.GetName()
	}
	for _, s := range r.spans {
		if bytes.Equal(s.GetTraceId(), id) {
			all = append(all, names[hex.EncodeToString(s.GetParentSpanId())]+" > "+s.GetName())
		}
	}
	slices.Sort(all)
	return all
}

// run returns the span of a run of a node, nil if there is none.
func (r *receiver) run(node string) *spans.Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.spans {
		if s.GetName() == "run" && values(s.GetAttributes())["k8s.node.name"] == node {
			return s
		}
	}
	return nil
}

func TestManagerSendsTracesFromCompilationToRun(t *testing.T) {
	t.Parallel()

	to := &receiver{}
	server := httptest.NewServer(to)
	t.Cleanup(server.Close)
	cfg, _ := controlplane.Start(t)
	controlplane.Install(t, cfg)
	admin := controlplane.Admin(t, cfg)
	file := &v1alpha1.File{ObjectMeta: metav1.ObjectMeta{Name: "motd"}}
	file.Spec.NodeSelector, file.Spec.Path, file.Spec.Content = &metav1.LabelSelector{}, "/etc/motd", new("MARKER\n")
	for _, o := range []client.Object{&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, file} {
		if err := admin.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}

	log := &strings.Builder{}
	manager := exec.CommandContext(t.Context(), build(t), "--kubeconfig", kubeconfig(t, cfg, "system:serviceaccount:fettle-system:fettle-manager"),
		"--metrics-bind-address=0", "--health-probe-bind-address=0")
	manager.Env = append(os.Environ(),
		"OTEL_EXPORTER_OTLP_ENDPOINT="+server.URL, "OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer SECRET,SECRET,other=%SECRET",
		"OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=test", "OTEL_BSP_SCHEDULE_DELAY=50")
	manager.Stderr = log
	if err := manager.Start(); err != nil {
		t.Fatal(err)
	}
	nc := &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	eventually(t, "the catalog", func() bool {
		return admin.Get(t.Context(), client.ObjectKeyFromObject(nc), nc) == nil && len(nc.Spec.Catalogs) == 1
	})
	ended := time.Now().Add(-time.Second).Truncate(time.Microsecond)
	nc.Status = v1alpha1.NodeCatalogStatus{
		ObservedGeneration: nc.Generation, AppliedGeneration: nc.Generation, AppliedDigest: catalog.Digest(nc.Spec),
		Counts: &v1alpha1.RunCounts{Total: 1, InSync: 1, Changed: 1},
		LastRun: &v1alpha1.LastRun{
			Started: metav1.NewTime(ended), Duration: "20ms", Ended: ended.UTC().Format(metav1.RFC3339Micro), Trigger: v1alpha1.TriggerChange,
		},
	}
	if err := admin.Status().Update(t.Context(), nc); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the span of the run", func() bool { return to.run("n1") != nil })
	if err := manager.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := manager.Wait(); err != nil {
		t.Errorf("the manager exited with %v:\n%s", err, log)
	}
	run := to.run("n1")
	to.mu.Lock()
	defer to.mu.Unlock()

	want := []string{" > reconcile", "publish > run", "reconcile > compile", "reconcile > publish"}
	if diff := cmp.Diff(want, to.trace(run.GetTraceId())); diff != "" {
		t.Errorf("the trace: %s\nlog: %s", diff, log)
	}
	if begin, end := int64(run.GetStartTimeUnixNano()), int64(run.GetEndTimeUnixNano()); end != ended.UnixNano() || begin != ended.Add(-20*time.Millisecond).UnixNano() {
		t.Errorf("the run lasted from %s to %s, want the 20 ms until %s", time.Unix(0, begin), time.Unix(0, end), ended)
	}
	delete(to.resource, "service.version")
	delete(to.resource, "telemetry.sdk.version")
	wantResource := map[string]string{
		"service.name": "fettle-manager", "deployment.environment.name": "test",
		"telemetry.sdk.language": "go", "telemetry.sdk.name": "opentelemetry",
	}
	if diff := cmp.Diff(wantResource, to.resource); diff != "" {
		t.Errorf("the resource: %s", diff)
	}
	for _, q := range to.requests {
		if q != "POST /v1/traces application/x-protobuf Bearer SECRET" {
			t.Errorf("the request was %q", q)
		}
	}
	if to.err != nil {
		t.Errorf("a request was invalid: %v", to.err)
	}
	if bytes.Contains(to.raw, []byte("MARKER")) || strings.Contains(log.String(), "SECRET") || strings.Contains(log.String(), "MARKER") {
		t.Errorf("spans or the log contain values:\n%q\n%s", to.raw, log)
	}
	for line := range strings.Lines(log.String()) {
		if !strings.HasPrefix(line, `{"time":`) {
			t.Errorf("a log line is not JSON: %s", line)
		}
	}
	if n := strings.Count(log.String(), `"problem":"parse headers"`); n != 1 {
		t.Errorf("the invalid header is logged %d times:\n%s", n, log)
	}
}

func TestManagerRunsWithoutTracesThatCannotBeSent(t *testing.T) {
	t.Parallel()

	log := &strings.Builder{}
	cfg, _ := controlplane.Start(t)
	controlplane.Install(t, cfg)
	probes := freeport.AddressFor(t)
	manager := exec.CommandContext(t.Context(), build(t), "--kubeconfig", kubeconfig(t, cfg, "system:serviceaccount:fettle-system:fettle-manager"),
		"--metrics-bind-address=0", "--health-probe-bind-address="+probes)
	manager.Env = append(os.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4317", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc")
	manager.Stderr = log
	if err := manager.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the manager", func() bool { code, _ := get(t, "http://"+probes+"/readyz", ""); return code == http.StatusOK })
	if err := manager.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := manager.Wait(); err != nil {
		t.Errorf("the manager exited with %v", err)
	}
	if !strings.Contains(log.String(), `OTEL_EXPORTER_OTLP_PROTOCOL \"grpc\" is not supported: use http/protobuf`) {
		t.Errorf("the log does not say why there are no traces:\n%s", log)
	}
}
