package reportsapi_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/reports/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/questions"
	"github.com/fettle-dev/fettle/test/cluster/pki"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
)

func numbered(number int64, report string) v1alpha1.NumberedReport {
	r := v1alpha1.NumberedReport{Number: number}
	r.Report.Raw = []byte(report)
	return r
}

func answer(reports ...v1alpha1.NumberedReport) *v1alpha1.NodeAnswer {
	return &v1alpha1.NodeAnswer{Reports: reports}
}

const report = `{"kind":"Report","apiVersion":"fettle.dev/v1alpha1","host":"web-1","status":"unchanged","noop":true,"correctiveChange":false,"started":"2026-01-02T03:04:05Z",` +
	`"duration":"0.021s","catalogDigest":"sha256-1","counts":{"total":2,"inSync":1,"changed":0,"outOfSync":1,"failed":0,"skipped":0,"noop":1,"refreshed":0},` +
	`"metrics":{"time":{},"events":{"total":1,"success":0,"failure":0,"noop":1,"audit":0},"changes":{"total":0}},` +
	`"resources":[{"ref":"File/motd","state":"Noop","duration":"0.001s","message":"","events":[{"property":"mode","is":"0600","should":"0644","status":"noop","corrective":true,"message":"mode changed 0600 to 0644"}]}]}`

func TestNodesAnswerThroughTheAPIServer(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.answers(w.agent("web-1"), func(q *v1alpha1.NodeQuestion) *v1alpha1.NodeAnswer {
		if q.Topic == v1alpha1.TopicDifference {
			return answer(numbered(0, report))
		}
		return answer(numbered(3, report), numbered(4, strings.Replace(report, `"unchanged"`, `"failed"`, 1)))
	})
	bind(w, "rita", "fettle-reports-reader")
	rita := w.user("rita")
	w.eventually("rita may read", func() error {
		return rita.Get(t.Context(), client.ObjectKey{Name: "web-1"}, &v1alpha1.NodeDiff{})
	}, func(err error) bool { return err == nil })

	var diff v1alpha1.NodeDiff
	must(t, rita.Get(t.Context(), client.ObjectKey{Name: "web-1"}, &diff))
	if diff := cmp.Diff(report, string(diff.Report.Raw)); diff != "" {
		t.Errorf("the difference (-want +got):\n%s", diff)
	}
	var list v1alpha1.NodeReportList
	must(t, rita.List(t.Context(), &list, client.MatchingFields{v1alpha1.FieldNode: "web-1"}))
	var one v1alpha1.NodeReport
	must(t, rita.Get(t.Context(), client.ObjectKey{Name: "web-1.4"}, &one))
	got := []string{one.Node}
	for _, r := range list.Items {
		got = append(got, r.Name)
	}
	if diff := cmp.Diff([]string{"web-1", "web-1.3", "web-1.4"}, got); diff != "" {
		t.Errorf("the reports (-want +got):\n%s", diff)
	}

	admin := t.TempDir() + "/kubeconfig"
	must(t, controlplane.WriteKubeconfig(admin, w.cfg, ""))
	for _, c := range []struct{ command, want string }{
		{"get nodereports --field-selector node=web-1", "NAME      STATUS      CHANGED   REFRESHED   FAILED   NOOP   DURATION   AGE\nweb-1.3   unchanged   0         0           0        1      0.021s"},
		{"get nodediff web-1", "NAME    DIFFER   FAILED   NOT CHECKED   DURATION\nweb-1   1        0        0             0.021s\n"},
		{"get nodediff web-1 -o jsonpath={.report.resources[*].ref}", "File/motd"},
	} {
		if got := controlplane.Kubectl(t, admin, strings.Fields(c.command)...); !strings.Contains(got, c.want) {
			t.Errorf("kubectl %s: got\n%s", c.command, got)
		}
	}
	w.eventually("kubectl explains the kinds", func() error {
		out, err := controlplane.TryKubectl(t, admin, "explain", "nodereport")
		if err == nil && !strings.Contains(out, "NodeReport is the report of a run on a node.") {
			t.Errorf("the documentation is %s", out)
		}
		return err
	}, func(err error) bool { return err == nil })
}

func bind(w *fixture, user, role string) {
	w.Helper()
	admin := w.TempDir() + "/kubeconfig"
	must(w.T, controlplane.WriteKubeconfig(admin, w.cfg, ""))
	controlplane.Kubectl(w.T, admin, "create", "clusterrolebinding", user, "--clusterrole="+role, "--user="+user)
}

func TestNodesGetAndAnswerOnlyTheirOwnQuestions(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	cache1, cache2 := w.agent("cache-1"), w.agent("cache-2")
	name := make(chan string, 1)
	w.answers(cache1, func(q *v1alpha1.NodeQuestion) *v1alpha1.NodeAnswer {
		name <- q.Name
		<-w.Context().Done()
		return answer()
	})
	asked := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, err := w.hub.Ask(ctx, "cache-1", v1alpha1.TopicReports)
		asked <- err
	}()
	question := <-name
	t.Cleanup(func() {
		cancel()
		if err := <-asked; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})

	var seen v1alpha1.NodeQuestionList
	must(t, cache2.List(t.Context(), &seen))
	if len(seen.Items) != 0 {
		t.Errorf("cache-2 sees the questions to cache-1: %v", seen.Items)
	}
	lie := answer(numbered(1, report))
	lie.Name = question
	large := answer(numbered(1, `{"status":"`+strings.Repeat("x", v1alpha1.MaxAnswerBytes)+`"}`))
	large.Name = question
	get := func(c client.Client, name string) error {
		return c.Get(t.Context(), client.ObjectKey{Name: name}, &v1alpha1.NodeDiff{})
	}
	list := func(options ...client.ListOption) error {
		return w.client(w.cfg).List(t.Context(), &v1alpha1.NodeReportList{}, options...)
	}
	for _, c := range []struct {
		what string
		err  error
		want string
	}{
		{"an answer of another node", cache2.Create(t.Context(), lie), "no such question"},
		{"an answer that is too large", cache1.Create(t.Context(), large), "limit is 1048576"},
		{"questions for an administrator", w.client(w.cfg).List(t.Context(), &seen), `"admin" is not an agent`},
		{"questions for a user", w.user("nina").List(t.Context(), &seen), `User "nina" cannot list resource "nodequestions"`},
		{"a difference for a user without the right", get(w.user("nina"), "cache-1"), `User "nina" cannot get resource "nodediffs"`},
		{"a difference for an agent", get(cache1, "cache-1"), `cannot get resource "nodediffs"`},
		{"reports of all nodes", list(), "reports are listed for one node: select it with the field selector node=NAME"},
		{"reports by another field", list(client.MatchingFields{"host": "cache-1"}), `field "host" cannot be selected: use node=NAME`},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.what, c.err, c.want)
		}
	}
}

// Everyone can connect to the manager's port, and write headers as the API server does.
func TestOnlyTheAPIServerCanSetTheUser(t *testing.T) {
	t.Parallel()

	w := newFixture(t)
	foreign, err := pki.New("front-proxy-ca")
	must(t, err)
	text, key, err := foreign.Issue(pki.Identity{Name: "front-proxy"})
	must(t, err)
	forged, err := tls.X509KeyPair(text, key)
	must(t, err)
	admin, err := tls.X509KeyPair(w.cfg.CertData, w.cfg.KeyData)
	must(t, err)
	for who, certificates := range map[string][]tls.Certificate{
		"nobody": nil, "one with a certificate of another authority of that name": {forged}, "an administrator": {admin},
	} {
		c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: certificates}}}
		for _, path := range []string{"/apis/" + v1alpha1.GroupVersion.String() + "/nodequestions", "/apis/" + v1alpha1.GroupVersion.String() + "/nodediffs/web-1", "/metrics", "/debug/pprof/heap", "/openapi/v2"} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+w.address+path, http.NoBody)
			must(t, err)
			for name, value := range map[string]string{
				"X-Remote-User": "system:serviceaccount:fettle-nodes:fettle-nodeagent", "X-Remote-Group": "system:masters",
				"X-Remote-Extra-Authentication.kubernetes.io%2Fnode-Name": "web-1", "Impersonate-User": "admin",
			} {
				request.Header.Set(name, value)
			}
			request.Header.Add("X-Remote-Group", "system:serviceaccounts:fettle-nodes")
			response, err := c.Do(request)
			must(t, err)
			if must(t, response.Body.Close()); response.StatusCode != http.StatusUnauthorized {
				t.Errorf("%s gets %s: %s", who, path, response.Status)
			}
		}
	}
}

func TestHostileAnswersAreErrorsThatNameTheNode(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for node, c := range map[string]struct {
		answer *v1alpha1.NodeAnswer
		want   string
	}{
		"no-report":   {answer(), "the agent of no-report answers with 0 reports instead of one"},
		"not-json":    {answer(numbered(0, `["x"]`)), "the agent of not-json answers something that is not a report"},
		"a-reference": {answer(numbered(0, `{"resources":[{"ref":"x"}]}`)), "the agent of a-reference answers something that is not a report"},
		"a-time":      {answer(numbered(0, `{"duration":"\u001b[2J"}`)), `\x1b[2J`},
		"a-problem":   {&v1alpha1.NodeAnswer{Problem: "no run has taken place"}, "the agent of a-problem answers: no run has taken place"},
	} {
		w.answers(w.agent(node), func(*v1alpha1.NodeQuestion) *v1alpha1.NodeAnswer { return c.answer.DeepCopy() })
		err := w.client(w.cfg).Get(t.Context(), client.ObjectKey{Name: node}, &v1alpha1.NodeDiff{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	var unknown v1alpha1.NodeDiff
	w.answers(w.agent("more"), func(*v1alpha1.NodeQuestion) *v1alpha1.NodeAnswer {
		return answer(numbered(0, `{"status":"unchanged","secret":"no field of a report","host":"\u001b[31m"}`))
	})
	must(t, w.client(w.cfg).Get(t.Context(), client.ObjectKey{Name: "more"}, &unknown))
	if text := string(unknown.Report.Raw); strings.Contains(text, "secret") || strings.Contains(text, "\x1b") {
		t.Errorf("the caller gets %s", text)
	}
}

func TestAgentWithoutANodeInItsTokenGetsNoQuestions(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	token, err := controlplane.AgentToken(t.Context(), w.admin, nil)
	must(t, err)
	err = w.withToken(token).List(t.Context(), &v1alpha1.NodeQuestionList{})
	if err == nil || !strings.Contains(err.Error(), "names no node") {
		t.Errorf("got %v", err)
	}
	silent := w.client(w.cfg).Get(t.Context(), client.ObjectKey{Name: "db-1"}, &v1alpha1.NodeDiff{})
	want := "the agent of db-1 did not answer within " + questions.Patience.String() + ": it is not connected"
	if silent == nil || !strings.Contains(silent.Error(), want) {
		t.Errorf("got %v", silent)
	}
}
