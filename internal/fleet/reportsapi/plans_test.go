package reportsapi_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/rest"

	"github.com/fettle-dev/fettle/api/reports/v1alpha1"
	fettle "github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/fleet/planning"
	"github.com/fettle-dev/fettle/providers"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
)

// compiled has a File motd on the node plan-1.
func compiled() *planning.Base {
	motd := &fettle.File{}
	motd.Name, motd.Labels = "motd", map[string]string{"team": "web"}
	motd.Spec.Path, motd.Spec.Content, motd.Spec.NodeSelector = "/etc/motd", new("one\n"), &metav1.LabelSelector{}
	in := compiler.Input{
		Nodes: []compiler.Node{{Name: "plan-1"}}, Resources: []fettle.Resource{motd}, Kinds: providers.Kinds(),
		ConfigMap: func(fettle.KeyRef) (string, bool) { return "of the ConfigMap\n", true },
	}
	return &planning.Base{Input: in, Result: compiler.Compile(in), Close: func() error { return nil }}
}

func manifestOf(name, spec string) string {
	return fmt.Sprintf("apiVersion: fettle.dev/v1alpha1\nkind: File\nmetadata: {name: %s}\nspec: {nodeSelector: {}, path: /etc/%s, %s}\n", name, name, spec)
}

func planOf(texts ...string) *v1alpha1.Plan {
	p := &v1alpha1.Plan{}
	p.Spec.Manifests = append(p.Spec.Manifests, v1alpha1.PlanManifest{Name: "change.yaml", Text: strings.Join(texts, "---\n")})
	return p
}

func TestWritersAndPlannersPlanAndOnlyReadersSeeValues(t *testing.T) {
	t.Parallel()
	w := newPlanning(t, compiled())
	proposals := make(chan *v1alpha1.Proposal, 10)
	w.answers(w.agent("plan-1"), func(q *v1alpha1.NodeQuestion) *v1alpha1.NodeAnswer {
		proposals <- q.Proposal
		return answer(numbered(0, strings.Replace(report, `"message":"mode changed 0600 to 0644"`, `"message":"mode changed 0600 to 0644","diff":"-one"`, 1)))
	})
	w.eventually("the agent is connected", func() error {
		if !w.hub.Connected("plan-1") {
			return fmt.Errorf("it is not")
		}
		return nil
	}, func(err error) bool { return err == nil })
	bind(w, "ann", "fettle-planner")
	bind(w, "bob", "fettle-editor")
	bind(w, "carol", "fettle-viewer")
	bind(w, "dan", "fettle-planner")
	admin := t.TempDir() + "/kubeconfig"
	must(t, controlplane.WriteKubeconfig(admin, w.cfg, ""))
	controlplane.Kubectl(t, admin, "create", "clusterrolebinding", "dan-reads", "--clusterrole=fettle-reports-reader", "--user=dan")
	controlplane.Kubectl(t, admin, "create", "clusterrole", "only-plans", "--verb=create", "--resource=plans.reports.fettle.dev")
	controlplane.Kubectl(t, admin, "create", "clusterrolebinding", "eve", "--clusterrole=only-plans", "--user=eve")
	w.eventually("the rights are known", func() error { return w.user("eve").Create(t.Context(), planOf()) }, func(err error) bool { return err == nil })

	for user, shown := range map[string]bool{"ann": false, "bob": false, "dan": true} {
		p := planOf(manifestOf("motd", `content: "two\n"`))
		if err := w.user(user).Create(t.Context(), p); err != nil {
			t.Errorf("%s: %v", user, err)
			continue
		}
		if user == "ann" { // who may not know hosts
			group := v1alpha1.PlanGroup{Nodes: []string{"plan-1"}, Changes: []v1alpha1.PlanChange{{Ref: "File/motd", Action: v1alpha1.ActionChange}}, Answer: v1alpha1.AnswerNotAsked}
			group.Key, group.Message = p.Status.Groups[0].Key, "what hosts would change is for those who may get nodediffs: bind the role fettle-reports-reader"
			if diff := cmp.Diff([]v1alpha1.PlanGroup{group}, p.Status.Groups); diff != "" || len(proposals) != 0 {
				t.Errorf("ann, and %d questions (-want +got):\n%s", len(proposals), diff)
			}
			continue
		}
		got := <-proposals
		if got.Base != w.base.Load().Result.Nodes["plan-1"].Digest || len(got.Entries) != 1 || got.Entries[0].Ref() != "File/motd" {
			t.Errorf("%s: the agent gets %v", user, got)
		}
		group := p.Status.Groups[0]
		if diff := cmp.Diff([]v1alpha1.PlanChange{{Ref: "File/motd", Action: v1alpha1.ActionChange}}, group.Changes); diff != "" || p.Status.Total != 1 || p.Status.Affected != 1 {
			t.Errorf("%s: %+v\n%s", user, p.Status, diff)
		}
		if raw := string(group.Report.Raw); strings.Contains(raw, "-one") != shown || strings.Contains(raw, "0600") != shown || !strings.Contains(raw, "mode changed") {
			t.Errorf("%s sees %s", user, raw)
		}
	}

	prune := planOf()
	prune.Spec.Prune = true
	fromMap := planOf(manifestOf("motd", "contentFrom: {configMapKeyRef: {namespace: kube-system, name: a, key: k}}"))
	large := planOf(strings.Repeat("#", v1alpha1.MaxPlanBytes))
	faulty := planOf("\n\n"+manifestOf("motd", "mode: rw"), manifestOf("new", "colour: red"))
	negative, selector := planOf(), planOf()
	negative.Spec.Sample, selector.Spec.Selector = -1, "=="
	for _, c := range []struct {
		user string
		plan *v1alpha1.Plan
		want string
	}{
		{"carol", planOf(), `User "carol" cannot create resource "plans"`},
		{"eve", planOf(manifestOf("motd", `content: ""`)), `"eve" may neither update nor plan files.fettle.dev`},
		{"eve", planOf(manifestOf("new", `content: ""`)), `"eve" may neither create nor plan files.fettle.dev`},
		{"eve", prune.DeepCopy(), `"eve" may neither delete nor plan files.fettle.dev`},
		{"eve", planOf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\n"), `"eve" may neither update nor plan configmaps`},
		{"ann", fromMap.DeepCopy(), `File/motd: contentFrom refers to it, and "ann" may not read it in namespace kube-system`},
		{"ann", large, "limit is 3145728"},
		{"ann", faulty, "change.yaml:6: File/motd: spec.mode"},
		{"ann", faulty.DeepCopy(), "colour"},
		{"ann", negative, "spec.sample -1 is negative"},
		{"ann", selector, `spec.selector "=="`},
	} {
		err := w.user(c.user).Create(t.Context(), c.plan)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.user, err, c.want)
		}
	}

	must(t, w.user("bob").Create(t.Context(), fromMap))
	<-proposals
	must(t, w.user("ann").Create(t.Context(), prune))
	if diff := cmp.Diff([]v1alpha1.PlanChange{{Ref: "File/motd", Action: v1alpha1.ActionRemove}}, prune.Status.Groups[0].Changes); diff != "" {
		t.Errorf("with prune (-want +got):\n%s", diff)
	}
	other := planOf("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n",
		"apiVersion: fettle.dev/v1alpha1\nkind: RolloutPolicy\nmetadata: {name: prod}\n")
	other.Spec.Prune, other.Spec.Selector = true, "team=db"
	must(t, w.user("ann").Create(t.Context(), other))
	want := []string{
		"a Secret is not part of the plan, and neither are values from Secrets", "ConfigMap a has no namespace: it is not part of the plan",
		"Deployment/web in change.yaml:9 is not of fettle.dev", "RolloutPolicy prod is not part of the plan: name its file with --policy",
	}
	if diff := cmp.Diff(want, other.Status.Notes); diff != "" || other.Status.Affected != 0 {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// The API server passes bodies on unread, so its audit log has who planned, and the manager's log has what.
func TestTheLogNamesTheUserOfAPlan(t *testing.T) {
	t.Parallel()
	w := newPlanning(t, compiled())
	bind(w, "gina", "fettle-planner")
	plan := func() *v1alpha1.Plan { return planOf(manifestOf("new", `content: "secret words\n"`)) }
	w.eventually("gina may plan", func() error { return w.user("gina").Create(t.Context(), plan()) }, func(err error) bool { return err == nil })
	must(t, w.user("gina").Create(t.Context(), plan()))
	if err := w.user("gus").Create(t.Context(), plan()); !apierrors.IsForbidden(err) {
		t.Errorf("gus gets %v", err)
	}

	raw, err := os.ReadFile(w.requests)
	must(t, err)
	var got []string
	id := ""
	for line := range strings.Lines(string(raw)) {
		var e auditv1.Event
		must(t, json.Unmarshal([]byte(line), &e))
		if e.Verb != "create" || e.ObjectRef.Resource != "plans" || e.ImpersonatedUser == nil || !slices.Contains([]string{"gina", "gus"}, e.ImpersonatedUser.Username) ||
			e.ResponseStatus.Code == 403 && e.ImpersonatedUser.Username == "gina" {
			continue
		}
		got = append(got, fmt.Sprint(e.ImpersonatedUser.Username, " ", e.ResponseStatus.Code))
		if e.ResponseStatus.Code == 201 {
			id = string(e.AuditID)
		}
	}
	if diff := cmp.Diff([]string{"gina 201", "gina 201", "gus 403"}, got); diff != "" {
		t.Errorf("the audit log (-want +got):\n%s", diff)
	}
	log := w.log.String()
	if want := `"msg":"planning","user":"gina","auditID":"` + id + `","put":"File/new","remove":""`; !strings.Contains(log, want) || strings.Contains(log, "secret words") {
		t.Errorf("the log of the manager lacks %s:\n%s", want, log)
	}
}

func TestTooManyPlansAreRefusedWithTheLimit(t *testing.T) {
	t.Parallel()
	w := newPlanning(t, compiled())
	compiled, release := make(chan bool, 9), make(chan bool)
	w.base.Load().Close = func() error {
		compiled <- true
		<-release
		return nil
	}
	ended := make(chan string, 4)
	create := func(user string) {
		ended <- w.post(user, strings.NewReader(`{"kind":"Plan","apiVersion":"reports.fettle.dev/v1alpha1"}`))
	}
	go create("ann")
	<-compiled
	create("ann")
	if got := <-ended; !strings.HasPrefix(got, "429 2") || !strings.Contains(got, `another plan of \"ann\" is being made, and each user has one at a time: try again later`) {
		t.Errorf("ann: %s", got)
	}
	for _, user := range []string{"bob", "carol", "dan"} { // one of them waits for ann's to be compiled
		go create(user)
	}
	for range 2 {
		if got := <-ended; !strings.HasPrefix(got, "429 2") || !strings.Contains(got, "2 other plans are being made, and no more are made at a time: try again later") {
			t.Error(got)
		}
	}
	if len(compiled) != 0 {
		t.Error("two plans are compiled at the same time")
	}
	close(release)
	for range 2 {
		if got := <-ended; !strings.HasPrefix(got, "201") {
			t.Error(got)
		}
	}
}

// post creates a plan, and returns the status, when to try again, and the body. It never tries again itself.
func (w *fixture) post(user string, body io.Reader) string {
	cfg := rest.CopyConfig(w.cfg)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}
	c, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return err.Error()
	}
	answered, err := c.Post(strings.TrimSuffix(cfg.Host, "/")+"/apis/reports.fettle.dev/v1alpha1/plans", "application/json", body)
	if err != nil {
		return err.Error()
	}
	text, err := io.ReadAll(answered.Body)
	return fmt.Sprint(answered.StatusCode, " ", answered.Header.Get("Retry-After"), " ", string(text), errors.Join(err, answered.Body.Close()))
}

// The body of a plan that does not arrive occupies the place of its user for a limited time, however long the API server waits for it.
func TestRequestThatDoesNotArriveEnds(t *testing.T) {
	t.Parallel()
	w := newPlanning(t, compiled())
	var never *io.PipeWriter
	ended := make(chan string, 1)
	begin := func() {
		body, to := io.Pipe()
		never = to
		go func() { ended <- w.post("slow", body) }()
		_, err := to.Write([]byte(`{"kind":"Plan",`))
		must(t, err)
	}
	next := func() error {
		if got := w.post("slow", strings.NewReader(`{"kind":"Plan","apiVersion":"reports.fettle.dev/v1alpha1"}`)); !strings.HasPrefix(got, "201") {
			return errors.New(got)
		}
		return nil
	}
	begin()
	w.eventually("the first plan has its place", func() error {
		if len(ended) > 0 { // it came while another one had the place
			<-ended
			begin()
		}
		return next()
	}, func(err error) bool { return err != nil && strings.HasPrefix(err.Error(), "429") })
	w.eventually("there is a place again", next, func(err error) bool { return err == nil })
	if len(ended) != 0 {
		t.Errorf("the first plan has ended: %s", <-ended)
	}
	must(t, never.Close())
	<-ended
}

// What a plan is about is known before the manager takes the trouble of what it says, and what it says takes a bounded one.
func TestRightsAreCheckedBeforeManifestsAre(t *testing.T) {
	t.Parallel()
	w := newPlanning(t, compiled())
	bind(w, "jane", "fettle-planner")
	admin := t.TempDir() + "/kubeconfig"
	must(t, controlplane.WriteKubeconfig(admin, w.cfg, ""))
	controlplane.Kubectl(t, admin, "create", "clusterrole", "plans-alone", "--verb=create", "--resource=plans.reports.fettle.dev")
	controlplane.Kubectl(t, admin, "create", "clusterrolebinding", "joe", "--clusterrole=plans-alone", "--user=joe")
	for _, user := range []string{"joe", "jane"} {
		w.eventually(user+" may plan", func() error { return w.user(user).Create(t.Context(), planOf()) }, func(err error) bool { return err == nil })
	}
	long := strings.Repeat("x", 100_000)
	var maps, many, broken strings.Builder
	for i := range 101 {
		fmt.Fprintf(&maps, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: m%d, namespace: default}}\n", i)
	}
	for i := range 10_001 {
		fmt.Fprintf(&many, "{kind: File, apiVersion: fettle.dev/v1alpha1, metadata: {name: f%d}}\n---\n", i)
	}
	for range 5000 {
		broken.WriteString("{\n---\n")
	}
	for _, c := range []struct{ user, text, want string }{
		{"joe", manifestOf("new", "colour: red"), `"joe" may neither create nor plan files.fettle.dev`},
		{"joe", "kind: List\nitems:\n- {apiVersion: fettle.dev/v1alpha1, kind: User, metadata: {name: x}}", `"joe" may neither create nor plan users.fettle.dev`},
		{"jane", "a: &a " + long + "\nb: [" + strings.Repeat("*a, ", 10_000) + "*a]\n", "its aliases expand to more than"},
		{"jane", many.String(), "the manifests have more than 10000 objects"},
		{"jane", strings.Repeat("a: &a ["+long+"]\nb: ["+strings.Repeat("*a, ", 12)+"*a]\n---\n", 10), "KiB with the aliases of YAML written out"},
		{"jane", broken.String(), "and 80 more"},
		{"jane", maps.String(), "more than 100 ConfigMaps"},
	} {
		err := w.user(c.user).Create(t.Context(), planOf(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %.300v, want %q", c.user, err, c.want)
		}
	}
	named, selecting := planOf(manifestOf("new", "content: x")), planOf()
	named.Spec.Manifests[0].Name, selecting.Spec.Selector = long, "a,"+long
	for want, plan := range map[string]*v1alpha1.Plan{"spec.manifests[0].name has more than 4096 bytes": named, "spec.selector has more than 4096 bytes": selecting} {
		if err := w.user("jane").Create(t.Context(), plan); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %.300v, want %q", err, want)
		}
	}
	types := planOf("{apiVersion: fettle.dev/v1alpha1, kind: ExternalType, metadata: {name: x}, spec: {nonsense: 1}}\n", "{apiVersion: types.fettle.dev/v1alpha1, kind: X, metadata: {name: x}}\n")
	must(t, w.user("jane").Create(t.Context(), types))
	want := []string{"ExternalType x is not part of the plan: apply it first", "X/x in change.yaml:3 is not part of the plan: no ExternalType of the cluster defines its kind"}
	if diff := cmp.Diff(want, types.Status.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}
