package audit_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/test/suites/chaos/audit"
)

func TestRequestsThatWriteAreTold(t *testing.T) {
	t.Parallel()

	const spec = `{"spec":{"rollout":{"policy":"default","revision":"t","since":"2026-01-01T00:00:00Z"}}}`
	for name, tt := range map[string]struct {
		request audit.Request
		want    audit.Write
		ok      bool
	}{
		"a patch of a NodeCatalog": {
			audit.Request{Verb: "patch", Resource: "nodecatalogs", Name: "a", Code: 200, Body: []byte(spec)},
			audit.Write{Node: "a", Revision: "t"},
			true,
		},
		"a patch of a NodeCatalog that has the same revision": {
			audit.Request{Verb: "patch", Resource: "nodecatalogs", Name: "a", Code: 200, Body: []byte(`{"spec":{"catalogs":[]}}`)},
			audit.Write{Node: "a"},
			true,
		},
		"a new NodeCatalog": {
			audit.Request{Verb: "create", Resource: "nodecatalogs", Name: "a", Code: 201, Body: []byte(spec)},
			audit.Write{Node: "a", Revision: "t", Created: true},
			true,
		},
		"the status of a policy": {
			audit.Request{Verb: "update", Resource: "rolloutpolicies/status", Name: "default", Code: 200, Body: []byte(`{"status":{"target":"t","admitting":["a"]}}`)},
			audit.Write{Status: &v1alpha1.RolloutPolicyStatus{Target: "t", Admitting: []string{"a"}}},
			true,
		},
		"a patch without an answer": {
			audit.Request{Verb: "patch", Resource: "nodecatalogs", Name: "a"},
			audit.Write{Node: "a", Uncertain: true},
			true,
		},
		"a patch that timed out": {
			audit.Request{Verb: "patch", Resource: "nodecatalogs", Name: "a", Code: 504, Body: []byte(spec)},
			audit.Write{Node: "a", Revision: "t", Uncertain: true},
			true,
		},
		"a status that conflicts": {
			audit.Request{Verb: "update", Resource: "rolloutpolicies/status", Name: "default", Code: 409, Body: []byte(`{}`)},
			audit.Write{},
			false,
		},
		"a request that only reads": {
			audit.Request{Verb: "list", Resource: "nodecatalogs", Code: 200},
			audit.Write{},
			false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is, ok, err := tt.request.Write()
			if err != nil || ok != tt.ok {
				t.Fatalf("%v, %v", ok, err)
			}
			if diff := cmp.Diff(tt.want, is); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestALogWithoutBodiesIsAnError(t *testing.T) {
	t.Parallel()

	_, _, err := audit.Request{Verb: "patch", Resource: "nodecatalogs", Name: "a", Code: 200}.Write()
	const want = "cannot decode what patch of nodecatalogs a writes: the audit policy must have the level Request: unexpected end of JSON input"
	if err == nil || err.Error() != want {
		t.Errorf("the error is %v", err)
	}
}
