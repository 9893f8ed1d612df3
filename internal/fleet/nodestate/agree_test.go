package nodestate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/overview"
	"github.com/fettle-dev/fettle/internal/cli/page"
	"github.com/fettle-dev/fettle/internal/fleet/counts"
	"github.com/fettle-dev/fettle/internal/fleet/drift"
	"github.com/fettle-dev/fettle/internal/fleet/nodestate/nodestatetest"
	"github.com/fettle-dev/fettle/internal/fleet/nodestatus"
)

// fleet has the nodes of all cases.
type fleet struct{ nodes []overview.NodeCatalog }

func (f fleet) NodeCatalogs() ([]overview.NodeCatalog, error)        { return f.nodes, nil }
func (fleet) Nodes() ([]overview.Node, error)                        { return nil, nil }
func (fleet) Resources(context.Context) ([]overview.Resource, error) { return nil, nil }
func (fleet) FleetStatus() (v1alpha1.FleetStatus, error)             { return v1alpha1.FleetStatus{}, nil }
func (fleet) Policies() ([]v1alpha1.RolloutPolicy, error)            { return nil, nil }
func (fleet) Waits(context.Context, []overview.Node) (none overview.Waits, err error) {
	return none, nil
}
func (fleet) Entries(context.Context, string) ([]overview.Entry, error)     { return nil, nil }
func (fleet) Difference(context.Context, string) (none overview.Difference) { return none }
func (fleet) Version() (uint64, <-chan struct{})                            { return 0, nil }

// counted has what the Fleet, kubectl fettle status and the page count.
func counted(t *testing.T) (v1alpha1.FleetNodes, overview.Status, string) {
	t.Helper()
	fleetCounts := counts.New(nil)
	var f fleet
	for i, c := range nodestatetest.Cases() {
		c.NodeCatalog.Name = fmt.Sprintf("node-%02d", i)
		_, silent := c.NodeCatalog.Annotations[v1alpha1.AnnotationSilentSince]
		fleetCounts.AddNode(c.NodeCatalog.Name, nodestatus.Node{Name: c.NodeCatalog.Name, Reported: c.NodeCatalog, Silent: silent}.State())
		raw, err := json.Marshal(c.NodeCatalog)
		if err != nil {
			t.Fatal(err)
		}
		var n overview.NodeCatalog // as it is read from an API server
		if err := json.Unmarshal(raw, &n); err != nil {
			t.Fatal(err)
		}
		f.nodes = append(f.nodes, n)
	}
	now := at(10)
	w := httptest.NewRecorder()
	page.New(page.Options{Source: f, Cluster: "c", Now: func() time.Time { return now }}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	return fleetCounts.Status(&drift.Records{}, v1alpha1.FleetStatus{}, now).Nodes, overview.StatusOf(f.nodes, now), w.Body.String()
}

func TestManagerCommandLineAndPageAgreeOnNodes(t *testing.T) {
	t.Parallel()

	manager, status, shown := counted(t)
	want := v1alpha1.FleetNodes{Total: 25, InSync: 1, Pending: 4, Held: 4, OutOfSync: 1, Failed: 5, Withheld: 4, Disabled: 3, Silent: 3}
	if diff := cmp.Diff(want, manager); diff != "" {
		t.Errorf("the Fleet (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, status.Nodes); diff != "" {
		t.Errorf("kubectl fettle status (-want +got):\n%s", diff)
	}
	wantShown := map[string]string{"Total": "25", "In sync": "1", "Pending": "4", "Held": "4", "Out of sync": "1", "Failed": "5", "Withheld": "4", "Disabled": "3", "Silent": "3"}
	if diff := cmp.Diff(wantShown, figures(shown, "Nodes", "Resources on nodes")); diff != "" {
		t.Errorf("the page (-want +got):\n%s", diff)
	}
}

func TestCommandLineAndPageAgreeOnResources(t *testing.T) {
	t.Parallel()

	_, status, shown := counted(t)
	r := status.Resources
	want := map[string]string{
		"Total": fmt.Sprint(r.Total), "In sync": fmt.Sprint(r.InSync), "Failed": fmt.Sprint(r.Failed), "Withheld": fmt.Sprint(r.Withheld), "Skipped": fmt.Sprint(r.Skipped),
		"Unknown": fmt.Sprint(r.Unknown), "Disabled": fmt.Sprint(r.Disabled), "Noop": fmt.Sprint(r.Noop),
	}
	if diff := cmp.Diff(want, figures(shown, "Resources on nodes", "Problems")); diff != "" {
		t.Errorf("the page (-status +page):\n%s", diff)
	}
	if r.Unknown != 9 || r.Withheld != 14 || r.Disabled != 6 {
		t.Errorf("got %+v", r)
	}
}

var figure = regexp.MustCompile(`<dt>(?:<a [^>]*>)?([^<]*)(?:</a>)?</dt><dd>([^<]*)</dd>`)

// figures are the numbers on a page between two headings.
func figures(shown, from, to string) map[string]string {
	_, part, _ := strings.Cut(shown, ">"+from+"</h2>")
	part, _, _ = strings.Cut(part, ">"+to+"</h2>")
	all := map[string]string{}
	for _, m := range figure.FindAllStringSubmatch(part, -1) {
		all[m[1]] = m[2]
	}
	return all
}
