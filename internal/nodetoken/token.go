// Package nodetoken requests and reads the tokens of agents that run as services of their hosts.
//
// Such a token is bound to a Node: the API server rejects it once that Node is deleted, and adds the Node's name to the
// identity of its user, as for the token of a pod. The admission policy for agents compares that name.
package nodetoken

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// MaxLifetime is the longest lifetime of a token that an agent may request for itself. The admission policy
	// enforces it.
	MaxLifetime = 7 * 24 * time.Hour
	// AudienceAnnotation of the agents' namespace lists the audiences, separated by commas, that agents may request
	// tokens for. The admission policy enforces it.
	AudienceAnnotation = "fettle.dev/token-audience"
)

// Claims are the parts of a token that Fettle reads. They are not verified: only the API server can do that.
type Claims struct {
	Namespace, Account string
	Node               string // "" if the token is not bound to a Node or to a pod on one
	Pod                string // "" if the token is not bound to a pod
	Audiences          []string
	Issued, Expires    time.Time
}

// Parse reads the claims of a service account's token. Its error does not contain the token.
func Parse(token string) (Claims, error) {
	parts := strings.Split(strings.TrimSpace(token), ".")
	if len(parts) != 3 {
		return Claims{}, errors.New("it is not the token of a service account: it has no three parts")
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return Claims{}, errors.New("it is not the token of a service account: its claims are not in base64")
	}
	type named struct{ Name string }
	var raw struct {
		Aud        []string
		Iat, Exp   int64
		Kubernetes struct {
			Namespace      string
			ServiceAccount named
			Node, Pod      named
		} `json:"kubernetes.io"`
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		return Claims{}, errors.New("it is not the token of a service account: its claims are not those of one")
	}
	k := raw.Kubernetes
	return Claims{
		Namespace: k.Namespace, Account: k.ServiceAccount.Name, Node: k.Node.Name, Pod: k.Pod.Name,
		Audiences: raw.Aud, Issued: time.Unix(raw.Iat, 0), Expires: time.Unix(raw.Exp, 0),
	}, nil
}

// A Request describes a token.
type Request struct {
	Namespace, Account string
	Node               string // the Node that the token is bound to
	Lifetime           time.Duration
}

// Accounts are the resources that tokens are requested for.
func Accounts() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
}

// A Creator creates objects of [Accounts] in the namespace of a request. Those of the package dynamic of client-go are
// creators.
type Creator interface {
	Create(ctx context.Context, o *unstructured.Unstructured, options metav1.CreateOptions, subresources ...string) (*unstructured.Unstructured, error)
}

// Create requests a token from the API server, which may shorten its lifetime.
func (r Request) Create(ctx context.Context, accounts Creator) (string, error) {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
		"metadata": map[string]any{"name": r.Account, "namespace": r.Namespace},
		"spec": map[string]any{
			"expirationSeconds": int64(r.Lifetime / time.Second),
			"boundObjectRef":    map[string]any{"apiVersion": "v1", "kind": "Node", "name": r.Node},
		},
	}}
	answer, err := accounts.Create(ctx, object, metav1.CreateOptions{}, "token")
	if err != nil {
		return "", fmt.Errorf("cannot request a token for Node %s: %w", r.Node, err)
	}
	token, _, err := unstructured.NestedString(answer.Object, "status", "token")
	if err != nil || token == "" {
		return "", fmt.Errorf("cannot request a token for Node %s: the API server returned none", r.Node)
	}
	return token, nil
}
