package page_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/live"
	"github.com/fettle-dev/fettle/internal/cli/overview"
	"github.com/fettle-dev/fettle/internal/cli/page"
	"github.com/fettle-dev/fettle/internal/cli/revision"
	"github.com/fettle-dev/fettle/internal/engine/report"
)

// now is the time of all pages.
func now() time.Time { return time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC) }

// A fleet is a fleet that tests change.
type fleet struct {
	mu          sync.Mutex
	nodes       []overview.NodeCatalog
	resources   []overview.Resource
	err         error
	hours       []v1alpha1.FleetHour
	deselection *v1alpha1.HeldDeselection
	entries     []overview.Entry
	policies    []v1alpha1.RolloutPolicy
	policiesErr error
	revisions   map[string]revision.Content
	report      report.Report
	version     uint64
	next        chan struct{}
}

func (f *fleet) NodeCatalogs() ([]overview.NodeCatalog, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.nodes, f.err
}

func (f *fleet) Nodes() ([]overview.Node, error) {
	nodes, err := f.NodeCatalogs()
	var all []overview.Node
	for i := range nodes {
		all = append(all, overview.Node{ObjectMeta: metav1.ObjectMeta{Name: nodes[i].Name, Labels: nodes[i].Labels}, Catalog: &nodes[i]})
	}
	return all, err
}

func (f *fleet) Resources(context.Context) ([]overview.Resource, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.resources, f.err
}

func (f *fleet) FleetStatus() (v1alpha1.FleetStatus, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return v1alpha1.FleetStatus{History: f.hours, Deselection: f.deselection}, nil
}

func (f *fleet) Policies() ([]v1alpha1.RolloutPolicy, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.policies, f.policiesErr
}

func (f *fleet) Waits(_ context.Context, nodes []overview.Node) (overview.Waits, error) {
	policies, err := f.Policies()
	if err != nil {
		return overview.Waits{}, err
	}
	return overview.WaitsOf(overview.PoliciesOf(policies), slices.Collect(maps.Keys(f.revisions)), nodes, func(name string) (revision.Content, error) { return f.revisions[name], nil })
}

func (f *fleet) Entries(_ context.Context, node string) ([]overview.Entry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if node != "web-2" {
		return nil, notFound(node)
	}
	return f.entries, f.err
}

func (f *fleet) Difference(_ context.Context, node string) overview.Difference {
	f.mu.Lock()
	defer f.mu.Unlock()
	if node != "web-2" {
		return overview.Difference{Node: node, Err: notFound(node)}
	}
	return overview.Difference{Node: node, Report: f.report, Err: f.err}
}

func notFound(node string) error {
	return fmt.Errorf("cannot get it: %w", apierrors.NewNotFound(schema.GroupResource{Group: "fettle.dev", Resource: "nodecatalogs"}, node))
}

func (f *fleet) Version() (uint64, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.version, f.next
}

func (f *fleet) change(how func(*fleet)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	how(f)
	f.version++
	close(f.next)
	f.next = make(chan struct{})
}

func node(name string, ready metav1.ConditionStatus, reason, message string) overview.NodeCatalog {
	n := overview.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 1}}
	n.Status.AppliedGeneration = 1
	n.Status.Counts = &v1alpha1.RunCounts{Total: 3, InSync: 3}
	if reason == v1alpha1.ReasonResourcesFailed {
		n.Status.Counts = &v1alpha1.RunCounts{Total: 3, InSync: 2, Failed: 1}
	}
	n.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: ready, Reason: reason, Message: message}}
	return n
}

// small is a fleet of three nodes and a resource. One node has failed, and the resource drifted there.
func small() *fleet {
	failed := node("web-2", metav1.ConditionFalse, v1alpha1.ReasonResourcesFailed, "1 resource failed: <b>bold</b>")
	failed.Status.Resources = []v1alpha1.ResourceReport{{
		Ref: "File/motd", State: v1alpha1.StateFailed, Message: "cannot write", Changes: []v1alpha1.PropertyChange{{Property: "mode", Is: "0666", Should: "0644"}},
	}}
	failed.Status.Drift = []v1alpha1.DriftRecord{{
		Ref: "File/motd", FirstSeen: metav1.NewTime(now().Add(-48 * time.Hour)), LastSeen: metav1.NewTime(now().Add(-5 * time.Hour)), Count: 7, Properties: []string{"mode"},
	}}
	motd := overview.Resource{Kind: "File", ObjectMeta: metav1.ObjectMeta{Name: "motd"}}
	motd.Spec.NodeSelector = &metav1.LabelSelector{}
	motd.Spec.Require = []v1alpha1.ResourceRef{"User/ann"}
	motd.Status.Nodes = &v1alpha1.NodeCounts{Selected: 3, InSync: 2, Failed: 1}
	motd.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "NodesFailed", Message: "1 node failed"}}
	motd.Status.Drift = &v1alpha1.ResourceDrift{Count: 1017}
	ann := overview.Resource{Kind: "User", ObjectMeta: metav1.ObjectMeta{Name: "ann"}}
	motdEntry := overview.Entry{CatalogEntry: v1alpha1.CatalogEntry{Kind: "File", Name: "motd", Namevar: "/etc/motd", Edges: &v1alpha1.Edges{
		Require: []v1alpha1.ResourceRef{"User/ann"}, Notify: []v1alpha1.ResourceRef{"SystemService/a-name-that-does-not-fit-a-box"}, Before: []v1alpha1.ResourceRef{"File/elsewhere"},
	}}}
	service := overview.Entry{CatalogEntry: v1alpha1.CatalogEntry{Kind: "SystemService", Name: "a-name-that-does-not-fit-a-box"}}
	withheld := overview.Entry{CatalogEntry: v1alpha1.CatalogEntry{Kind: "File", Name: "bad"}, Withheld: &v1alpha1.Withheld{Ref: "File/bad", Reason: "Invalid", Message: "no path"}}
	return &fleet{
		hours:   []v1alpha1.FleetHour{{Hour: metav1.NewTime(now()), InSync: 2, Failed: 1}, {Hour: metav1.NewTime(now().Add(-time.Hour)), Drifting: 3}},
		entries: []overview.Entry{motdEntry, service, {CatalogEntry: v1alpha1.CatalogEntry{Kind: "User", Name: "ann"}}, withheld},
		report: report.Report{Resources: []report.ResourceReport{
			{Ref: report.Ref{Kind: "File", Name: "motd"}, State: report.Noop, Events: []report.Event{{Message: "content would change", Diff: "@@ -1 +1 @@\n-<b>is</b>\n+should\n"}}},
			{Ref: report.Ref{Kind: "User", Name: "ann"}, State: report.InSync},
		}},
		nodes: []overview.NodeCatalog{
			node("web-1", metav1.ConditionTrue, v1alpha1.ReasonApplied, ""), failed, node("web-3", metav1.ConditionTrue, v1alpha1.ReasonApplied, ""),
		},
		resources: []overview.Resource{motd, ann},
		next:      make(chan struct{}),
	}
}

func handler(f page.Source) http.Handler {
	return page.New(page.Options{Source: f, Cluster: "production", Now: now})
}

// get returns the status and the body of a page.
func get(t *testing.T, h http.Handler, url string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, url, nil))
	return w.Code, w.Body.String()
}

func TestViewsShowTheFleet(t *testing.T) {
	t.Parallel()

	h := handler(small())
	for url, want := range map[string]struct{ has, hasNot []string }{
		"/":                   {has: []string{"production", `<dt><a href="/nodes?state=Failed">Failed</a></dt><dd>1</dd>`, "1 resource on 1 node, 1 of them not corrected", `<a href="/nodes/web-2">`, "1 resource failed: &lt;b&gt;bold&lt;/b&gt;", "Jan 2 11:00 UTC: 0 in sync, 3 drifting", `<rect class="fill-Drifting" x="996" y="0.0" width="5" height="120.0"/>`, `>Jan 2</text>`, `width="100%"`}},
		"/nodes":              {has: []string{`href="/nodes/web-1"`, `href="/nodes/web-2"`, `<td class="number">3</td><td class="number">2</td><td class="number">1</td>`, "1 to 3 of 3"}},
		"/nodes?state=Failed": {has: []string{`href="/nodes/web-2"`, "<option selected>Failed</option>"}, hasNot: []string{`href="/nodes/web-1"`}},
		"/nodes?q=WEB-3":      {has: []string{`href="/nodes/web-3"`, `value="WEB-3"`}, hasNot: []string{`href="/nodes/web-1"`}},
		"/nodes?q=nothing":    {has: []string{"No rows"}, hasNot: []string{`href="/nodes/web-1"`}},
		"/nodes?page=99":      {has: []string{"1 to 3 of 3"}},
		"/nodes/web-2":        {has: []string{"ResourcesFailed", "<del>0666</del>", "<ins>0644</ins>", `href="/resources/File/motd"`, `<td class="number">7</td>`}},
		"/nodes/web-2/catalog": {
			has:    []string{"3 resources from left to right", `href="/resources/User/ann"`, "SystemService/a-name-that-d…", `class="refresh"`, "Requires", "Invalid: no path", "1 to 4 of 4"},
			hasNot: []string{"<title>File/elsewhere</title>"},
		},
		"/nodes/web-2/catalog?q=motd": {has: []string{"/etc/motd", "1 to 1 of 1"}, hasNot: []string{"Invalid"}},
		"/nodes/web-2/diff": {
			has:    []string{`<span class="removed">-&lt;b&gt;is&lt;/b&gt;</span>`, `<span class="added">&#43;should</span>`, "content would change", `data-live="no"`},
			hasNot: []string{"User/ann"},
		},
		"/resources":               {has: []string{`href="/resources/File/motd"`, `<td class="number">3</td><td class="number">2</td>`, `href="/resources/User/ann"`, `<td class="number">1,017</td>`, "NodesFailed: 1 node failed"}},
		"/resources?kind=User":     {has: []string{`href="/resources/User/ann"`}, hasNot: []string{`href="/resources/File/motd"`}},
		"/resources?state=Unknown": {has: []string{`href="/resources/User/ann"`}, hasNot: []string{`href="/resources/File/motd"`}},
		"/resources/File/motd":     {has: []string{"all nodes", "Requires", `href="/resources/User/ann"`, `href="/nodes/web-1"`, "cannot write", "7, 5h ago"}},
		"/resources/File/motd?state=Failed": {
			has: []string{`href="/nodes/web-2"`, "1 to 1 of 1"}, hasNot: []string{`href="/nodes/web-1"`},
		},
		"/drift":                      {has: []string{`href="/resources/File/motd"`, "<td>mode</td>", "1 not corrected"}},
		"/drift?by=both":              {has: []string{`href="/resources/File/motd"`, `href="/nodes/web-2"`}},
		"/drift?since=1h":             {has: []string{"No rows"}},
		"/drift?by=kind&corrected=no": {has: []string{`<th scope="row">File</th>`}},
		"/assets/page.js":             {has: []string{"EventSource"}},
	} {
		code, body := get(t, h, url)
		if code != http.StatusOK {
			t.Errorf("%s: status %d", url, code)
		}
		for _, text := range want.has {
			if !strings.Contains(body, text) {
				t.Errorf("%s has no %s in\n%s", url, text, body)
			}
		}
		for _, text := range want.hasNot {
			if strings.Contains(body, text) {
				t.Errorf("%s has %s in\n%s", url, text, body)
			}
		}
	}
}

func TestProblemsComeFirst(t *testing.T) {
	t.Parallel()

	f := small()
	held := node("web-9", metav1.ConditionTrue, v1alpha1.ReasonApplied, "")
	held.Spec.Held = &v1alpha1.Held{Since: metav1.NewTime(now().Add(-time.Hour)), Resources: []v1alpha1.ResourceRef{"File/motd"}}
	corrected := node("web-0", metav1.ConditionTrue, v1alpha1.ReasonApplied, "")
	corrected.Status.Resources = []v1alpha1.ResourceReport{{Ref: "File/motd", State: v1alpha1.StateChanged, Corrective: true}}
	f.nodes = append([]overview.NodeCatalog{corrected}, append(f.nodes, held)...)
	for i := range 1200 {
		silent := node(fmt.Sprintf("z-%04d", i), metav1.ConditionTrue, v1alpha1.ReasonApplied, "")
		silent.Annotations = map[string]string{v1alpha1.AnnotationSilentSince: "2026-01-02T01:00:00Z"}
		f.nodes = append(f.nodes, silent)
	}
	f.deselection = &v1alpha1.HeldDeselection{Message: "1 of 5 nodes: to confirm, kubectl annotate fleet fleet"}
	f.resources = []overview.Resource{f.resources[1], f.resources[0]}
	h := handler(f)
	for url, order := range map[string][]string{
		"/": {
			`role="alert">Held: 1 of 5 nodes: to confirm, kubectl annotate`, ">Total</a></dt><dd>1,205<", ">Silent</a></dt><dd>1,200<", ">Unknown</dt><dd>3,600<",
			"the node would lose File/motd", "1 resource failed", `>z-0000</a>, <a href="/nodes/z-0001">z-0001</a>, <a href="/nodes/z-0002">z-0002</a> and 1,197 more<`, "Nodes in the last week",
		},
		"/nodes":               {`href="/nodes/web-9"`, `href="/nodes/web-2"`, `href="/nodes/z-0000"`, "1 to 100 of 1,205"},
		"/nodes/web-0":         {">Not in sync<", "<p>None.</p>", ">Corrected by the last run<", "File/motd"},
		"/resources":           {`href="/resources/File/motd"`, `href="/resources/User/ann"`},
		"/resources/File/motd": {`href="/nodes/web-2"`, `href="/nodes/z-0000"`},
		"/drift":               {"checked against an older catalog on 1 node, whose update is held: web-9", "unknown since the agent fell silent on 1200 nodes"},
	} {
		_, rest := get(t, h, url)
		for _, text := range order {
			_, after, found := strings.Cut(rest, text)
			if !found {
				t.Fatalf("%s has no %s after what comes before it:\n%s", url, text, rest)
			}
			rest = after
		}
	}
}

func TestInvalidURLsAreExplained(t *testing.T) {
	t.Parallel()

	h := handler(small())
	for url, want := range map[string]struct {
		code int
		text string
	}{
		"/no":                  {http.StatusNotFound, "There is no such page."},
		"/nodes/web-9":         {http.StatusNotFound, "There is no NodeCatalog web-9."},
		"/nodes/web-9/catalog": {http.StatusNotFound, "There is no NodeCatalog web-9."},
		"/nodes/web-9/diff":    {http.StatusNotFound, "There is no NodeCatalog web-9."},
		"/resources/File/no":   {http.StatusNotFound, "There is no File/no."},
		"/nodes?status=Failed": {http.StatusBadRequest, "The parameter &#34;status&#34; is unknown: use q, state."},
		"/nodes?state=failed":  {http.StatusBadRequest, "state=&#34;failed&#34; is not one of Silent, Disabled, Held, Pending, Failed, Withheld, OutOfSync, InSync."},
		"/drift?since=5h":      {http.StatusBadRequest, "is not one of 1h, 24h, 168h."},
		"/updates":             {http.StatusBadRequest, "since must be the version of a page"},
	} {
		if code, body := get(t, h, url); code != want.code || !strings.Contains(body, want.text) {
			t.Errorf("%s: status %d\n%s", url, code, body)
		}
	}
}

func TestOnlyGetIsAllowed(t *testing.T) {
	t.Parallel()

	h := handler(small())
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, "/nodes", nil))
		if w.Code < 400 {
			t.Errorf("%s: status %d", method, w.Code)
		}
	}
}

func TestPagesShowLastKnownStateAndTheError(t *testing.T) {
	t.Parallel()

	f := small()
	f.err = errors.New("the server is away")
	if code, body := get(t, handler(f), "/nodes"); code != http.StatusOK || !strings.Contains(body, "the server is away") || !strings.Contains(body, "web-1") {
		t.Errorf("outdated: status %d\n%s", code, body)
	}
	f.nodes, f.err = nil, live.ErrReading
	if code, body := get(t, handler(f), "/nodes"); code != http.StatusOK || !strings.Contains(body, "Reading from the cluster") {
		t.Errorf("while it is read: status %d\n%s", code, body)
	}
	f.err = apierrors.NewForbidden(schema.GroupResource{Group: "fettle.dev", Resource: "nodecatalogs"}, "", errors.New("ann cannot list"))
	for _, url := range []string{"/", "/nodes", "/nodes/web-1", "/nodes/web-2/catalog", "/nodes/web-2/diff", "/drift", "/resources/File/motd"} {
		f.resources = nil
		if code, body := get(t, handler(f), url); code != http.StatusForbidden || !strings.Contains(body, "ann cannot list") {
			t.Errorf("%s without rights: status %d\n%s", url, code, body)
		}
	}
}

func TestPageWaitsForTheFirstAnswer(t *testing.T) {
	t.Parallel()

	f := small()
	nodes := f.nodes
	f.nodes, f.err = nil, live.ErrReading
	asked := make(chan string)
	go func() {
		_, body := get(t, handler(f), "/nodes")
		asked <- body
	}()
	f.change(func(f *fleet) { f.nodes, f.err = nodes, nil })
	if body := <-asked; !strings.Contains(body, "web-1") {
		t.Errorf("got %s", body)
	}
}

func TestLongTablesHavePages(t *testing.T) {
	t.Parallel()

	f := small()
	f.nodes = nil
	for i := range 250 {
		f.nodes = append(f.nodes, node("n"+string(rune('a'+i/26))+string(rune('a'+i%26)), metav1.ConditionTrue, v1alpha1.ReasonApplied, ""))
	}
	for url, want := range map[string][]string{
		"/nodes":                     {"1 to 100 of 250", `href="?page=2"`},
		"/nodes?page=2&state=InSync": {"101 to 200 of 250", `href="?page=3&amp;state=InSync"`, `href="?page=1&amp;state=InSync"`},
		"/nodes?page=3":              {"201 to 250 of 250"},
	} {
		_, body := get(t, handler(f), url)
		for _, text := range want {
			if !strings.Contains(body, text) {
				t.Errorf("%s has no %s", url, text)
			}
		}
		if strings.Count(body, `<th scope="row">`) > 100 {
			t.Errorf("%s has more than 100 rows", url)
		}
	}
}

func TestChangesAreAnnounced(t *testing.T) {
	t.Parallel()

	f := small()
	server := httptest.NewServer(handler(f))
	t.Cleanup(server.Close)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	lines := make(chan string)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/updates?since=0", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer response.Body.Close()
		for s := bufio.NewScanner(response.Body); s.Scan(); {
			select {
			case lines <- s.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	for i, want := range []string{": alive", "", "event: change", "data: 1", ""} {
		if i == 2 {
			f.change(func(*fleet) {})
		}
		if got := <-lines; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
