package cli_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers"
)

// policy is the manifest of a RolloutPolicy with further fields.
func policy(name, fields string) string {
	return "apiVersion: fettle.dev/v1alpha1\nkind: RolloutPolicy\nmetadata: {name: " + name + "}\nspec: {nodeSelector: {}" + fields + "}\n---\n"
}

func TestValidate(t *testing.T) {
	for name, c := range map[string]struct {
		in       string
		out, err []string
		code     int
	}{
		"accepts valid manifests": {
			in:  file("a", "path: /etc/a, content: x, require: [File/b]") + file("b", "path: /etc/b, ensure: file"),
			out: []string{"2 resources are valid"},
		},
		"reports each fault once, from schema to references": {
			in: file("a", "path: etc/a, content: x") +
				file("b", "path: /etc/b, require: [File/ghost]") +
				file("c", "path: /etc/c, ensure: file, require: [File/d]") + file("d", "path: /etc/d, ensure: file, require: [File/c]"),
			out: []string{"4 resources, 4 faults"}, code: 1,
			err: []string{
				`stdin:4: File/a: spec.path: Invalid value: "etc/a": path must be absolute, such as /etc/motd`,
				"stdin:9: File/b: require names File/ghost, which does not exist; the node has File/b, File/c, File/d, File/a",
				"stdin:14: File/c: File/c -> File/d -> File/c is a cycle: remove one of these edges",
				"stdin:19: File/d: File/c -> File/d -> File/c is a cycle: remove one of these edges",
			},
		},
		"reports references at their own lines": {
			in: "apiVersion: fettle.dev/v1alpha1\nkind: File\nmetadata: {name: a}\nspec:\n  nodeSelector: {}\n  path: /etc/a\n  ensure: file\n" +
				"  notify:\n  - File/y\n  - Service/nginx\n  before: [File/a]\n" +
				"---\napiVersion: v1\nkind: List\nitems:\n- apiVersion: fettle.dev/v1alpha1\n  kind: File\n  metadata: {name: b}\n" +
				"  spec:\n    nodeSelector: {}\n    path: /etc/b\n    ensure: file\n    require:\n    - File/c\n    - File/z\n" +
				"- apiVersion: fettle.dev/v1alpha1\n  kind: File\n  metadata: {name: c}\n" +
				"  spec:\n    nodeSelector: {}\n    path: /etc/c\n    ensure: file\n    require: [\n      File/b,\n    ]\n",
			out: []string{"3 resources, 6 faults"}, code: 1,
			err: []string{
				"stdin:9: File/a: notify names File/y, which does not exist; the node has File/a, File/b, File/c",
				"stdin:10: File/a: notify names Service/nginx, which does not exist: write SystemService/nginx",
				"stdin:11: File/a: File/a -> File/a is a cycle: remove one of these edges",
				"stdin:24: File/b: File/b -> File/c -> File/b is a cycle: remove one of these edges",
				"stdin:25: File/b: require names File/z, which does not exist; the node has File/a, File/b, File/c",
				"stdin:34: File/c: File/b -> File/c -> File/b is a cycle: remove one of these edges",
			},
		},
		"skips checks that need facts": {
			in:  file("a", `path: /etc/a, contentTemplate: "{{ .facts.os.family }}"`),
			out: []string{"1 resource is valid"},
		},
		"skips checks that need to know the node": {
			in: file("a", `path: /etc/a, contentTemplate: "{{ .node.labels.role }}"`) + file("b", `path: /etc/b, content: x, when: "node.labels.role == 'web'"`) +
				file("c", `path: /etc/c, content: x, when: "node.name == 'a' && [1][1] == 2"`) + file("d", `path: /etc/d, content: x, when: "[1][1] == 2"`),
			out: []string{"4 resources, 1 fault"}, code: 1,
			err: []string{`stdin:16: File/d: when "[1][1] == 2" fails on any node: index out of bounds: 1`},
		},
		"counts resources without a valid kind, version or name": {
			in: file("John_Doe", "path: /etc/a, content: x") + strings.Replace(file("b", "path: /etc/b, ensure: file"), "kind: File", "kind: Fyle", 1) +
				strings.Replace(file("c", "path: /etc/c, ensure: file"), "v1alpha1", "v9", 1) + strings.Replace(file("d", "path: /etc/d, ensure: file"), "name: d, ", "", 1) +
				file("e", "path: /etc/e, ensure: file") + file("e", "path: /etc/e, ensure: file") + "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: 5\n",
			out: []string{"6 resources, 6 faults"}, code: 1,
			err: []string{
				`stdin:3: File/John_Doe: metadata.name: Invalid value: "John_Doe": the name of an object has lower-case letters, digits, - and ., and begins and ends with a letter or digit: write metadata.name: john-doe`,
				"stdin:7: Fyle/b: kind: unknown kind Fyle; did you mean File?",
				"stdin:11: File/c: apiVersion: unknown version fettle.dev/v9; use fettle.dev/v1alpha1",
				"stdin:18: metadata.name: is missing: give this File a name",
				"stdin:34: ConfigMap/web: data: must be an object, not a number",
				"stdin:26: File/e: is already in stdin:21; rename or remove one",
			},
		},
		"checks RolloutPolicies": {
			in: policy("staging", "") + policy("prod", ", after: [staging], first: 5%, soak: 3m") +
				policy("default", ", after: [prd]") + policy("edge", ", after: [other]") + policy("staging", "") +
				policy("a", ", after: [b]") + policy("b", ", after: [c]") + policy("c", ", after: [a]") + policy("d", ", after: [d]"),
			out: []string{"9 resources, 7 faults"}, code: 1,
			err: []string{
				"stdin:21: RolloutPolicy/staging: is already in stdin:1; rename or remove one",
				"stdin:14: RolloutPolicy/default: spec.after: names prd, which does not exist; did you mean prod?",
				"stdin:19: RolloutPolicy/edge: spec.after: names other, which does not exist; there are a, b, c, d, default and 3 more",
				"stdin:26: RolloutPolicy/a: spec.after: a -> b -> c -> a is a cycle: remove one of these names",
				"stdin:31: RolloutPolicy/b: spec.after: a -> b -> c -> a is a cycle: remove one of these names",
				"stdin:36: RolloutPolicy/c: spec.after: a -> b -> c -> a is a cycle: remove one of these names",
				"stdin:41: RolloutPolicy/d: spec.after: d -> d is a cycle: remove one of these names",
			},
		},
		"checks the fields of RolloutPolicies": {
			in:  policy("prod", ", paused: 1, after: [staging]") + policy("edge", ", pause: true") + strings.Replace(policy("x", ""), "name: x", "labels: {}", 1),
			out: []string{"3 resources, 3 faults"}, code: 1,
			err: []string{
				"stdin:4: RolloutPolicy/prod: spec.paused: must be true or false, not a number",
				"stdin:9: RolloutPolicy/edge: spec.pause: unknown field; did you mean paused?",
				"stdin:13: metadata.name: is missing: give this RolloutPolicy a name",
			},
		},
		"ignores other API groups": {
			in: "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n", out: []string{"0 resources are valid"},
			err: []string{"note: ignored Deployment/web in stdin:1, which is not of fettle.dev"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := fettle(t, c.in, "validate", "-f", "-")
			if diff := cmp.Diff(c.out, lines(got.out)); diff != "" {
				t.Errorf("stdout (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.err, lines(got.err)); diff != "" {
				t.Errorf("stderr (-want +got):\n%s", diff)
			}
			if got.code != c.code {
				t.Errorf("exit %d, want %d", got.code, c.code)
			}
		})
	}
}

// validate rejects every file that an API server rejects, with the same message, except for serverWords: the API
// server's messages for wrong types, unknown fields, references and Puppet's values, for which validate has clearer ones.
var serverWords = []struct {
	theirs *regexp.Regexp
	ours   string
}{
	{regexp.MustCompile(`^(\S+): Unsupported value: "(on_failure)"$`), "$1: $2 is Puppet's form"},
	{regexp.MustCompile(`^(spec.ensure): Invalid value: "boolean": .*`), "$1: true is Puppet's form"},
	{regexp.MustCompile(`^is not a kind and a metadata.name.*`), `spec.require[0]: "nginx" names no resource`},
	{regexp.MustCompile(`^(\S+): Invalid value: "\w+": \S+ in body must be of type .*`), "$1: must be "},
	{regexp.MustCompile(`^unknown field "(\S+)"$`), "$1: unknown field"},
}

func TestValidateAgreesWithAPIServer(t *testing.T) {
	const samples = "../../config/samples"
	files, err := filepath.Glob(samples + "/invalid/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	written := providers.Kinds()
	for _, f := range files {
		text := read(t, f)
		head, _, _ := strings.Cut(text, "\n")
		message := strings.TrimPrefix(head, "# error: ")
		if !strings.Contains(text, "\nkind: ExternalType\n") && !strings.Contains(text, "\nkind: RolloutPolicy\n") && !slices.ContainsFunc(written, func(k resource.Kind) bool { return strings.Contains(text, "\nkind: "+k.Name()+"\n") }) {
			message = "unknown kind " // internal kinds of the manager and agents
		}
		for _, w := range serverWords {
			message = w.theirs.ReplaceAllString(message, w.ours)
		}
		got := fettle(t, "", "validate", "-f", f)
		if got.code != 1 || !strings.Contains(got.err, message) || !strings.HasPrefix(got.err, f+":") {
			t.Errorf("%s: exit %d\ngot  %swant %s", f, got.code, got.err, message)
		}
	}
	for _, valid := range []string{samples, samples + "/attributes"} {
		if got := fettle(t, "", "validate", "-f", valid); got.code != 0 || got.err != "" {
			t.Errorf("%s: exit %d, %s", valid, got.code, got.err)
		}
	}
}

func TestValidateForOtherPrograms(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want outcome
	}{
		"faults": {
			file("a", "path: etc/a, content: x") + "a: [\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n",
			outcome{code: 1, out: `{
  "resources": 1,
  "faults": [
    {
      "where": "stdin:4",
      "ref": "File/a",
      "message": "spec.path: Invalid value: \"etc/a\": path must be absolute, such as /etc/motd"
    },
    {
      "where": "stdin",
      "message": "yaml: line 6: did not find expected node content"
    }
  ],
  "ignored": [
    "Deployment/web in stdin:8"
  ]
}
`},
		},
		"none": {file("a", "path: /etc/a, content: x"), outcome{out: "{\n  \"resources\": 1,\n  \"faults\": [],\n  \"ignored\": []\n}\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, fettle(t, c.in, "validate", "-f", "-", "-o", "json"), cmp.AllowUnexported(outcome{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}
