package installation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// authorizeTime is how long requests wait for each other, where something between the manager and
// the API server does not pass on its interim responses.
const authorizeTime = 2 * time.Second

// unprotect removes the finalizer from all parts. Each patch needs the ServiceAccount, the
// ClusterRole and the ClusterRoleBinding, and may be what lets the API server delete one of them.
// The API server authorizes a request before it reads the body, and announces that it reads the
// body by the response "100 Continue". So all requests are opened first, and no body is sent before
// all requests are authorized.
func (i *Installation) unprotect(ctx context.Context) error {
	parts := i.known()
	var authorized, done sync.WaitGroup
	authorized.Add(len(parts))
	send := make(chan struct{})
	failed := make([]error, len(parts))
	for n, p := range parts {
		done.Go(func() { failed[n] = i.patchTogether(ctx, p, sync.OnceFunc(authorized.Done), send) })
	}
	all := make(chan struct{})
	go func() {
		authorized.Wait()
		close(all)
	}()
	select {
	case <-all:
	case <-i.clock.After(authorizeTime):
	}
	close(send)
	done.Wait()
	return errors.Join(failed...)
}

// patchTogether removes the finalizer of a part, and calls authorized once that cannot be rejected
// for lack of permission, or has failed.
func (i *Installation) patchTogether(ctx context.Context, p part, authorized func(), send <-chan struct{}) error {
	defer authorized()
	url := i.rest.Patch(types.StrategicMergePatchType).AbsPath("/apis", p.Group, p.Version)
	if p.Group == "" {
		url = i.rest.Patch(types.StrategicMergePatchType).AbsPath("/api", p.Version)
	}
	if p.Namespace != "" {
		url = url.Namespace(p.Namespace)
	}
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{Got100Continue: authorized})
	body := io.MultiReader(gate{ctx, send}, strings.NewReader(removeProtection))
	r, err := http.NewRequestWithContext(ctx, http.MethodPatch, url.Resource(p.resource).Name(p.Name).URL().String(), body)
	if err != nil {
		return fmt.Errorf("cannot release %s: %w", p, err)
	}
	r.ContentLength = int64(len(removeProtection))
	r.Header.Set("Content-Type", string(types.StrategicMergePatchType))
	r.Header.Set("Expect", "100-continue")
	answer, err := i.http.Do(r)
	if err != nil {
		return fmt.Errorf("cannot release %s: %w", p, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusNotFound {
		return fmt.Errorf("cannot release %s: the API server answers %s", p, answer.Status)
	}
	return nil
}

// A gate is empty, and its end is reached when it opens.
type gate struct {
	ctx  context.Context //nolint:containedctx // an io.Reader has no parameter for it
	open <-chan struct{}
}

func (g gate) Read([]byte) (int, error) {
	select {
	case <-g.open:
		return 0, io.EOF
	case <-g.ctx.Done():
		return 0, g.ctx.Err()
	}
}
