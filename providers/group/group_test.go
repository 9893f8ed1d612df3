package group_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
	"github.com/fettle-dev/fettle/providers/group"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

func TestLaws(t *testing.T) {
	root := debian.Root(t)
	debian.Chroot(t, root, "useradd", "ann")
	debian.Chroot(t, root, "useradd", "bob")
	h := open(t, root)
	resourcetest.Run(t, group.Type(), resourcetest.Case{
		Host:    h,
		Absent:  "{name: web, ensure: absent}",
		Present: "{name: web, gid: 1500, members: [bob]}",
		Changed: []string{
			"{name: web, gid: 1501, members: [ann]}",
			"{name: web, gid: 27, allowDupe: true, members: [bob], authMembership: true}",
			"{name: web, members: [], authMembership: true}",
		},
		Snapshot: resourcetest.Files(h, "/etc/group", "/etc/gshadow", "/etc/passwd"),
	})
}

func TestApply(t *testing.T) {
	tests := map[string]struct {
		before     string // lines of the host's file
		manifest   string
		changes    []resource.Change
		transcript []string
	}{
		"a missing group is created": {
			manifest:   "{}",
			changes:    []resource.Change{{Property: "ensure", Is: "absent", Should: "present", Message: "created"}},
			transcript: []string{"! groupadd -- web"},
		},
		"a group is created with all attributes": {
			manifest:   `{"gid": 15, "system": true, "allowDupe": true}`,
			changes:    []resource.Change{{Property: "ensure", Is: "absent", Should: "present", Message: "created"}},
			transcript: []string{"! groupadd --non-unique --gid 15 --system -- web"},
		},
		"an existing group without a gid is in sync": {
			before:   "web:x:1500:",
			manifest: `{"system": true}`,
		},
		"a group is created with its members": {
			manifest:   `{"members": ["bob", "ann"]}`,
			changes:    []resource.Change{{Property: "ensure", Is: "absent", Should: "present", Message: "created"}},
			transcript: []string{"! groupadd -- web", "! gpasswd --members bob,ann -- web"},
		},
		"a group with further members is in sync": {
			before:   "web:x:1500:ann,bob,eve",
			manifest: `{"members": ["eve", "ann"]}`,
		},
		"members are added to the present ones": {
			before:     "web:x:1500:bob",
			manifest:   `{"members": ["eve", "bob", "ann"]}`,
			changes:    []resource.Change{{Property: "members", Is: "bob", Should: "ann,bob,eve", Message: "members changed bob to ann,bob,eve"}},
			transcript: []string{"! gpasswd --add eve -- web", "! gpasswd --add ann -- web"},
		},
		"an empty list of members adds nobody": {
			before:   "web:x:1500:bob",
			manifest: `{"members": []}`,
		},
		"members are exclusive with authMembership": {
			before:     "web:x:1500:bob,eve",
			manifest:   `{"members": ["eve", "ann"], "authMembership": true}`,
			changes:    []resource.Change{{Property: "members", Is: "bob,eve", Should: "ann,eve", Message: "members changed bob,eve to ann,eve"}},
			transcript: []string{"! gpasswd --members eve,ann -- web"},
		},
		"all members in another order are in sync": {
			before:   "web:x:1500:bob,eve",
			manifest: `{"members": ["eve", "bob"], "authMembership": true}`,
		},
		"authMembership with no members removes all": {
			before:     "web:x:1500:bob,eve",
			manifest:   `{"members": [], "authMembership": true}`,
			changes:    []resource.Change{{Property: "members", Is: "bob,eve", Message: "members undefined from bob,eve"}},
			transcript: []string{`! gpasswd --members "" -- web`},
		},
		"each property is corrected separately": {
			before:   "web:x:1500:bob",
			manifest: `{"gid": 1501, "members": ["ann"]}`,
			changes: []resource.Change{
				{Property: "gid", Is: "1500", Should: "1501", Message: "gid changed 1500 to 1501"},
				{Property: "members", Is: "bob", Should: "ann,bob", Message: "members changed bob to ann,bob"},
			},
			transcript: []string{"! groupmod --gid 1501 -- web", "! gpasswd --add ann -- web"},
		},
		"a wrong number is corrected": {
			before:     "web:x:1500:",
			manifest:   `{"gid": 1501, "system": true}`,
			changes:    []resource.Change{{Property: "gid", Is: "1500", Should: "1501", Message: "gid changed 1500 to 1501"}},
			transcript: []string{"! groupmod --gid 1501 -- web"},
		},
		"an undesired group is removed": {
			before:     "web:x:1500:",
			manifest:   `{"ensure": "absent", "gid": 7}`,
			changes:    []resource.Change{{Property: "ensure", Is: "present", Should: "absent", Message: "removed"}},
			transcript: []string{"! groupdel -- web"},
		},
		"a missing group is in sync with absent": {
			before:   "webmaster:x:1500:\n+web:::",
			manifest: `{"ensure": "absent"}`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := newFake(t, test.before)
			changes := resourcetest.Change(t, bind(t, h, test.manifest), h)

			if diff := cmp.Diff(test.changes, changes); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.transcript, h.Transcript()); diff != "" {
				t.Errorf("transcript (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAGroupComesAfterItsMembers(t *testing.T) {
	tests := map[string]struct {
		manifest string
		want     []resource.Relation
	}{
		"a present group requires its members": {
			`{"members": ["ann", "bob"]}`,
			[]resource.Relation{{Relation: resource.Require, Kind: "User", Names: []string{"ann", "bob"}}},
		},
		"an absent group requires nobody": {`{"members": ["ann"], "ensure": "absent"}`, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := bound.Kind(group.Type()).Bind(resource.Ref{Kind: "Group", Name: "web"}, json.RawMessage(test.manifest))
			must(t, err)
			if diff := cmp.Diff(test.want, r.Relations()); diff != "" {
				t.Errorf("relations (-want +got):\n%s", diff)
			}
		})
	}
}
