package overview_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/fettle-dev/fettle/internal/cli/overview"
)

// pages is the number of pages of each list: more than the requests that client-go permits at once by default.
const pages = 30

// servePages is an API server whose lists have one object per page.
func servePages(w http.ResponseWriter, r *http.Request) {
	page, _ := strconv.Atoi(r.URL.Query().Get("continue")) // the first has no number
	next := ""
	if page+1 < pages {
		next = strconv.Itoa(page + 1)
	}
	fmt.Fprintf(w, `{"metadata":{"continue":%q},"items":[{"metadata":{"name":"web-%02d"}}]}`, next, page)
}

// served answers requests without a network.
type served struct{}

func (served) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	servePages(w, r)
	return w.Result(), nil
}

func TestListsWithManyPagesAreNotDelayed(t *testing.T) {
	t.Parallel()

	var all []overview.Node
	synctest.Test(t, func(t *testing.T) { // whose clock goes on only if all wait
		client, err := overview.Connect(&rest.Config{Host: "http://api", Transport: served{}})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if all, err = client.Nodes(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("its requests were delayed by %s", took)
		}
	})
	var got, want []string
	for i, c := range all {
		got = append(got, c.Name+" "+c.Catalog.Name)
		want = append(want, fmt.Sprintf("web-%02d web-%02d", i, i))
	}
	if diff := cmp.Diff(want, got); diff != "" || len(got) != pages {
		t.Errorf("%d nodes (-want +got):\n%s", len(got), diff)
	}
}

func TestListsAreReadWhateverTheOrderOfTheirFields(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		pages []string // the second continues the first
		want  string
	}{
		"the metadata is last": {[]string{`{"items":[{"metadata":{"name":"a"}}],"metadata":{"continue":"1"}}`, `{"items":[{"metadata":{"name":"b"}}]}`}, "a b"},
		"there are no items":   {[]string{`{"metadata":{"continue":"1"}}`, `{"metadata":{},"items":null}`}, ""},
		"a page is cut off":    {[]string{`{"metadata":{"continue":"1"},"items":[]}`, `{"metadata":{},"items":[{"metadata":`}, "cannot read the list of nodecatalogs: unexpected end of JSON input"},
		"a page is no object":  {[]string{`["metadata"]`}, "cannot read the list of nodecatalogs: expected comma after array element"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				page, _ := strconv.Atoi(r.URL.Query().Get("continue")) // the first has no number
				fmt.Fprint(w, c.pages[page])
			}))
			t.Cleanup(server.Close)
			client, err := overview.Connect(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			all, err := client.NodeCatalogs(t.Context())
			var names []string
			for _, n := range all {
				names = append(names, n.Name)
			}
			got := strings.Join(names, " ")
			if err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
