package reportsapi_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/reports/v1alpha1"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
)

// A stolen token sends as many requests as it can, and none ever ends. They occupy all seats that the API server has for agents.
func TestSlowAnswersDelayNoOtherNode(t *testing.T) {
	t.Parallel()

	w := newDedicatedFixture(t)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "web-1"}}
	must(t, w.admin.Create(t.Context(), node))
	token, err := controlplane.AgentToken(t.Context(), w.admin, node)
	must(t, err)
	web3 := w.agent("web-3")
	connect := func(ctx context.Context) error {
		questions, err := web3.Watch(ctx, &v1alpha1.NodeQuestionList{})
		if err == nil {
			questions.Stop()
		}
		return err
	}
	must(t, connect(t.Context())) // it asks what APIs there are, as no agent does
	w.answers(w.agent("web-2"), func(*v1alpha1.NodeQuestion) *v1alpha1.NodeAnswer { return answer(numbered(0, report)) })
	bind(w, "ann", "fettle-reports-reader")
	ann := w.user("ann")
	diff := func() error {
		return ann.Get(t.Context(), client.ObjectKey{Name: "web-2"}, &v1alpha1.NodeDiff{})
	}
	w.eventually("ann may read", diff, func(err error) bool { return err == nil })

	for _, open := range []bool{false, true} {
		ctx, stop := context.WithCancel(t.Context())
		name := "no-question"
		if open {
			go func() { _, _ = w.hub.Ask(ctx, "web-1", v1alpha1.TopicReports) }() // nobody answers
			w.eventually("the question is open", func() error { return nil }, func(error) bool { return len(w.hub.Open("web-1")) == 1 })
			name = w.hub.Open("web-1")[0].Name
		}
		begun := 0
		for _, request := range []struct{ method, path string }{
			{http.MethodPost, "nodeanswers"}, {http.MethodGet, "nodequestions"}, {http.MethodPost, "nodequestions/" + name + "/" + v1alpha1.SubresourceAnswer},
		} {
			for range 120 {
				w.sendSlowly(ctx, token, request.method, request.path)
				begun++
			}
		}
		for i := range 5 {
			if err := diff(); err != nil {
				t.Errorf("difference %d, beside %d slow requests, with an open question: %t: %v", i, begun, open, err)
			}
		}
		// The API server ends slow requests after a minute.
		soon, end := context.WithTimeout(t.Context(), 45*time.Second)
		if err := connect(soon); err != nil {
			t.Errorf("another agent connects, beside %d slow requests, with an open question: %t: %v", begun, open, err)
		}
		end()
		stop()
	}
}

// An answer is refused while two others of its node are received, before it is read. YAML, which expands, is never read.
func TestFewAnswersOfANodeAreReadAtATime(t *testing.T) {
	t.Parallel()

	w := newFixture(t)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "proxy-1"}}
	must(t, w.admin.Create(t.Context(), node))
	token, err := controlplane.AgentToken(t.Context(), w.admin, node)
	must(t, err)
	agent := rest.AnonymousClientConfig(w.cfg)
	agent.BearerToken = token
	go func() { _, _ = w.hub.Ask(t.Context(), "proxy-1", v1alpha1.TopicReports) }()
	w.eventually("the question is open", func() error { return nil }, func(error) bool { return len(w.hub.Open("proxy-1")) == 1 })
	want := func(cfg *rest.Config, path, format string, status int) {
		t.Helper()
		c, err := rest.HTTPClientFor(cfg)
		must(t, err)
		url := strings.TrimSuffix(cfg.Host, "/") + "/apis/" + v1alpha1.GroupVersion.String() + "/" + path
		response, err := c.Post(url, format, strings.NewReader("neither is this JSON"))
		must(t, err)
		if must(t, response.Body.Close()); response.StatusCode != status {
			t.Errorf("%s to %s: %s, want %d", format, path, response.Status, status)
		}
	}
	for _, format := range []string{"application/yaml", "application/vnd.kubernetes.protobuf", "application/cbor"} {
		want(agent, "nodeanswers", format, http.StatusUnsupportedMediaType)
		want(w.cfg, "plans", format, http.StatusUnsupportedMediaType)
	}
	for range 2 {
		done, err := w.hub.Receive("proxy-1")
		must(t, err)
		defer done()
	}
	want(agent, "nodeanswers", "application/json", http.StatusTooManyRequests)
	want(agent, "nodequestions/"+w.hub.Open("proxy-1")[0].Name+"/"+v1alpha1.SubresourceAnswer, "application/json", http.StatusTooManyRequests)
}

// sendSlowly sends a request whose body begins and then stops, until ctx ends. It returns when the API server has the beginning.
func (w *fixture) sendSlowly(ctx context.Context, token, method, path string) {
	w.Helper()
	cfg := rest.AnonymousClientConfig(w.cfg)
	cfg.BearerToken = token
	c, err := rest.HTTPClientFor(cfg)
	must(w.T, err)
	body, sender := io.Pipe()
	request, err := http.NewRequestWithContext(ctx, method,
		strings.TrimSuffix(cfg.Host, "/")+"/apis/"+v1alpha1.GroupVersion.String()+"/"+path, body)
	must(w.T, err)
	request.Header.Set("Content-Type", "application/json")
	go func() {
		defer sender.Close()
		if response, err := c.Do(request); err == nil {
			_ = response.Body.Close()
		}
	}()
	_, _ = io.WriteString(sender, `{"problem":"`) // it fails if the request is already refused
}
