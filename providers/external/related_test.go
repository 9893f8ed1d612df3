package external_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/external/store"
	"github.com/fettle-dev/fettle/internal/external/wire"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/providers/external"
	"github.com/fettle-dev/fettle/providers/group"
)

// zone is a type that knows what its entries need.
const zone = `
metadata: {name: zones}
spec:
  kind: Zone
  version: 1.0.0
  description: Manages a zone of a registry.
  attributes:
  - {name: name, description: Its name., behaviour: Namevar, schema: {type: string}}
  - {name: server, description: Its server., behaviour: Parameter, schema: {type: string}}
  - {name: serial, description: Its version., schema: {type: integer}}
  - {name: key, description: A key., behaviour: Parameter, sensitive: true, schema: {type: string}}
  - {name: passphrase, description: Another key., sensitive: true, schema: {type: string}}
  providers:
  - {name: plain, command: [./zone]}
  source: {files: {zone: "#!/bin/false"}}
`

func TestEachRequestHasTheDesiredStatesOfRelatedResources(t *testing.T) {
	t.Parallel()

	w := newFixtureOf(t, strings.Replace(strings.Replace(entry, "requests: [", "requests: [Refresh, ", 1), "spec:", `spec:
  relations:
  - {relation: require, kind: Zone, name: $zone, sendDesired: true}
  - {relation: require, kind: Group, name: $owner, sendDesired: true}
  - {relation: require, kind: Group, name: wheel}
  selfRefresh: true`, 1))
	w.host.Handle("zone", (&registry{t: t, has: map[string]wire.State{}}).run)
	w.host.Put("/etc/group", "")
	for _, command := range []string{"groupadd", "groupmod", "groupdel", "gpasswd"} {
		w.host.Handle(command, func(host.Cmd) host.Result { return host.Result{} })
	}
	w.Kinds = append(w.Kinds, external.Kind(define(t, zone), store.New(w.host, "/var/lib/fettle/programs")), bound.Kind(group.Type()))
	related := []wire.Related{
		{
			Kind: "Zone", Name: "z", Omitted: []string{"passphrase"},
			Should: map[string]json.RawMessage{"ensure": json.RawMessage(`"present"`), "name": json.RawMessage(`"z"`), "server": json.RawMessage(`"ns1"`), "serial": json.RawMessage(`42`)},
		},
		{Kind: "Group", Name: "staff", Should: map[string]json.RawMessage{"ensure": json.RawMessage(`"absent"`)}},
	}
	got := map[string][]wire.Related{}
	w.registry.asked = func(request string, r wire.Resource) { got[request] = r.Related }

	resources := []string{
		`Entry/a {zone: z, id: 1, owner: staff}`, `Zone/first {name: z, server: ns1, serial: 42, key: k1, passphrase: t1}`,
		`Group/staff {ensure: absent}`, `Group/wheel {ensure: absent}`,
	}
	w.Noop = true
	w.Apply(t, resources...)
	equal(t, map[string][]wire.Related{"canonicalize": related, "get": related, "validate": related}, got)
	clear(got)
	w.Noop = false
	w.Apply(t, resources...)
	equal(t, map[string][]wire.Related{"canonicalize": related, "get": related, "validate": related, "set": related, "refresh": related}, got)
	clear(got)
	w.Apply(t, `Entry/b {zone: other, id: 1}`, resources[1])
	equal(t, map[string][]wire.Related{"canonicalize": nil, "get": nil, "validate": nil, "set": nil, "refresh": nil}, got)
}
