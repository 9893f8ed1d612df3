package manifest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/manifest"
	"github.com/fettle-dev/fettle/internal/source"
	"github.com/fettle-dev/fettle/internal/state"
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

// nameRule is what faults of names say about them.
const nameRule = "the name of an object has lower-case letters, digits, - and ., and begins and ends with a letter or digit"

// kinds lists the kinds of the API.
func kinds() string {
	var all []string
	for _, r := range v1alpha1.Resources() {
		all = append(all, r.KindName())
	}
	return strings.Join(all, ", ")
}

// in reads manifests from stdin.
func in(t testing.TB, text string) *manifest.Set {
	t.Helper()
	return manifest.Read(t.Context(), stdin(text), nil)
}

// stdin returns the sources of -f -.
func stdin(text string) []source.Source {
	return []source.Source{{Name: source.Stdin, Read: func(context.Context) ([]byte, error) { return []byte(text), nil }}}
}

// named returns the sources of -f.
func named(t testing.TB, files ...string) []source.Source {
	t.Helper()
	all, err := source.Loader{}.Expand(source.Request{Files: files})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// names returns the names in a set, in order.
func names(s *manifest.Set) []string {
	var out []string
	for _, d := range s.Documents {
		out = append(out, d.Resource.KindName()+"/"+d.Resource.GetName()+" in "+d.Where())
	}
	return out
}

// faults returns the faults of a set, in order.
func faults(s *manifest.Set) []string {
	var out []string
	for _, f := range s.Faults {
		out = append(out, f.Error())
	}
	return out
}

func TestReadKeepsOrderOfDocumentsListsAndConfigMaps(t *testing.T) {
	list := `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"fettle.dev/v1alpha1","kind":"User","metadata":{"name":"ann"},"spec":{"nodeSelector":{}}}]}` + "\n"
	config := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {a: x}\nbinaryData: {b: eQ==}\n"
	other := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"
	s := in(t, strings.Join([]string{"# a comment\n", motd, list, config, other, group}, "---\n"))
	if diff := cmp.Diff([]string(nil), faults(s)); diff != "" {
		t.Error(diff)
	}
	want := []string{"File/motd in stdin:3", "User/ann in stdin:8", "Group/web in stdin:20"}
	if diff := cmp.Diff(want, names(s)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"Deployment/web in stdin:16"}, s.Ignored); diff != "" {
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

func TestReadSortsManifestsOfDirectoryByName(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"b.yaml": motd, "a.yml": group, "README.md": "no manifest"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := manifest.Read(t.Context(), named(t, dir), nil)
	want := []string{"Group/web in " + dir + "/a.yml:1", "File/motd in " + dir + "/b.yaml:1"}
	if diff := cmp.Diff(want, names(s)); diff != "" {
		t.Error(diff)
	}
}

// The set has the other documents in every case.
func TestFaultNamesLineResourceAndRemedy(t *testing.T) {
	const long = "apiVersion: fettle.dev/v1alpha1\nkind: File\nmetadata:\n  name: motd\nspec:\n  nodeSelector: {}\n"
	replaced := func(old, with string) string { return strings.Replace(motd, old, with, 1) }
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"an unknown kind":              {replaced("File", "Fyle"), []string{"stdin:2: Fyle/motd: kind: unknown kind Fyle; did you mean File?"}},
		"a kind without a similar one": {replaced("File", "Gadget"), []string{"stdin:2: Gadget/motd: kind: unknown kind Gadget; use one of " + kinds()}},
		"a kind of Puppet":             {replaced("File", "Service"), []string{"stdin:2: Service/motd: kind: unknown kind Service; Puppet's service is SystemService: Kubernetes has a Service"}},
		"an attribute that Puppet has": {long + "  path: /a\n  selinux_ignore_defaults: true\n", []string{"stdin:8: File/motd: spec.selinux_ignore_defaults: unknown field; Puppet's selinux_ignore_defaults does not exist here: parts of a label that are not set are never changed"}},
		"a value of Puppet":            {long + "  path: /a\n  backup: false\n", []string{"stdin:8: File/motd: spec.backup: false is Puppet's form: write None"}},
		"a value that a rule refuses":  {long + "  path: /a\n  source: puppet:///modules/a\n", []string{"stdin:8: File/motd: spec.source: puppet:///modules/a is Puppet's form: use contentFrom with a ConfigMap, or a path or an https URL that the host reads"}},
		"references in Puppet's form": {long + "  path: /a\n  require:\n  - File/b\n  - Package[nginx]\n  notify: [service/nginx]\n", []string{
			`stdin:10: File/motd: spec.require[1]: "Package[nginx]" is Puppet's form: write Package/nginx`,
			`stdin:11: File/motd: spec.notify[0]: "service/nginx" names no resource: write SystemService/nginx`,
		}},
		"no version":                         {strings.Replace(motd, "apiVersion: fettle.dev/v1alpha1\n", "", 1), []string{"stdin:1: File/motd: apiVersion: missing; write apiVersion: fettle.dev/v1alpha1"}},
		"an unknown version":                 {replaced("v1alpha1", "v9"), []string{"stdin:1: File/motd: apiVersion: unknown version fettle.dev/v9; use fettle.dev/v1alpha1"}},
		"an unknown attribute":               {replaced("content", "contents"), []string{"stdin:4: File/motd: spec.contents: unknown field; did you mean content?"}},
		"an attribute in Puppet's spelling":  {long + "  path: /a\n  validate_cmd: x\n", []string{"stdin:8: File/motd: spec.validate_cmd: unknown field; Puppet's validate_cmd is validateCmd"}},
		"an attribute without a similar one": {replaced("content", "colour"), []string{"stdin:4: File/motd: spec.colour: unknown field"}},
		"an unknown metadata field":          {replaced("name: motd", "name: motd, lables: {}"), []string{`stdin:1: File/motd: unknown field "metadata.lables"`}},
		"a selector in a Pod's form":         {replaced("nodeSelector: {}", "nodeSelector: {kubernetes.io/os: linux}"), []string{"stdin:4: File/motd: spec.nodeSelector.kubernetes.io/os: unknown field; write labels below matchLabels, as in nodeSelector: {matchLabels: {role: web}}"}},
		"an unknown part of a selector":      {replaced("nodeSelector: {}", "nodeSelector: {matchExpressions: [{key: a, operator: Exists, value: b}]}"), []string{"stdin:4: File/motd: spec.nodeSelector.matchExpressions[0].value: unknown field; did you mean values?"}},
		"attributes beside the spec":         {motd + "mode: \"0644\"\n", []string{"stdin:5: File/motd: mode: unknown field; write it below spec"}},
		"an attribute of Ansible":            {long + "  path: /a\n  state: present\n", []string{"stdin:8: File/motd: spec.state: unknown field; Ansible's state is ensure"}},
		"an empty name":                      {replaced("name: motd", "name: \"\""), []string{"stdin:3: metadata.name: is missing: give this File a name"}},
		"a version alone":                    {strings.Replace(motd, "fettle.dev/v1alpha1", "v1alpha1", 1), []string{"stdin:1: File/motd: apiVersion: no API has File in v1alpha1; use fettle.dev/v1alpha1"}},
		"a group without a domain":           {strings.Replace(motd, "fettle.dev", "fettle", 1), []string{"stdin:1: File/motd: apiVersion: no API has File in fettle/v1alpha1; use fettle.dev/v1alpha1"}},
		"no name":                            {replaced("name: motd", ""), []string{"stdin:3: metadata.name: is missing: give this File a name"}},
		"no kind":                            {"hello: world\n", []string{"stdin:1: kind is missing: is this a Kubernetes object?"}},
		"a number for text":                  {long + "  path: /a\n  mode: 0644\n", []string{"stdin:8: File/motd: spec.mode: must be a string, not a number: put it in quotes"}},
		"text for a list":                    {replaced("content: hello", "require: File/a"), []string{"stdin:4: File/motd: spec.require: must be a list, not a string: write it as [a, b]"}},
		"a word for a boolean":               {replaced("content: hello", "purge: manual"), []string{"stdin:4: File/motd: spec.purge: must be true or false, not a string"}},
		"a word for a number":                {replaced("content: hello", "recurseLimit: inf"), []string{"stdin:4: File/motd: spec.recurseLimit: must be a whole number, not a string"}},
		"text for a boolean":                 {replaced("content: hello", "purge: \"yes\""), []string{"stdin:4: File/motd: spec.purge: must be true or false, not a string: write it without quotes"}},
		"null for text":                      {replaced("content: hello", "require: [null]"), []string{"stdin:4: File/motd: spec.require[0]: must be a string, not null: remove the field, or give it a value"}},
		"null for an optional field":         {replaced("content: hello", "content: null"), nil},
		"a list for the spec":                {"apiVersion: fettle.dev/v1alpha1\nkind: File\nmetadata: {name: motd}\nspec: []\n", []string{"stdin:4: File/motd: spec: must be an object, not a list"}},
		"a name that is a number":            {replaced("name: motd", "name: 5"), []string{"stdin:3: File/5: metadata.name: must be a string, not a number: put it in quotes"}},
		"text":                               {"hello\n", []string{"stdin:1: is a string, not an object with apiVersion, kind, metadata and spec"}},
		"JSON after JSON":                    {"{\"kind\": \"File\"}\n{\"kind\": \"File\"}\n", []string{"stdin:1: another object follows the first: put a line --- between them"}},
		"invalid YAML":                       {"# one\n---\na: [\n", []string{"stdin: yaml: line 4: did not find expected node content"}},
		"a duplicate name":                   {motd + "---\n" + motd, []string{"stdin:6: File/motd: is already in stdin:1; rename or remove one"}},
		"a duplicate key":                    {long + "  path: /a\n  mode: \"0644\"\n  owner: x\n  mode: \"0600\"\n", []string{"stdin:10: File/motd: spec.mode: duplicate field, first in line 8: remove one"}},
		"a duplicate key in JSON": {
			`{"apiVersion":"fettle.dev/v1alpha1","kind":"File","metadata":{"name":"motd"},"spec":{"nodeSelector":{},"path":"/a","path":"/b"}}` + "\n",
			[]string{"stdin:1: File/motd: spec.path: duplicate field, first in line 1: remove one"},
		},
		"three faults": {long + "  path: a\n  modes: \"0644\"\n  ensure: folder\n", []string{
			"stdin:8: File/motd: spec.modes: unknown field; did you mean mode?",
			`stdin:9: File/motd: spec.ensure: Unsupported value: "folder": supported values: "present", "file", "directory", "link", "absent"`,
		}},
		"a relative path": {replaced("/etc/motd", "etc/motd"), []string{"stdin:4: File/motd: spec.path: Invalid value: \"etc/motd\": path must be absolute, such as /etc/motd"}},
		"a long value": {replaced("/etc/motd", strings.Repeat("é", 1000)), []string{
			"stdin:4: File/motd: spec.path: Invalid value: \"" + strings.Repeat("é", 98) + "...\": path must be absolute, such as /etc/motd",
		}},
		"a value that violates its rule": {replaced("content: hello", "source: /a, checksum: md5, checksumValue: "+strings.Repeat("z", 32)), []string{
			"stdin:4: File/motd: spec.checksumValue: Invalid value: \"" + strings.Repeat("z", 32) + "\": checksumValue must be a checksum in hexadecimal digits",
		}},
		"content and target": {replaced("content: hello", "content: hello, target: /x"), []string{
			"stdin:4: File/motd: spec: Invalid value: content, contentTemplate, contentFrom and target are mutually exclusive: set only one",
		}},
		"a number that is too large": {"{apiVersion: fettle.dev/v1alpha1, kind: User, metadata: {name: a}, spec: {nodeSelector: {}, passwordMaxAge: 2147483648}}", []string{
			"stdin:1: User/a: spec.passwordMaxAge: Invalid value: 2147483648: spec.passwordMaxAge in body should be less than or equal to 2147483647",
		}},
		"a duplicate reference": {replaced("content: hello", "require: [File/a, File/a]"), []string{"stdin:4: File/motd: spec.require[1]: Duplicate value: \"File/a\""}},
		"no node selector":      {replaced("nodeSelector: {}, ", ""), []string{"stdin:4: File/motd: spec.nodeSelector: Required value: write nodeSelector: {} for every node, as for a host without a cluster"}},
		"an invalid label": {replaced("name: motd", "name: motd, labels: {a: \"x y\"}"), []string{
			"stdin:3: File/motd: metadata.labels: Invalid value: \"x y\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', " +
				"and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
		}},
		"an invalid name": {replaced("name: motd", "name: Motd_1"), []string{"stdin:3: File/Motd_1: metadata.name: Invalid value: \"Motd_1\": " + nameRule + ": write metadata.name: motd-1"}},
		"a path for a name": {strings.Replace(replaced("name: motd", "name: /etc/motd"), "path: /etc/motd, ", "", 1), []string{
			"stdin:3: File//etc/motd: metadata.name: Invalid value: \"/etc/motd\": " + nameRule + ": write metadata.name: etc-motd and spec.path: /etc/motd",
			"stdin:4: File//etc/motd: spec.path: Required value",
		}},
		"a user for a name": {strings.Replace(group, "kind: Group\nmetadata: {name: web", "kind: User\nmetadata: {name: John_Doe.", 1), []string{
			"stdin:3: User/John_Doe.: metadata.name: Invalid value: \"John_Doe.\": " + nameRule + ": write metadata.name: john-doe and spec.name: John_Doe.",
		}},
		"a title for a name": {strings.Replace(group, "kind: Group\nmetadata: {name: web}\nspec: {", "kind: Exec\nmetadata: {name: Run it}\nspec: {command: \"true\", ", 1), []string{
			"stdin:3: Exec/Run it: metadata.name: Invalid value: \"Run it\": " + nameRule + ": write metadata.name: run-it",
		}},
		"a name without a letter": {strings.Replace(group, "web", "___", 1), []string{"stdin:3: Group/___: metadata.name: Invalid value: \"___\": " + nameRule}},
		"a name of two lines":     {strings.Replace(group, "web", `"a\nB"`, 1), []string{"stdin:3: Group/a\\nB: metadata.name: Invalid value: \"a\\nB\": " + nameRule + ": write metadata.name: a-b"}},
		"a secret": {"apiVersion: fettle.dev/v1alpha1\nkind: User\nmetadata: {name: a}\nspec: {nodeSelector: {}, password: \"hunter2:\"}\n", []string{
			"stdin:4: User/a: spec: Invalid value: password must be a hash as in /etc/shadow, or ! for no password: create one with openssl passwd -6",
		}},
		"an invalid status": {motd + "status: {nodes: 5}\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := in(t, c.in+"\n---\n"+group)
			if diff := cmp.Diff(c.want, faults(s)); diff != "" {
				t.Error(diff)
			}
			if all := names(s); len(all) == 0 || !strings.HasPrefix(all[len(all)-1], "Group/web") {
				t.Errorf("the valid document is missing: %v", all)
			}
			if c.want != nil && slices.ContainsFunc(names(s), func(n string) bool { return strings.HasPrefix(n, "File/motd") }) {
				t.Error("the set contains the invalid document")
			}
		})
	}
}

func TestReadNamesMissingFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "web.yaml")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	all := named(t, file)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	s := manifest.Read(t.Context(), append(all, stdin(motd)...), nil)
	if diff := cmp.Diff([]string{file + ": cannot be read: no such file or directory"}, faults(s)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"File/motd in stdin:1"}, names(s)); diff != "" {
		t.Error(diff)
	}
}

// FuzzRead checks that no input makes the reader panic, that every resource has a name, and that a resource encoded as
// JSON is read back unchanged.
func FuzzRead(f *testing.F) {
	f.Add(motd + "---\n" + group)
	f.Add(`{"kind":"List","items":[{"kind":"List","items":[null]}]}`)
	f.Add("kind: FileList\nitems: [1]\n")
	f.Add("a: &x [*x]\nkind: File\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, d := range in(t, text).Documents {
			if d.Resource.GetName() == "" {
				t.Fatal("a resource without a name")
			}
			raw, err := json.Marshal(d.Resource)
			if err != nil {
				t.Fatal(err)
			}
			again := in(t, string(raw))
			if len(again.Documents) != 1 {
				t.Fatalf("%s is %d resources, %v", raw, len(again.Documents), again.Faults)
			}
			if diff := cmp.Diff(d.Resource, again.Documents[0].Resource); diff != "" {
				t.Errorf("%s (-once +twice):\n%s", raw, diff)
			}
		}
	})
}

func BenchmarkRead(b *testing.B) {
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, "apiVersion: fettle.dev/v1alpha1\nkind: File\nmetadata: {name: file-%d}\nspec:\n  nodeSelector: {}\n  path: /etc/file-%d\n  mode: \"0644\"\n  content: |\n    %s\n---\n",
			i, i, strings.Repeat("x", 1000))
	}
	for name, dir := range map[string]string{"uncached": "", "cached": b.TempDir()} {
		b.Run(name, func(b *testing.B) {
			read := func() *manifest.Cache {
				var cache *manifest.Cache
				if dir != "" {
					cache = manifest.OpenCache(state.NewCache(dir, "manifests"), nil)
				}
				s := manifest.Read(b.Context(), stdin(text.String()), cache)
				if len(s.Documents) != 1000 {
					b.Fatal(len(s.Documents), s.Faults)
				}
				return cache
			}
			if cache := read(); cache != nil {
				if err := cache.Save(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			b.SetBytes(int64(text.Len()))
			for b.Loop() {
				read()
			}
		})
	}
}
