package controllers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
)

// refusals are the NodeCatalogs that the API server refused to write, as one that is too
// large. Each is tried again with a backoff of its own, or once the node is to have something
// else, and holds up no other. The zero value has none. Safe for concurrent use.
type refusals struct {
	mu     sync.Mutex
	byNode map[string]refusal
}

type refusal struct {
	of       string // digest of what the node should have
	why      string
	attempts int
	next     time.Time
}

// isRefused reports whether an API server answered that it does not take an object, in
// contrast to one that is not there, is busy, or lets nobody in.
func isRefused(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	switch status.Status().Code {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusInternalServerError:
		return true
	}
	return false
}

// note takes what came of writing a NodeCatalog, and reports whether it is refused now and was
// not before.
func (r *refusals) note(c nodeChange, err error, now time.Time) (began bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		delete(r.byNode, c.node)
		return false
	}
	if r.byNode == nil {
		r.byNode = map[string]refusal{}
	}
	was := r.byNode[c.node]
	is := refusal{of: c.want.Digest, why: err.Error(), attempts: min(was.attempts+1, 10)}
	is.next = now.Add(min(time.Second<<is.attempts, maxRetry))
	r.byNode[c.node] = is
	return was.attempts == 0
}

// waits reports whether a change is one that was refused and is not yet to be tried again.
func (r *refusals) waits(c nodeChange, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was, refused := r.byNode[c.node]
	return refused && was.of == c.want.Digest && now.Before(was.next)
}

// why is what the API server said when it refused what a node is to have; "" if it didn't.
func (r *refusals) why(node string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byNode[node].why
}

// keep forgets all nodes but those that there are.
func (r *refusals) keep(nodes map[string]*compiler.NodeResult) (left int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for node := range r.byNode {
		if nodes[node] == nil {
			delete(r.byNode, node)
		}
	}
	return len(r.byNode)
}

// next is how long until one is to be tried again, at least 1; 0 for never.
func (r *refusals) next(now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	var next later
	for _, is := range r.byNode {
		next.in(max(is.next.Sub(now), 1))
	}
	return next.wait
}

// due reports whether it is time for that.
func (r *refusals) due(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, is := range r.byNode {
		if !now.Before(is.next) {
			return true
		}
	}
	return false
}

// writeAll writes NodeCatalogs, and returns the errors of those for which the whole pass is to
// be made again. What is refused concerns one node alone.
func (r *Fleet) writeAll(ctx context.Context, changes []nodeChange) error {
	now := r.Clock.Now()
	changes = slices.DeleteFunc(changes, func(c nodeChange) bool { return r.refusals.waits(c, now) })
	errs := each(len(changes), func(i int) error {
		err := r.writeNodeCatalog(ctx, changes[i])
		if err != nil && !isRefused(err) {
			return err
		}
		if r.refusals.note(changes[i], err, now) {
			r.tellRefused(ctx, changes[i].node, err)
		}
		return nil
	})
	r.Metrics.unpublished(r.refusals.keep(r.compiled.result.Nodes))
	return errors.Join(errs...)
}

func (r *Fleet) tellRefused(ctx context.Context, node string, err error) {
	ctrl.LoggerFrom(ctx).Error(err, "the API server refuses what the node is to have: it keeps what it has", "node", node)
	emit(r.Recorder, &v1alpha1.NodeCatalog{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "NodeCatalog"},
		ObjectMeta: metav1.ObjectMeta{Name: node},
	}, []occurrence{{corev1.EventTypeWarning, v1alpha1.EventNotPublished, "Publish", refusedMessage(err.Error()), nil}})
}

func refusedMessage(why string) string {
	return fmt.Sprintf("the API server refuses the node's catalog, so the node keeps what it has: %s", why)
}
