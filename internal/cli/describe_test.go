package cli_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/cli"
	"github.com/fettle-dev/fettle/internal/cli/program"
	"github.com/fettle-dev/fettle/providers"
)

func TestDescribeReportsProviderSuitability(t *testing.T) {
	root := emptyRoot(t)
	all := fettle(t, "", "describe", "--root", root)
	words := strings.Join(strings.Fields(all.out), " ") // column widths depend on the longest name
	if !strings.Contains(words, "File posix A file, a directory or a symlink.") ||
		!strings.Contains(words, "Package none suitable Software packages") {
		t.Error(all.out, all.err)
	}
	if n := len(lines(all.out)); n != len(providers.Kinds())+1 {
		t.Errorf("%d lines, want one for each kind:\n%s", n, all.out)
	}
	for kind, parts := range map[string][]string{
		"packages": {
			"apt does not work on this host: the command apt-get is not installed; ", "kind: Package",
			"commands: apt-get, apt-cache, dpkg default where os.family is Debian features: installable, ",
			" mark property: string; one of hold, none hold holds the package at its version, none releases it. Needs the feature holdable. ",
			" purgeable Packages can be removed together with their configuration",
		},
		"file": {" path namevar: string; required ", " mode property: string ", " force parameter: boolean ", " ctime audited ", " posix is this host's default"},
	} {
		one := fettle(t, "", "describe", kind, "--root", root)
		words := strings.Join(strings.Fields(one.out), " ")
		for _, want := range parts {
			if !strings.Contains(words, want) {
				t.Errorf("%q is not in\n%s%s", want, one.out, one.err)
			}
		}
	}
	service := fettle(t, "", "describe", "systemservice", "--root", root)
	if !strings.Contains(service.out, "commands: update-rc.d\n    files: /etc/init.d\n    default where init is init\n") {
		t.Error(service.out, service.err)
	}
	var kinds []string
	for _, k := range providers.Kinds() {
		kinds = append(kinds, k.Name())
	}
	unknown := fettle(t, "", "describe", "nothing", "--root", root)
	if diff := cmp.Diff([]string{`fettle: unknown kind "nothing": use one of ` + strings.Join(kinds, ", ")}, lines(unknown.err)); diff != "" {
		t.Error(diff)
	}
}

func TestUnknownKindsGetSuggestions(t *testing.T) {
	root, types := emptyRoot(t), t.TempDir()
	put(t, filepath.Join(types, "type.yaml"), sampleType)
	for command, want := range map[string]string{
		"describe fil":      `unknown kind "fil"; did you mean File?`,
		"describe pakage":   `unknown kind "pakage"; did you mean Package?`,
		"describe service":  `unknown kind "service"; Puppet's service is SystemService: Kubernetes has a Service`,
		"resource fil /etc": `unknown kind "fil"; did you mean File?`,
		"resource cron":     `unknown kind "cron"; Puppet's cron does not exist here: use a File in /etc/cron.d, or Files for a systemd timer`,
		"describe sampl":    `unknown kind "sampl"; did you mean Sample?`,
	} {
		got := fettle(t, "", append(strings.Fields(command), "--root", root, "--types-dir", types)...)
		if diff := cmp.Diff([]string{"fettle: " + want}, lines(got.err)); diff != "" || got.code != 1 {
			t.Errorf("%s: exit %d, %s", command, got.code, diff)
		}
	}
}

func TestDescriptionsBeginWithTheAttributesAndEndWithTheProviders(t *testing.T) {
	root, types := emptyRoot(t), t.TempDir()
	put(t, filepath.Join(types, "type.yaml"), sampleType)
	for kind, want := range map[string][]string{
		"file": {
			"A file, a directory or a symlink.", "ATTRIBUTES (path is the namevar)", "VALUE SOURCES", "FIELDS OF ALL KINDS", "DESCRIPTION", "EXAMPLE", "FEATURES", "PROVIDERS",
		},
		"notify": {
			"A message in the report of a run.", "ATTRIBUTES (metadata.name is the namevar)", "FIELDS OF ALL KINDS", "DESCRIPTION", "EXAMPLE", "PROVIDERS",
		},
		"sample": {"A sample.", "ATTRIBUTES (name is the namevar)", "VALUE SOURCES", "FIELDS OF ALL KINDS", "DESCRIPTION", "EXAMPLE", "PROVIDERS"},
	} {
		var got []string
		for _, line := range lines(fettle(t, "", "describe", kind, "--root", root, "--types-dir", types).out) {
			if line != "" && !strings.HasPrefix(line, " ") {
				got = append(got, line)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
	}
}

func TestDescriptionsHaveRelationsAndValueSources(t *testing.T) {
	root, types := emptyRoot(t), t.TempDir()
	put(t, filepath.Join(types, "type.yaml"), sampleType)
	for kind, parts := range map[string][]string{
		"file": {
			"\nVALUE SOURCES\n  caFrom\n      object\n      References a ConfigMap or Secret with the certificates of `ca`. A change\n      of that object is applied to the nodes.\n  contentFrom\n      object\n",
			"\nFIELDS OF ALL KINDS\n  require\n      list of string\n      Lists resources that are applied before this one.\n  before\n",
			"  nodeSelector\n      object; required\n",
		},
		"user":   {"  password\n      property: string; sensitive\n", "  passwordFrom\n      object\n"},
		"exec":   {"  environmentFrom\n      list of object\n      Environment variables with values from Secrets. The values are encrypted\n      for each node, and redacted in the command's output.\n"},
		"sample": {"  size\n      property: integer; immutable\n      Its size.\n", "\nVALUE SOURCES\n  propertiesFrom\n      list of object\n", "\nFIELDS OF ALL KINDS\n  require\n"},
	} {
		one := fettle(t, "", "describe", kind, "--root", root, "--types-dir", types)
		for _, part := range parts {
			if !strings.Contains(one.out, part) {
				t.Errorf("%q is not in\n%s%s", part, one.out, one.err)
			}
		}
	}
}

func TestDescriptionsAreWrappedToTheTerminal(t *testing.T) {
	root := emptyRoot(t)
	for width, want := range map[int]int{0: 80, 60: 60, 120: 120} {
		one := invoke(t, cli.Options{Streams: program.Streams{Width: width}}, []string{"describe", "user", "--root", root})
		prose, _, _ := strings.Cut(one.out, "\nEXAMPLE")
		longest := 0
		for _, line := range lines(prose) {
			if !strings.HasPrefix(strings.TrimSpace(line), "|") { // tables stay as they are
				longest = max(longest, len([]rune(line)))
			}
		}
		if longest > want || longest < want-10 {
			t.Errorf("%d columns: the longest line has %d characters", width, longest)
		}
	}
}

// sampleType is an external type with attributes of several kinds.
const sampleType = `apiVersion: fettle.dev/v1alpha1
kind: ExternalType
metadata: {name: samples}
spec:
  kind: Sample
  version: "1"
  description: |-
    A sample.

    It has much to say.
  attributes:
  - {name: name, description: Its name., behaviour: Namevar, schema: {type: string}}
  - {name: size, description: Its size., behaviour: InitOnly, schema: {type: integer}}
  - {name: key, description: A key., behaviour: Parameter, sensitive: true, schema: {type: string}}
  providers:
  - {name: plain, description: The usual one., command: ["true"]}
  source: {hostPath: /opt/sample}
`

func TestFactsPrintsRequestedFacts(t *testing.T) {
	root := emptyRoot(t)
	put(t, filepath.Join(root, "etc/os-release"), "ID=debian\nVERSION_ID=\"12\"\n")
	for query, want := range map[string][]string{
		"os.family":         {"Debian"},
		"os.release.major":  {"12"},
		"os.release -ojson": {"{", `  "full": "12",`, `  "major": "12"`, "}"},
	} {
		got := fettle(t, "", append([]string{"facts", "--root", root}, strings.Fields(query)...)...)
		if diff := cmp.Diff(want, lines(got.out)); diff != "" {
			t.Errorf("%s: %s%s", query, diff, got.err)
		}
	}
	var all map[string]any
	if err := json.Unmarshal([]byte(fettle(t, "", "facts", "-ojson", "--root", root).out), &all); err != nil || all["kernel"] != "Linux" {
		t.Errorf("all facts are %v, %v", all, err)
	}
	if got := fettle(t, "", "facts", "no.such", "--root", root); got.code != 1 || !strings.Contains(got.err, `there is no fact "no.such"`) {
		t.Error(got)
	}
}

func TestInvalidRootIsRejected(t *testing.T) {
	got := fettle(t, "", "facts", "--root", "/no/such/dir")
	if diff := cmp.Diff([]string{"fettle: --root /no/such/dir is not a directory"}, lines(got.err)); diff != "" {
		t.Error(diff)
	}
}

func TestDescribeShowsWhatAttributesOfExternalTypesAccept(t *testing.T) {
	root, types := emptyRoot(t), t.TempDir()
	put(t, filepath.Join(types, "type.yaml"), `apiVersion: fettle.dev/v1alpha1
kind: ExternalType
metadata: {name: samples}
spec:
  kind: Sample
  version: "1"
  description: A sample.
  attributes:
  - {name: name, description: Its name., behaviour: Namevar, schema: {type: string}}
  - {name: level, description: "How\nloud.", required: true, schema: {type: [integer, "null"], enum: [1, 2, null]}}
  - {name: words, description: Words., default: "['a']", schema: {type: array, items: {type: [string, boolean]}}}
  - {name: sizes, description: Sizes., schema: {type: object, additionalProperties: {x-kubernetes-int-or-string: true}}}
  - {name: key, description: A key., behaviour: Parameter, sensitive: true, schema: {type: string}}
  - {name: seen, description: When., behaviour: ReadOnly, schema: {}}
  providers:
  - name: plain
    description: The usual one.
    command: ["true"]
    needs:
      files: [/etc/passwd]
      not: {files: [/etc/nologin, /etc/passwd], facts: {kernel: [Plan9]}, commands: [sampled]}
  source: {hostPath: /opt/sample}
`)
	one := fettle(t, "", "describe", "sample", "--root", root, "--types-dir", types)
	for _, want := range []string{
		"  name\n      namevar: string; default: metadata.name\n      Its name.\n", "  level\n      property: integer or null; one of 1, 2, null; required\n      How loud.\n",
		"  words\n      property: list of string or boolean; default: ['a']\n", "  sizes\n      property: map of string or integer\n",
		"  key\n      parameter: string; sensitive\n", "  seen\n      audited: any\n", "  plain does not work on this host: the file /etc/passwd is there\n    The usual one.\n    files: /etc/passwd\n",
		"    without the commands: sampled\n    without the files: /etc/nologin, /etc/passwd\n    not where kernel is Plan9\n",
	} {
		if !strings.Contains(one.out, want) {
			t.Errorf("%q is not in\n%s%s", want, one.out, one.err)
		}
	}
}
