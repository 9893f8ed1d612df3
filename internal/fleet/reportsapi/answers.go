package reportsapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/fettle-dev/fettle/api/reports/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/questions"
)

// attachedAnswers accept the answers of the caller's node, each as the subresource of a question.
//
// An API server takes a request with a slow body for as long as a minute, and all agents are one user to its queues. So
// answers are a subresource of a name that API servers take for long-running: such requests occupy no seat of a queue, and no node
// delays the answers of others.
type attachedAnswers struct {
	clusterScoped
	hub *questions.Hub
}

// New implements [rest.Storage].
func (attachedAnswers) New() runtime.Object { return &v1alpha1.NodeAnswer{} }

// ConnectMethods implements [rest.Connecter].
func (attachedAnswers) ConnectMethods() []string { return []string{http.MethodPost} }

// NewConnectOptions implements [rest.Connecter].
func (attachedAnswers) NewConnectOptions() (options runtime.Object, path bool, name string) {
	return nil, false, ""
}

// Connect implements [rest.Connecter]. The handler accepts an answer, once, and returns it without a content.
func (s attachedAnswers) Connect(ctx context.Context, question string, _ runtime.Object, responder rest.Responder) (http.Handler, error) {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := &v1alpha1.NodeAnswer{}
		if err := readAnswer(w, r, answer); err != nil {
			responder.Error(err)
			return
		}
		answer.Name = question
		accepted, err := nodeAnswers(s).accept(ctx, answer)
		if err != nil {
			responder.Error(err)
			return
		}
		responder.Object(http.StatusCreated, accepted)
	}), nil
}

func readAnswer(w http.ResponseWriter, r *http.Request, answer *v1alpha1.NodeAnswer) error {
	const size = 2 * v1alpha1.MaxAnswerBytes // as text in JSON
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, size))
	if large := new(http.MaxBytesError); errors.As(err, &large) {
		return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", large.Limit))
	}
	if err == nil {
		err = json.Unmarshal(body, answer)
	}
	if err != nil {
		return apierrors.NewBadRequest("the body is not a NodeAnswer: " + err.Error())
	}
	return nil
}

// admitAnswers refuses answers that a node was not asked for, and more than a few of a node at the same time, before their bodies are
// read: a body may come as slowly as its sender likes.
func admitAnswers(hub *questions.Hub, codecs runtime.NegotiatedSerializer, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, _ := request.RequestInfoFrom(r.Context())
		if !isAnswer(info) {
			next.ServeHTTP(w, r)
			return
		}
		done, err := admit(hub, r)
		if err != nil {
			responsewriters.ErrorNegotiated(err, codecs, v1alpha1.GroupVersion, w, r)
			return
		}
		defer done()
		next.ServeHTTP(w, r)
	})
}

func isAnswer(info *request.RequestInfo) bool {
	if info == nil || !info.IsResourceRequest || info.Verb != "create" {
		return false
	}
	return info.Resource == "nodeanswers" || info.Resource == "nodequestions" && info.Subresource == v1alpha1.SubresourceAnswer
}

func admit(hub *questions.Hub, r *http.Request) (done func(), err error) {
	of := resourceOf("nodeanswers")
	node, err := nodeOf(r.Context(), of)
	if err != nil {
		return nil, err
	}
	done, err = hub.Receive(node)
	switch {
	case errors.Is(err, questions.ErrTooMany):
		return nil, apierrors.NewTooManyRequests("other answers of node "+node+" are being received", 1)
	case err != nil:
		return nil, apierrors.NewForbidden(of, "", err)
	}
	return done, nil
}

// withoutInFlightLimit returns whether a request does not count among the requests in flight: watches, and answers, whose
// number admitAnswers limits for each node.
func withoutInFlightLimit(_ *http.Request, info *request.RequestInfo) bool {
	return isAnswer(info) || info != nil && info.Verb == "watch"
}

var _ rest.Connecter = attachedAnswers{}
