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
func (f *fixture) pages() map[string]string {
	f.t.Helper()
	fleet, err := live.Watch(f.t.Context(), f.cfg)
	must(f.t, err)
	paths := []string{"/", "/nodes", "/resources", "/drift?by=both"}
	for {
		_, next := fleet.Version()
		nodes, nodesErr := fleet.NodeCatalogs()
		_, candidatesErr := fleet.Nodes()
		resources, resourcesErr := fleet.Resources(f.t.Context())
		_, statusErr := fleet.FleetStatus()
		err := errors.Join(nodesErr, candidatesErr, resourcesErr, statusErr)
		if !errors.Is(err, live.ErrReading) {
			must(f.t, err)
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
	handler := page.New(page.Options{Source: fleet, Cluster: "test", Now: time.Now})
	shown := map[string]string{}
	for _, path := range paths {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequestWithContext(f.t.Context(), http.MethodGet, path, nil))
		if answer.Code != http.StatusOK {
			f.t.Errorf("%s: status %d", path, answer.Code)
		}
		shown["the page "+path] = answer.Body.String()
	}
	return shown
}
