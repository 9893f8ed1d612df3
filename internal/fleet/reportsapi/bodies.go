package reportsapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/fettle-dev/fettle/api/reports/v1alpha1"
)

// Limits of the requests for plans, before anything of them is decoded.
const (
	// maxBodies is the number of requests whose bodies are in memory.
	maxBodies = 4
	// bodyTime is how long a body may take to arrive.
	bodyTime = 10 * time.Second
)

// bodies admits the requests for plans: so many at a time, and one of each user, so that nobody keeps others from planning. The callers
// are authorized already. It is safe for concurrent use.
type bodies struct {
	encoder runtime.NegotiatedSerializer

	mu    sync.Mutex
	users map[string]bool // those with a request
}

// admit reads the bodies of requests for plans, and passes these on.
func (b *bodies) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, known := request.RequestInfoFrom(r.Context())
		if !known || info.Resource != "plans" || info.Verb != "create" {
			next.ServeHTTP(w, r)
			return
		}
		user := ""
		if caller, ok := request.UserFrom(r.Context()); ok {
			user = caller.GetName()
		}
		err := b.enter(user)
		if err == nil {
			defer b.leave(user)
			err = receive(w, r)
		}
		if err != nil {
			responsewriters.ErrorNegotiated(err, b.encoder, v1alpha1.GroupVersion, w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (b *bodies) enter(user string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.users[user]:
		return apierrors.NewTooManyRequests(fmt.Sprintf("another plan of %q is being made, and each user has one at a time: try again later", user), retryAfter)
	case len(b.users) >= maxBodies:
		return apierrors.NewTooManyRequests(fmt.Sprintf("%d other plans are requested, and no more are at a time: try again later", maxBodies), retryAfter)
	}
	if b.users == nil {
		b.users = map[string]bool{}
	}
	b.users[user] = true
	return nil
}

func (b *bodies) leave(user string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.users, user)
}

// receive replaces the body of a request by what has arrived of it. The error is shown to the caller.
func receive(w http.ResponseWriter, r *http.Request) error {
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Now().Add(bodyTime)) // without one, the API server ends the request later
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, v1alpha1.MaxPlanBytes))
	_ = connection.SetReadDeadline(time.Time{})
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", v1alpha1.MaxPlanBytes))
	case errors.Is(err, os.ErrDeadlineExceeded):
		return apierrors.NewTimeoutError(fmt.Sprintf("the plan did not arrive within %s", bodyTime), 0)
	case err != nil:
		return apierrors.NewBadRequest(fmt.Sprintf("cannot read the plan: %v", err))
	}
	r.Body = io.NopCloser(bytes.NewReader(raw))
	return nil
}
