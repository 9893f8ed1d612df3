package purge_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/nodeagent/engine"
	"github.com/fettle-dev/fettle/providers/file"
	"github.com/fettle-dev/fettle/providers/group"
	"github.com/fettle-dev/fettle/providers/purge"
	"github.com/fettle-dev/fettle/providers/systemservice"
	"github.com/fettle-dev/fettle/providers/user"
	"github.com/fettle-dev/fettle/test/debian"
)

func kinds() []resource.Kind {
	return []resource.Kind{file.Type(nil).Erase(), group.Type().Erase(), purge.Type().Erase(), systemservice.Type().Erase(), user.Type().Erase()}
}

// run applies resources, as "Kind/name" with their attributes, to a root.
func run(t *testing.T, root string, withheld []resource.Ref, resources ...[2]string) []string {
	t.Helper()
	h, err := linux.Open(linux.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = h.Close() }()
	var items []resource.Item
	for _, r := range resources {
		ref, err := resource.ParseRef(r[0])
		if err != nil {
			t.Fatal(err)
		}
		item := resource.Item{Ref: ref}
		for _, k := range kinds() {
			if k.Name() == ref.Kind {
				item.Resource, item.Invalid = k.Bind(ref, json.RawMessage(r[1]))
			}
		}
		items = append(items, item)
	}
	report, err := engine.Transaction{Host: h, Kinds: kinds(), Withheld: withheld, Now: time.Now}.Run(t.Context(), items)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, res := range report.Resources {
		lines = append(lines, res.Lines()...)
	}
	return lines
}

func TestWhatNobodyManagesGoes(t *testing.T) {
	root := debian.Root(t)
	for _, name := range []string{"kept", "stray", "spared"} {
		debian.Chroot(t, root, "useradd", name)
	}
	spared := strings.TrimSpace(debian.Chroot(t, root, "id", "-u", "spared"))

	for name, c := range map[string]struct {
		withheld  []resource.Ref
		resources [][2]string
		want      []string
	}{
		"nothing while a resource of the kind is withheld": {
			withheld:  []resource.Ref{{Kind: "User", Name: "stray"}},
			resources: [][2]string{{"Purge/users", `{"kind":"User"}`}},
			want: []string{
				"Purge/users: cannot generate its resources: what User/stray manages is not known while it is withheld or invalid, so nothing is purged: mend it first",
			},
		},
		"nothing while one is invalid": {
			resources: [][2]string{{"Purge/users", `{"kind":"User"}`}, {"User/bad", `{"uid":"x"}`}},
			want: []string{
				"Purge/users: cannot generate its resources: what User/bad manages is not known while it is withheld or invalid, so nothing is purged: mend it first",
				"User/bad: cannot read attributes of User/bad: json: cannot unmarshal string into Go struct field UserAttributes.uid of type int64",
			},
		},
		"nothing of a kind that can't be listed": {
			resources: [][2]string{{"Purge/files", `{"kind":"File"}`}},
			want:      []string{"Purge/files: cannot generate its resources: cannot list all of kind File: provider posix can't; give a name"},
		},
		"nothing of a kind that there is not": {
			resources: [][2]string{{"Purge/crons", `{"kind":"Cron"}`}},
			want:      []string{"Purge/crons: cannot generate its resources: kind \"Cron\" is not known: `fettle describe` lists those that are"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, run(t, root, c.withheld, c.resources...)); diff != "" {
				t.Error(diff)
			}
		})
	}

	all := [][2]string{{"Purge/users", `{"kind":"User","unlessUID":[` + spared + `]}`}, {"User/kept", `{"shell":"/bin/sh"}`}}
	got := run(t, root, nil, all...)
	if diff := cmp.Diff([]string{"User/stray: removed"}, got); diff != "" {
		t.Error(diff)
	}
	if got := run(t, root, nil, all...); got != nil {
		t.Errorf("a second run: %v", got)
	}
	left := debian.Chroot(t, root, "getent", "passwd", "kept", "spared", "root", "nobody", "daemon", "sys")
	if n := strings.Count(left, "\n"); n != 6 {
		t.Errorf("left are\n%s", left)
	}
}
