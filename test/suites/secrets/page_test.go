package secrets_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/fettle-dev/fettle/internal/cli/live"
	"github.com/fettle-dev/fettle/internal/cli/page"
)

// pages returns all views of the page about the fleet, by path, as an administrator sees them.
func (w *world) pages() map[string]string {
	w.t.Helper()
	fleet, err := live.Watch(w.t.Context(), w.cfg)
	must(w.t, err)
	paths := []string{"/", "/nodes", "/resources", "/drift?by=both"}
	for {
		_, next := fleet.Version()
		nodes, nodesErr := fleet.NodeCatalogs()
		_, candidatesErr := fleet.Nodes()
		resources, resourcesErr := fleet.Resources(w.t.Context())
		_, statusErr := fleet.FleetStatus()
		err := errors.Join(nodesErr, candidatesErr, resourcesErr, statusErr)
		if !errors.Is(err, live.ErrReading) {
			must(w.t, err)
			for _, n := range nodes {
				paths = append(paths, "/nodes/"+n.Name, "/nodes/"+n.Name+"/catalog")
			}
			for _, r := range resources {
				paths = append(paths, "/resources/"+string(r.Ref()))
			}
			break
		}
		<-next
	}
	handler := page.New(page.Options{Fleet: fleet, Cluster: "test", Now: time.Now})
	shown := map[string]string{}
	for _, path := range paths {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequestWithContext(w.t.Context(), http.MethodGet, path, nil))
		if answer.Code != http.StatusOK {
			w.t.Errorf("%s: status %d", path, answer.Code)
		}
		shown["the page "+path] = answer.Body.String()
	}
	return shown
}
