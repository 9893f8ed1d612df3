package external_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/external/store"
	"github.com/fettle-dev/fettle/internal/external/wire"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/external"
)

func TestResourcesOfOtherTypesWithTheSameProgramAreNotListed(t *testing.T) {
	t.Parallel()

	text := entry // a type whose base is the other
	for _, change := range [][2]string{
		{"description: Its zone., behaviour: Namevar, schema: {type: string", "description: Its zone., behaviour: Namevar, schema: {type: string, enum: [z, q]"},
		{"description: Seconds., schema: {type: integer", "description: Seconds., schema: {type: integer, enum: [60]"},
		{"description: Words., schema: {type: string", "description: Words., schema: {type: string, enum: [x, v]"},
		{"  kind: Entry\n", "  kind: Entry\n  programKind: Base\n"},
	} {
		if !strings.Contains(text, change[0]) {
			t.Fatalf("the type has no %q", change[0])
		}
		text = strings.Replace(text, change[0], change[1], 1)
	}
	w := newFixture(t)
	var told string
	w.host.Handle("entry", func(cmd host.Cmd) host.Result {
		told, _, _ = strings.Cut(string(cmd.Stdin), "\n")
		return w.registry.run(cmd)
	})
	one := json.Number("1")
	w.registry.has = map[string]wire.State{
		"z:1":  {"zone": "z", "id": one, "ttl": json.Number("60")},
		"q:1":  {"zone": "q", "id": one, "comment": "odd"}, // drift, not another type
		"w:1":  {"zone": "w", "id": one, "ttl": json.Number("60")},
		"z:61": {"zone": "z", "id": one, "ttl": json.Number("61")},
	}
	kind := external.Kind(define(t, text), store.New(w.host, "/var/lib/fettle/programs"))
	all, err := kind.Instances(t.Context(), nil, resource.Call{}.Reader(w.host), "")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, i := range all {
		names = append(names, i.Namevar)
	}
	equal(t, []string{"q:1", "z:1"}, names)
	equal(t, `{"request":"hello","protocol":"Fettle/1","kind":"Base","version":"1.0.0","provider":"plain"}`, told)
}

func TestResourcesOfOtherTypesWithTheSameDSCResourceAreNotListed(t *testing.T) {
	t.Parallel()

	text := strings.NewReplacer(
		"enum: [Red, red, Green]", "enum: [Red]", "      validate:", "      export: {executable: thing, args: [export]}\n      validate:", "OPTIONS", "", "  dsc:", "  requests: [List]\n  dsc:",
	).Replace(thing)
	h := hosttest.New(t)
	h.Handle("thing", func(host.Cmd) host.Result {
		return prints("{\"name\":\"a\",\"colour\":\"red\"}\n{\"name\":\"b\",\"colour\":\"Green\"}\n{\"name\":\"c\"}\n")
	})
	kind := external.Kind(define(t, text), store.New(h, "/var/lib/fettle/programs"))
	all, err := kind.Instances(t.Context(), nil, resource.Call{}.Reader(h), "")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, i := range all {
		names = append(names, i.Namevar)
	}
	equal(t, []string{"a", "c"}, names)
}
