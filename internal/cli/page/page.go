// Package page shows a fleet in a browser. It only reads.
//
// The server renders everything; a short script replaces the content when something has changed. So each view has a URL of its
// own, and works without the script, too.
package page

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/live"
	"github.com/fettle-dev/fettle/internal/cli/overview"
	"github.com/fettle-dev/fettle/internal/text"
)

// A Source has what a page shows. The results must not change; with an error, they are what was known before it.
type Source interface {
	NodeCatalogs() ([]overview.NodeCatalog, error)
	Nodes() ([]overview.Node, error)
	Resources(context.Context) ([]overview.Resource, error)
	// FleetStatus returns what the manager wrote of the fleet: past hours, the present one first, and what is held.
	FleetStatus() (v1alpha1.FleetStatus, error)
	// Policies returns the RolloutPolicies by name, and Waits what nodes wait for because of them.
	Policies() ([]v1alpha1.RolloutPolicy, error)
	Waits(ctx context.Context, nodes []overview.Node) (overview.Waits, error)
	// Entries returns the catalog of a node, and Difference what the node answers; both ask the cluster.
	Entries(ctx context.Context, node string) ([]overview.Entry, error)
	Difference(ctx context.Context, node string) overview.Difference
	// Version returns a number that grows with each change, and a channel that the next one closes.
	Version() (uint64, <-chan struct{})
}

// Options configure a page. All but Root are required.
type Options struct {
	// Root is the path below which the page is served, without the slash at its end: see [Guard].
	Root    string
	Source  Source
	Cluster string // its name in the title
	Now     func() time.Time
}

// New returns a handler for all views. It serves anyone who reaches it: see [Guard].
func New(o Options) http.Handler {
	p := &page{Options: o, templates: parse(o.Root)}
	mux := http.NewServeMux()
	for pattern, v := range map[string]struct {
		name string
		show func(*http.Request) (view, error)
	}{
		"GET /{$}":                     {"fleet", p.fleet},
		"GET /nodes":                   {"nodes", p.nodes},
		"GET /nodes/{name}":            {"node", p.node},
		"GET /nodes/{name}/catalog":    {"catalog", p.catalog},
		"GET /nodes/{name}/diff":       {"diff", p.diff},
		"GET /resources":               {"resources", p.resources},
		"GET /resources/{kind}/{name}": {"resource", p.resource},
		"GET /drift":                   {"drift", p.drift},
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { p.serve(w, r, v.name, v.show) })
	}
	mux.HandleFunc("GET /updates", p.updates)
	mux.Handle("GET /assets/", http.FileServerFS(assets))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		p.serve(w, r, "message", func(*http.Request) (view, error) {
			return view{}, &failure{http.StatusNotFound, "There is no such page."}
		})
	})
	return mux
}

//go:embed assets
var assets embed.FS

//go:embed templates
var templates embed.FS

type page struct {
	Options
	templates map[string]*template.Template
}

// A view is the content of a page. The other fields of its frame are set by serve.
type view struct {
	Title   string
	Content any
	Once    bool // the page is not shown again when something changes

	Name    string // of the template
	Cluster string
	Version uint64
	Now     time.Time
	Warning string // why the content is outdated or incomplete
	Reading bool   // the content has yet to be read
}

// A failure is an error with a status.
type failure struct {
	status  int
	message string
}

func (f *failure) Error() string { return f.message }

// patience is how long a page waits for the first answer of the cluster before it is shown without content.
const patience = 400 * time.Millisecond

// serve shows a view. It renders everything before it writes anything.
func (p *page) serve(w http.ResponseWriter, r *http.Request, name string, show func(*http.Request) (view, error)) {
	version, _ := p.Source.Version()
	v, err := p.wait(r, show)
	status := http.StatusOK
	var failed *failure
	switch {
	case errors.Is(err, live.ErrReading):
		v.Reading = true
	case errors.As(err, &failed):
		name, status, v = "message", failed.status, view{Title: http.StatusText(failed.status), Content: failed.message}
	case apierrors.IsForbidden(err) && v.Content == nil:
		name, status, v = "message", http.StatusForbidden, view{Title: "Access denied", Content: text.Error(err)}
	case err != nil:
		v.Warning = text.Error(err)
	}
	v.Name, v.Cluster, v.Version, v.Now = name, p.Cluster, version, p.Now()
	var body bytes.Buffer
	if err := p.templates[name].ExecuteTemplate(&body, "frame.html", v); err != nil {
		http.Error(w, fmt.Sprintf("cannot show the page: %v", err), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = body.WriteTo(w) // the browser may have gone
}

// wait calls show until everything has been read, but for no longer than patience.
func (p *page) wait(r *http.Request, show func(*http.Request) (view, error)) (view, error) {
	enough := time.NewTimer(patience)
	defer enough.Stop()
	for {
		_, next := p.Source.Version()
		v, err := show(r)
		if !errors.Is(err, live.ErrReading) {
			return v, err
		}
		select {
		case <-next:
		case <-enough.C:
			return v, err
		case <-r.Context().Done():
			return v, err
		}
	}
}
