package cloudevents_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/controllers/cloudevents"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

// A receiver is a webhook that answers with statuses, the last one again and again.
type receiver struct {
	mu       sync.Mutex
	statuses []int
	requests []string // the content type, and the body without its ID
	ids      map[string]bool
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	raw, _ := io.ReadAll(q.Body)
	var body map[string]any
	_ = json.Unmarshal(raw, &body)
	if id, ok := body["id"].(string); ok && id != "" {
		r.ids[id] = true
		body["id"] = "ID"
	}
	text, _ := json.Marshal(body)
	r.requests = append(r.requests, q.Method+" "+q.Header.Get("Content-Type")+" "+string(text))
	w.Header().Set("Location", "/elsewhere")
	w.WriteHeader(r.statuses[0])
	if len(r.statuses) > 1 {
		r.statuses = r.statuses[1:]
	}
}

func (r *receiver) received() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string{}, r.requests...)
}

// A fixture is a webhook with its receiver.
type fixture struct {
	*cloudevents.Webhook
	*receiver
	clock    *clocktesting.FakeClock
	registry *prometheus.Registry
	cluster  *events.FakeRecorder
	log      *strings.Builder
}

func newFixture(t *testing.T, statuses ...int) *fixture {
	t.Helper()
	w := &fixture{
		receiver: &receiver{statuses: statuses, ids: map[string]bool{}}, registry: prometheus.NewRegistry(), cluster: events.NewFakeRecorder(2000), log: &strings.Builder{},
		clock: clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)),
	}
	server := httptest.NewServer(w.receiver)
	t.Cleanup(server.Close)
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	var err error
	w.Webhook, err = cloudevents.New(cloudevents.Options{
		URL: server.URL + "/hook?token=SECRET", Source: "//prod.example/fettle", Scheme: scheme, Clock: w.clock,
		Log: funcr.New(func(_, args string) { _, _ = fmt.Fprintln(w.log, args) }, funcr.Options{}),
	}, w.registry)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// start sends until the test ends.
func (w *fixture) start(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { _ = w.Start(ctx); close(done) }()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

func (w *fixture) record(n int) {
	f := &v1alpha1.File{ObjectMeta: metav1.ObjectMeta{Name: "motd", UID: "u"}}
	node := &corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: "web-1"}
	for i := range n {
		w.Recorder(w.cluster).Eventf(f, node, "Normal", "DriftCorrected", "Apply", "%s %d", `drift "corrected"`, i)
	}
}

// results waits until a number of events is done with, and returns how.
func (w *fixture) results(t *testing.T, n int) string {
	t.Helper()
	var all string
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, patient.Limit, true, func(context.Context) (bool, error) {
		if w.clock.HasWaiters() {
			w.clock.Step(time.Second)
		}
		families, err := w.registry.Gather()
		total := 0.0
		all = ""
		for _, f := range families {
			for _, m := range f.GetMetric() {
				total += m.GetCounter().GetValue()
				all += fmt.Sprintf("%s %.0f;", m.GetLabel()[0].GetValue(), m.GetCounter().GetValue())
			}
		}
		return total >= float64(n), err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

const event = `POST application/cloudevents+json; charset=UTF-8 {"data":{"action":"Apply","note":"drift \"corrected\" 0","reason":"DriftCorrected",` +
	`"regarding":{"apiVersion":"fettle.dev/v1alpha1","kind":"File","name":"motd","uid":"u"},"related":{"apiVersion":"v1","kind":"Node","name":"web-1"},"type":"Normal"},` +
	`"datacontenttype":"application/json","id":"ID","source":"//prod.example/fettle","specversion":"1.0","subject":"File/motd","time":"2026-01-02T03:04:05Z","type":"dev.fettle.DriftCorrected"}`

func TestEventsAreSentAsCloudEvents(t *testing.T) {
	t.Parallel()

	w := newFixture(t, http.StatusNoContent)
	w.start(t)
	w.record(1)
	if got := w.results(t, 1); got != "sent 1;" {
		t.Error(got)
	}
	if diff := cmp.Diff([]string{event}, w.received()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := <-w.cluster.Events; got != `Normal DriftCorrected drift "corrected" 0` {
		t.Errorf("in the cluster: %s", got)
	}
}

func TestEventsAreRetriedAfterTemporaryErrors(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		statuses []int
		requests int
		want     string
	}{
		"a webhook that is busy":        {[]int{503, 429, 200}, 3, "sent 1;"},
		"a webhook that stays broken":   {[]int{500}, 3, "failed 1;"},
		"a webhook that rejects it":     {[]int{400}, 1, "failed 1;"},
		"a webhook that points further": {[]int{307}, 1, "failed 1;"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			w := newFixture(t, c.statuses...)
			stop := w.start(t)
			w.record(1)
			got := w.results(t, 1)
			stop()
			if n := len(w.received()); got != c.want || n != c.requests || len(w.ids) != 1 {
				t.Errorf("%s after %d requests with %d IDs, want %s after %d", got, n, len(w.ids), c.want, c.requests)
			}
			if strings.Contains(w.log.String(), "SECRET") || c.want == "failed 1;" && w.log.Len() == 0 {
				t.Errorf("the log is %s", w.log)
			}
		})
	}
}

func TestHangingWebhookDoesNotDelayTheManager(t *testing.T) {
	t.Parallel()

	w := newFixture(t, http.StatusOK)
	w.record(1500) // nothing is sent yet
	if got := w.results(t, 500); got != "dropped 500;" || len(w.cluster.Events) != 1500 {
		t.Errorf("%s; %d are recorded in the cluster", got, len(w.cluster.Events))
	}
	w.start(t)
	if got := w.results(t, 1500); got != "dropped 500;sent 1000;" {
		t.Error(got)
	}
}

func TestErrorsDoNotContainTheAddress(t *testing.T) {
	t.Parallel()

	for name, address := range map[string]string{
		"no address": "", "another scheme": "ftp://SECRET", "no host": "https:///SECRET", "a password": "https://ann:SECRET@example.com", "no URL": "https://SECRET%zz/",
	} {
		if err := cloudevents.Check(address, "/a"); err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := cloudevents.Check("https://example.com", ""); err == nil {
		t.Error("a webhook without a source is accepted")
	}
	registry := prometheus.NewRegistry()
	cloudevents.Metrics(registry)
	if n, err := testutil.GatherAndCount(registry); n != 0 || err != nil {
		t.Errorf("%d series, %v", n, err)
	}
}
