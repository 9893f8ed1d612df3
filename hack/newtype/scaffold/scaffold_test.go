package scaffold_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/hack/newtype/scaffold"
)

const registry = `package providers

import (
	"time"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/group"
	"github.com/fettle-dev/fettle/providers/user"
)

// Kinds returns every resource type, in the order of their names.
func Kinds() []resource.Kind {
	return []resource.Kind{
		bound.Kind(group.Type()),
		bound.Kind(user.Type()),
	}
}
`

const project = `resources:
- api:
    crdVersion: v1
  kind: User
  version: v1alpha1
version: "3"
`

func checkout() fstest.MapFS {
	return fstest.MapFS{
		"providers/registry.go":       {Data: []byte(registry)},
		"PROJECT":                     {Data: []byte(project)},
		"api/v1alpha1/group_types.go": {Data: []byte("package v1alpha1\n")},
	}
}

func TestPlanEditsTheListsOfTypes(t *testing.T) {
	t.Parallel()

	files, err := scaffold.Plan(checkout(), "HostsEntry")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range files {
		got[f.Path] = f.Content
	}

	wantRegistry := `package providers

import (
	"time"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/group"
	"github.com/fettle-dev/fettle/providers/hostsentry"
	"github.com/fettle-dev/fettle/providers/user"
)

// Kinds returns every resource type, in the order of their names.
func Kinds() []resource.Kind {
	return []resource.Kind{
		bound.Kind(group.Type()),
		bound.Kind(hostsentry.Type()),
		bound.Kind(user.Type()),
	}
}
`
	if diff := cmp.Diff(wantRegistry, got["providers/registry.go"]); diff != "" {
		t.Errorf("registry (-want +got):\n%s", diff)
	}
	wantProject := `resources:
- api:
    crdVersion: v1
  kind: User
  version: v1alpha1
- api:
    crdVersion: v1
  domain: dev
  group: fettle
  kind: HostsEntry
  path: github.com/fettle-dev/fettle/api/v1alpha1
  version: v1alpha1
version: "3"
`
	if diff := cmp.Diff(wantProject, got["PROJECT"]); diff != "" {
		t.Errorf("PROJECT (-want +got):\n%s", diff)
	}
}

func TestPlanTouchesNothingElse(t *testing.T) {
	t.Parallel()

	files, err := scaffold.Plan(checkout(), "Sysctl")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		got = append(got, f.Path)
	}
	want := []string{
		"api/v1alpha1/sysctl_types.go",
		"providers/sysctl/sysctl.go",
		"providers/sysctl/native.go",
		"providers/sysctl/sysctl_test.go",
		"providers/sysctl/doc.md",
		"providers/sysctl/example.yaml",
		"config/samples/sysctl.yaml",
		"config/samples/invalid/sysctl-name-is-path.yaml",
		"providers/registry.go",
		"PROJECT",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestPlanRejectsInvalidKinds(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		kind string
		edit func(fstest.MapFS)
		err  string
	}{
		"an empty kind": {
			kind: "",
			err:  `invalid kind "": use CamelCase letters and digits, such as Sysctl`,
		},
		"a path": {
			kind: "../Evil",
			err:  `invalid kind "../Evil": use CamelCase letters and digits, such as Sysctl`,
		},
		"the name of a list kind": {
			kind: "AccessList",
			err:  `invalid kind "AccessList": a name that ends in List denotes a list`,
		},
		"an existing kind": {
			kind: "Group",
			err:  "kind Group already exists in api/v1alpha1/group_types.go: choose another name, or remove it first",
		},
		"a registry without imports": {
			kind: "Sysctl",
			edit: func(c fstest.MapFS) { c["providers/registry.go"].Data = []byte("package providers\n") },
			err: `cannot add Sysctl to providers/registry.go: no block begins with "import ("; ` +
				`add "\"github.com/fettle-dev/fettle/providers/sysctl\"" by hand`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := checkout()
			if tc.edit != nil {
				tc.edit(c)
			}
			_, err := scaffold.Plan(c, tc.kind)
			if err == nil || err.Error() != tc.err {
				t.Errorf("got  %v\nwant %s", err, tc.err)
			}
		})
	}
}

func TestWriteMakesTheFoldersItNeeds(t *testing.T) {
	t.Parallel()

	root := t.TempDir()
	want := map[string]string{"PROJECT": "a", "providers/sysctl/doc.md": "b"}
	var files []scaffold.File
	for _, path := range slices.Sorted(maps.Keys(want)) {
		files = append(files, scaffold.File{Path: path, Content: want[path]})
	}
	if err := scaffold.Write(root, files); err != nil {
		t.Fatal(err)
	}

	got := map[string]string{}
	for path := range want {
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		got[path] = string(text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}
