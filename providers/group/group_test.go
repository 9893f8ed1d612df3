package group_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
	"github.com/fettle-dev/fettle/providers/group"
	"github.com/fettle-dev/fettle/test/debian"
)

func TestGroupKeepsTheLawsOfTypes(t *testing.T) {
	h := open(t, debian.Root(t))
	resourcetest.Run(t, group.Type(), resourcetest.Case{
		Host:     h,
		Absent:   "{name: web, ensure: absent}",
		Present:  "{name: web, gid: 1500}",
		Changed:  []string{"{name: web, gid: 1501}", "{name: web, gid: 27, allowDupe: true}"},
		Snapshot: resourcetest.Files(h, "/etc/group", "/etc/gshadow", "/etc/passwd"),
	})
}

func TestGroupIsAsItsManifestSays(t *testing.T) {
	tests := map[string]struct {
		before     string // lines of the host's file
		manifest   string
		changes    []resource.Change
		transcript []string
	}{
		"a group that is not there is created": {
			manifest:   "{}",
			changes:    []resource.Change{{Property: "ensure", Is: "absent", Should: "present", Message: "created"}},
			transcript: []string{"! groupadd -- web"},
		},
		"a group is created with all that is said": {
			manifest:   `{"gid": 15, "system": true, "allowDupe": true}`,
			changes:    []resource.Change{{Property: "ensure", Is: "absent", Should: "present", Message: "created"}},
			transcript: []string{"! groupadd --non-unique --gid 15 --system -- web"},
		},
		"a group that is there and may have any number is in sync": {
			before:   "web:x:1500:",
			manifest: `{"system": true}`,
		},
		"another number is put right": {
			before:     "web:x:1500:",
			manifest:   `{"gid": 1501, "system": true}`,
			changes:    []resource.Change{{Property: "gid", Is: "1500", Should: "1501", Message: "gid changed 1500 to 1501"}},
			transcript: []string{"! groupmod --gid 1501 -- web"},
		},
		"a group that should not be there is removed": {
			before:     "web:x:1500:",
			manifest:   `{"ensure": "absent", "gid": 7}`,
			changes:    []resource.Change{{Property: "ensure", Is: "present", Should: "absent", Message: "removed"}},
			transcript: []string{"! groupdel -- web"},
		},
		"a group that is neither there nor should be is in sync": {
			before:   "webmaster:x:1500:\n+web:::",
			manifest: `{"ensure": "absent"}`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := newFake(t, test.before)
			r := bind(t, h, test.manifest)
			must(t, r.Read(t.Context(), h.ReadOnly()))

			changes := r.Compare().Changes
			if len(changes) > 0 {
				must(t, r.Write(t.Context(), h, changes))
			}

			if diff := cmp.Diff(test.changes, changes); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.transcript, h.Transcript()); diff != "" {
				t.Errorf("transcript (-want +got):\n%s", diff)
			}
		})
	}
}
