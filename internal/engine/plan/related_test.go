package plan_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine/plan"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
)

// host is the attributes of a type whose resources are related to others.
type host struct {
	Name    string   `json:"name"`
	Alias   string   `json:"alias,omitempty"`
	Comment *string  `json:"comment,omitempty"`
	Links   []string `json:"links,omitempty"`
	// Names of other relations.
	Nearest    []string `json:"nearest,omitempty"`
	Precedes   []string `json:"precedes,omitempty"`
	Notifies   []string `json:"notifies,omitempty"`
	Subscribes []string `json:"subscribes,omitempty"`
}

// hosts is a type whose relation sends desired states.
func hosts() *resource.Type[host] {
	return &resource.Type[host]{
		Name: "Host", NamevarName: "name", Namevar: func(h *host) *string { return &h.Name },
		CanonicalName: func(want, _ host) (string, bool) { return strings.ToLower(want.Name), true },
		Keys:          func(h host) []string { return []string{h.Alias} },
		Properties: []resource.Property[host]{
			resource.Field("comment", "Words.", func(h *host) *string { return h.Comment }),
		},
		Auto: []resource.AutoRelation[host]{
			{Relation: resource.Require, Kind: "Host", Names: func(h host) []string { return h.Links }, SendDesired: true},
			{Relation: resource.Require, Kind: "Cluster", Names: func(h host) []string { return h.Links }},
			{Relation: resource.Require, Kind: "Host", Names: func(h host) []string { return h.Nearest }, Nearest: true},
			{Relation: resource.Before, Kind: "Host", Names: func(h host) []string { return h.Precedes }},
			{Relation: resource.Notify, Kind: "Host", Names: func(h host) []string { return h.Notifies }},
			{Relation: resource.Subscribe, Kind: "Host", Names: func(h host) []string { return h.Subscribes }},
		},
		Receive: func(*host, []resource.Related) {},
	}
}

// item returns a Host; it is a deletion if its name has a minus.
func item(t *testing.T, attributes string) resource.Item {
	t.Helper()
	attributes, deletes := strings.CutPrefix(attributes, "-")
	var values host
	if err := json.Unmarshal([]byte(attributes), &values); err != nil {
		t.Fatal(err)
	}
	i := resource.Item{Ref: resource.Ref{Kind: "Host", Name: values.Name}}
	var err error
	if i.Resource, err = bound.New(hosts(), i.Ref, values); err != nil {
		t.Fatal(err)
	}
	if deletes {
		i.Deletes = new(i.Object())
	}
	return i
}

func TestRelationsSendDesiredStates(t *testing.T) {
	t.Parallel()

	long := strings.Repeat("x", 4000)
	const a, b = `{"name":"a","comment":"first"}`, `{"name":"b","alias":"bee"}`
	stateOfA := resource.Related{Kind: "Host", Name: "a", Should: map[string]json.RawMessage{"comment": json.RawMessage(`"first"`)}}
	stateOfB := resource.Related{Kind: "Host", Name: "b", Should: map[string]json.RawMessage{}}
	for name, tt := range map[string]struct {
		items []string // the last one has the relation
		spoil func(items []resource.Item)
		want  []resource.Related
	}{
		"in the order of the catalog, once": {items: []string{a, b, `{"name":"z","links":["b","a","a"]}`}, want: []resource.Related{stateOfA, stateOfB}},
		"past other relations":              {items: []string{a, `{"name":"y","precedes":["z"]}`, `{"name":"z","links":["a"]}`}, want: []resource.Related{stateOfA}},
		"by other keys":                     {items: []string{a, b, `{"name":"z","links":["bee"]}`}, want: []resource.Related{stateOfB}},
		"not those that are missing":        {items: []string{a, b, `{"name":"z","links":["c"]}`}},
		"not itself":                        {items: []string{`{"name":"z","links":["z"]}`}},
		"not those that are invalid": {
			items: []string{a, b, `{"name":"z","links":["a","b"]}`}, spoil: func(items []resource.Item) { items[0].Invalid = errors.New("unreadable schedule") },
			want: []resource.Related{stateOfB},
		},
		"not those without attributes": {
			items: []string{a, b, `{"name":"z","links":["a","b"]}`}, spoil: func(items []resource.Item) { items[0].Resource = nil },
			want: []resource.Related{stateOfB},
		},
		"not those whose edges lead to nothing": {
			items: []string{a, b, `{"name":"z","links":["a","b"]}`}, spoil: func(items []resource.Item) { items[0].Require = []resource.Ref{{Kind: "Host", Name: "c"}} },
			want: []resource.Related{stateOfB},
		},
		"not what is being removed":                        {items: []string{"-" + a, `{"name":"z","links":["a"]}`}},
		"what is being removed as well, to a removal":      {items: []string{b, "-" + a, `-{"name":"z","links":["b","a"]}`}, want: []resource.Related{stateOfB, stateOfA}},
		"a resource that stays, to the removal of another": {items: []string{a, `-{"name":"z","links":["a"]}`}, want: []resource.Related{stateOfA}},
		"also where a written edge replaces the automatic": {items: []string{a, `{"name":"z","links":["a"]}`}, spoil: func(items []resource.Item) { items[0].Require = []resource.Ref{items[1].Ref} }, want: []resource.Related{stateOfA}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var items []resource.Item
			for _, text := range tt.items {
				items = append(items, item(t, text))
			}
			if tt.spoil != nil {
				tt.spoil(items)
			}
			if diff := cmp.Diff(map[int][]resource.Related{len(items) - 1: tt.want}, sentTo(len(items)-1, items)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}

	t.Run("at most 64 KiB to one resource", func(t *testing.T) {
		t.Parallel()

		var items []resource.Item
		var links []string
		for i := range 20 {
			name := string(rune('a' + i))
			items = append(items, item(t, `{"name":"`+name+`","comment":"`+long+`"}`))
			links = append(links, `"`+name+`"`)
		}
		items = append(items, item(t, `{"name":"z","links":[`+strings.Join(links, ",")+`]}`))
		sent, omitted := 0, 0
		for _, r := range sentTo(20, items)[20] {
			sent += len(r.Should["comment"])
			omitted += len(r.Omitted)
		}
		if sent != 16*4002 || omitted != 4 {
			t.Errorf("sent %d bytes and omitted %d values", sent, omitted)
		}
	})
}

// sentTo returns what a run sends to a node; the node is missing if it asks for nothing.
func sentTo(node int, items []resource.Item) map[int][]resource.Related {
	got := map[int][]resource.Related{}
	if states, ok := plan.New(items).States(items)[node]; ok {
		got[node] = states
	}
	return got
}
