package audit

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// A Write is a request of a manager: it writes the status of the policy, or the spec of a NodeCatalog.
type Write struct {
	At time.Time // of its arrival
	// Status is written; nil if a NodeCatalog is.
	Status *v1alpha1.RolloutPolicyStatus
	// Node gets Revision; "" leaves it at the revision that it has.
	Node, Revision string
	Created        bool // the node had no NodeCatalog before
	// Uncertain says that nobody knows whether it was made. If the API server ended before it answered, nobody knows its content either.
	Uncertain bool
}

// A Request is an event of an audit log about a request that the API server has answered, or about one that it never answered.
type Request struct {
	At                   time.Time
	Verb, Resource, Name string // Resource is resource/subresource if there is one
	Code                 int    // 0 without an answer
	Body                 json.RawMessage
}

// Write returns what a request writes. ok is false if it writes neither the status of a policy nor a NodeCatalog, or if it failed.
func (r Request) Write() (w Write, ok bool, err error) {
	w = Write{At: r.At, Created: r.Verb == "create", Uncertain: r.Code == 0 || r.Code >= statusClientClosedRequest}
	if !w.Uncertain && r.Code >= http.StatusMultipleChoices {
		return w, false, nil
	}
	switch {
	case r.Resource == "nodecatalogs" && (r.Verb == "patch" || r.Verb == "create"):
		var o struct {
			Spec struct{ Rollout v1alpha1.NodeRollout }
		}
		err = decode(r, &o)
		w.Node, w.Revision = r.Name, o.Spec.Rollout.Revision
	case r.Resource == "rolloutpolicies/status" && r.Verb == "update":
		var o v1alpha1.RolloutPolicy
		err = decode(r, &o)
		w.Status = &o.Status
	default:
		return w, false, nil
	}
	return w, true, err
}

// statusClientClosedRequest is the code of a request whose client did not wait for the answer.
const statusClientClosedRequest = 499

// decode decodes the body of a request, which one without an answer does not have.
func decode(r Request, into any) error {
	if len(r.Body) == 0 && r.Code == 0 {
		return nil
	}
	if err := json.Unmarshal(r.Body, into); err != nil {
		return fmt.Errorf("cannot decode what %s of %s %s writes: the audit policy must have the level Request: %w", r.Verb, r.Resource, r.Name, err)
	}
	return nil
}
