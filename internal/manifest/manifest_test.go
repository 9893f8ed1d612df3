package manifest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/manifest"
)

const motd = `apiVersion: fettle.dev/v1alpha1
kind: File
metadata: {name: motd}
spec: {nodeSelector: {}, path: /etc/motd, content: hello}
`

const group = `apiVersion: fettle.dev/v1alpha1
kind: Group
metadata: {name: web}
spec: {nodeSelector: {}}
`

// kinds are those that the API has.
func kinds() string {
	var all []string
	for _, r := range v1alpha1.Resources() {
		all = append(all, r.KindName())
	}
	return strings.Join(all, ", ")
}

// names are what a set has, in order.
func names(s *manifest.Set) []string {
	var out []string
	for _, d := range s.Documents {
		out = append(out, d.Resource.KindName()+"/"+d.Resource.GetName()+" in "+d.Source)
	}
	return out
}

func TestReadTakesDocumentsListsAndConfigMapsInTheirOrder(t *testing.T) {
	list := `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"fettle.dev/v1alpha1","kind":"User","metadata":{"name":"ann"},"spec":{"nodeSelector":{}}}]}` + "\n"
	config := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {a: x}\nbinaryData: {b: eQ==}\n"
	other := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"
	in := strings.Join([]string{"# a comment\n", motd, list, config, other, group}, "---\n")
	s, err := read(t, []string{"-"}, strings.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"File/motd in stdin (document 2)", "User/ann in stdin (document 3) (item 1)", "Group/web in stdin (document 6)"}
	if diff := cmp.Diff(want, names(s)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"Deployment/web in stdin (document 5)"}, s.Ignored); diff != "" {
		t.Error(diff)
	}
	for key, want := range map[string]string{"a": "x", "b": "y"} {
		if got, ok := s.ConfigMaps.Value(v1alpha1.KeyRef{Namespace: "default", Name: "web", Key: key}); got != want || !ok {
			t.Errorf("key %s is %q, %v", key, got, ok)
		}
	}
	if _, ok := s.ConfigMaps.Value(v1alpha1.KeyRef{Namespace: "kube-system", Name: "web", Key: "a"}); ok {
		t.Error("a ConfigMap of another namespace was found")
	}
}

func TestReadTakesTheManifestsOfADirectoryByName(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"b.yaml": motd, "a.yml": group, "README.md": "no manifest"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := read(t, []string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"Group/web in " + dir + "/a.yml", "File/motd in " + dir + "/b.yaml"}
	if diff := cmp.Diff(want, names(s)); diff != "" {
		t.Error(diff)
	}
}

func TestReadSaysWhatIsWrongAndKeepsTheRest(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"an unknown kind":      {strings.Replace(motd, "File", "Fyle", 1), "stdin: kind Fyle is not known; there are " + kinds()},
		"an unknown version":   {strings.Replace(motd, "v1alpha1", "v9", 1), "stdin: apiVersion fettle.dev/v9 is not known; write fettle.dev/v1alpha1"},
		"an unknown attribute": {strings.Replace(motd, "content", "contents", 1), `stdin: File: unknown field "spec.contents"`},
		"no name":              {strings.Replace(motd, "name: motd", "", 1), "stdin: File: metadata.name is missing"},
		"no kind":              {"hello: world\n", "stdin: kind is missing: is this a Kubernetes object?"},
		"a number for text":    {strings.Replace(motd, "content: hello", "mode: 0644", 1), "stdin: File: spec.mode is a number and must be a string: put it in quotes"},
		"text for a list":      {strings.Replace(motd, "content: hello", "require: File/a", 1), "stdin: File: spec.require is a string and must be a list, as [a, b]"},
		"a name that is none":  {strings.Replace(motd, "name: motd", "name: 5", 1), "stdin: File: metadata.name is a number and must be a string: put it in quotes"},
		"text":                 {"hello\n", "stdin: is a string and no object with apiVersion, kind, metadata and spec"},
		"JSON after JSON":      {"{\"kind\": \"File\"}\n{\"kind\": \"File\"}\n", "stdin: another object follows the first: put a line --- between them"},
		"no YAML":              {"a: [\n", "stdin: yaml: line 2: did not find expected node content"},
		"a name twice":         {motd + "---\n" + motd, "stdin (document 2): File/motd is in stdin already; rename or remove one"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := read(t, []string{"-"}, strings.NewReader(c.in+"\n---\n"+group))
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if all := names(s); len(all) == 0 || !strings.HasPrefix(all[len(all)-1], "Group/web") {
				t.Errorf("the good document is gone: %v", all)
			}
		})
	}
}

func TestReadNamesAFileThatIsNotThere(t *testing.T) {
	_, err := read(t, []string{"/nowhere/web.yaml"}, nil)
	if err == nil || err.Error() != "cannot read /nowhere/web.yaml: no such file or directory" {
		t.Error(err)
	}
}

func TestSchemaSaysWhatAnAPIServerWould(t *testing.T) {
	schema, err := manifest.NewSchema()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"a valid document": {motd, nil},
		"a relative path":  {strings.Replace(motd, "/etc/motd", "etc/motd", 1), []string{"stdin: File/motd: spec.path: Invalid value: \"etc/motd\": path must be absolute, as in /etc/motd"}},
		"a value of no pattern": {strings.Replace(motd, "content: hello", "source: /a, checksum: md5, checksumValue: "+strings.Repeat("z", 32), 1), []string{
			"stdin: File/motd: spec.checksumValue: Invalid value: \"" + strings.Repeat("z", 32) + "\": spec.checksumValue in body should match '^[0-9a-fA-F]+$'",
		}},
		"content and target": {strings.Replace(motd, "content: hello", "content: hello, target: /x", 1), []string{
			"stdin: File/motd: spec: Invalid value: content, contentTemplate, contentFrom and target exclude each other: keep one",
		}},
		"a word that is none": {strings.Replace(motd, "content: hello", "ensure: folder", 1), []string{
			`stdin: File/motd: spec.ensure: Unsupported value: "folder": supported values: "present", "file", "directory", "link", "absent"`,
		}},
		"a number that is too large": {"{apiVersion: fettle.dev/v1alpha1, kind: User, metadata: {name: a}, spec: {nodeSelector: {}, passwordMaxAge: 2147483648}}", []string{
			"stdin: User/a: spec.passwordMaxAge: Invalid value: 2147483648: spec.passwordMaxAge in body should be less than or equal to 2147483647",
		}},
		"a reference twice": {strings.Replace(motd, "content: hello", "require: [File/a, File/a]", 1), []string{"stdin: File/motd: spec.require[1]: Duplicate value: \"File/a\""}},
		"no node selector":  {strings.Replace(motd, "nodeSelector: {}, ", "", 1), []string{"stdin: File/motd: spec.nodeSelector: Required value"}},
		"a name that no object may have": {strings.Replace(motd, "name: motd", "name: Motd_1", 1), []string{
			"stdin: File/Motd_1: metadata.name: Invalid value: \"Motd_1\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', " +
				"and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := read(t, []string{"-"}, strings.NewReader(c.in))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, err := range schema.Validate(t.Context(), s.Documents[0]) {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// FuzzRead holds that no input makes the reader panic, that what it takes for a resource
// has a name, and that it reads the same from its JSON.
func FuzzRead(f *testing.F) {
	f.Add(motd + "---\n" + group)
	f.Add(`{"kind":"List","items":[{"kind":"List","items":[null]}]}`)
	f.Add("kind: FileList\nitems: [1]\n")
	f.Fuzz(func(t *testing.T, in string) {
		s, _ := read(t, []string{"-"}, strings.NewReader(in))
		for _, d := range s.Documents {
			if d.Resource.GetName() == "" {
				t.Fatal("a resource without a name")
			}
			raw, err := json.Marshal(d.Resource)
			if err != nil {
				t.Fatal(err)
			}
			again, err := read(t, []string{"-"}, bytes.NewReader(raw))
			if len(again.Documents) != 1 {
				t.Fatalf("%s is %d resources, %v", raw, len(again.Documents), err)
			}
			if diff := cmp.Diff(d.Resource, again.Documents[0].Resource); diff != "" {
				t.Errorf("%s (-once +twice):\n%s", raw, diff)
			}
		}
	})
}

func BenchmarkRead(b *testing.B) {
	var in strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&in, "apiVersion: fettle.dev/v1alpha1\nkind: File\nmetadata: {name: file-%d}\nspec:\n  nodeSelector: {}\n  path: /etc/file-%d\n  mode: \"0644\"\n  content: |\n    %s\n---\n",
			i, i, strings.Repeat("x", 100))
	}
	b.ReportAllocs()
	b.SetBytes(int64(in.Len()))
	for b.Loop() {
		s, err := read(b, []string{"-"}, strings.NewReader(in.String()))
		if err != nil || len(s.Documents) != 1000 {
			b.Fatal(len(s.Documents), err)
		}
	}
}
