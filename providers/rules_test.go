package providers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/config/crd"
	"github.com/fettle-dev/fettle/internal/cli/objects"
	"github.com/fettle-dev/fettle/internal/manifest"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/source"
	"github.com/fettle-dev/fettle/providers"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// repeated lists the violations of schemas that types refuse as well. An agent binds the entries of a catalog without the schema, so
// a type repeats a rule if its violation is dangerous on a host, or if a provider can't act without it. The reason is beside each
// check. Any other rule stands only in the schema, with two exceptions: all types refuse words that their schema does not list (see
// TestTypesRejectValuesThatTheirCRDDoesNotList), and any type may refuse a namevar, which becomes a part of paths and commands.
var repeated = []string{
	// The words of a command line, which a schema can't split.
	"Exec.command: minLength", "Exec.onlyIf: items.minLength", "Exec.refresh: minLength", "Exec.unless: items.minLength", "exec-without-command",
	"SystemService.restart: minLength", "SystemService.start: minLength", "SystemService.status: minLength", "SystemService.stop: minLength",
	"file-validate-inside-a-word", "file-validate-without-file",

	// Values with a grammar that no schema can express in full.
	"exec-pause-too-long", "file-mode-unreadable", "package-range-of-three", "sshauthorizedkey-key-with-comment", "user-expiry-timestamp", "user-expiry-unreadable",

	// Values that may come from Secrets.
	"user-locked-twice", "user-password-empty", "user-password-plain", "user-password-with-colon",

	// Paths that leave a directory, or that differ from what their name says.
	"file-backup-unknown", "file-sources-relative", "tidy-path-relative", "user-home-relative", "user-shell-relative",

	// Values that become an option of a tool, or another line or field of a file.
	"package-source-no-deb", "sshauthorizedkey-options-in-one", "user-comment-with-colon",

	// The loss of data, or of what a host needs.
	"file-ignore-path", "file-system-directory-purged", "file-system-directory-removed", "purge-of-all-users", "purge-without-exception", "tidy-system-directory",
	"user-root-removed", "user-superuser-removed",

	// Content or secrets that others can change or read on their way.
	"file-checksum-value-in-base64", "file-checksum-value-short", "file-source-plain-http", "file-source-plain-http-lite", "file-source-with-password",

	// What a provider can't do without.
	"file-link-without-target", "sshauthorizedkey-without-key",

	// Samples that also violate a rule that only the type has.
	"exec-args-with-shell", "exec-provider-shell", "file-two-cas",
}

// A violation is a resource that violates the schema of its kind.
type violation struct {
	name    string // of the sample, or of the attribute and the keyword of the schema
	doc     map[string]any
	tooLong bool // a long value that a type refuses for other reasons, if at all
}

// Rules stand once. A manifest and the words of fettle resource meet the schema first, and most types have nothing to add.
func TestSchemaRefusesBeforeTypes(t *testing.T) {
	kinds := kindsByName()
	var refused []string
	for _, v := range violations(t) {
		kind := kinds[v.doc["kind"].(string)]
		want := fault(t, v)
		if want == "" {
			t.Errorf("%s: a manifest of it is accepted", v.name)
			continue
		}
		attributes, whole := attributesOf(t, v)
		ref := resource.Ref{Kind: kind.Name(), Name: "a"}
		if whole {
			_, err := objects.Bind(t.Context(), manifest.Types{}, kind, resource.Item{Ref: ref}, attributes)
			if err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(want, "spec.")) {
				t.Errorf("%s: fettle resource answers %v, and a manifest gets %s", v.name, err, want)
			}
		}
		_, err := kind.Bind(ref, attributes)
		if isRepetition(err) && !v.tooLong && !strings.HasPrefix(want, "spec."+kind.NamevarName()+":") {
			refused = append(refused, v.name)
			t.Logf("%s\n  schema: %s\n  type:   %v", v.name, want, err)
		}
	}
	slices.Sort(refused)
	for _, name := range refused {
		if !slices.Contains(repeated, name) {
			t.Errorf("the type repeats a rule of the schema: %s: remove it, or list it as dangerous", name)
		}
	}
	for _, name := range repeated {
		if !slices.Contains(refused, name) {
			t.Errorf("the type does not refuse %s: an agent would act on it", name)
		}
	}
}

func kindsByName() map[string]resource.Kind {
	all := map[string]resource.Kind{}
	for _, k := range providers.Kinds() {
		all[k.Name()] = k
	}
	return all
}

// isRepetition reports whether an error of Bind is more than that a value has another Go type, or that its word is unknown.
func isRepetition(err error) bool {
	_, mistyped := errors.AsType[*json.UnmarshalTypeError](err)
	return err != nil && !mistyped && !strings.Contains(err.Error(), " is not known: use ")
}

// Entries of a catalog that no schema has accepted fail, or do what they say, but their providers neither panic nor hang.
func TestProvidersSurviveInvalidCatalogs(t *testing.T) {
	m := machine(t, debian.Root(t))
	for _, v := range violations(t) {
		attributes, _ := attributesOf(t, v)
		for _, m.Noop = range []bool{true, false} {
			for _, line := range m.Apply(t, fmt.Sprintf("%s/a %s", v.doc["kind"], attributes)) {
				if strings.Contains(line, "bug in the provider") {
					t.Errorf("%s: %s", v.name, line)
				}
			}
		}
	}
}

// violations returns the invalid samples, which have one for each CEL rule, and one violation for each other keyword of each
// attribute.
func violations(t *testing.T) []violation {
	t.Helper()
	var all []violation
	bases := map[string]map[string]any{}
	for _, file := range globbed(t, "../config/samples/*.yaml") {
		for _, doc := range documentsOf(t, file) {
			if kind, _ := doc["kind"].(string); bases[kind] == nil {
				bases[kind] = doc
			}
		}
	}
	for _, k := range providers.Kinds() {
		c, err := crd.Of(k.Name())
		if err != nil {
			t.Fatal(err)
		}
		spec := c.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		for _, at := range slices.Sorted(maps.Keys(spec.Properties)) {
			if !isAttribute(k, at) {
				continue
			}
			for keyword, value := range wrong(spec.Properties[at]) {
				name := fmt.Sprintf("%s.%s: %s", k.Name(), at, keyword)
				all = append(all, violation{name, with(t, bases[k.Name()], at, value), strings.Contains(keyword, "max") && keyword != "maximum"})
			}
		}
	}
	for _, file := range globbed(t, "../config/samples/invalid/*.yaml") {
		for _, doc := range documentsOf(t, file) {
			if kind, _ := doc["kind"].(string); bases[kind] != nil && v1alpha1.NewResource(kind) != nil {
				all = append(all, violation{strings.TrimSuffix(filepath.Base(file), ".yaml"), doc, false})
			}
		}
	}
	slices.SortFunc(all, func(a, b violation) int { return strings.Compare(a.name, b.name) })
	return all
}

func isAttribute(k resource.Kind, name string) bool {
	return slices.ContainsFunc(k.Describe().Attributes, func(a resource.AttributeDoc) bool { return a.Name == name && !a.ReadOnly })
}

// wrong returns a value for each keyword of a schema that it violates.
func wrong(s apiextensionsv1.JSONSchemaProps) map[string]any {
	all := map[string]any{}
	if len(s.Enum) > 0 {
		all["enum"] = "no-such-word"
	}
	if s.Pattern != "" {
		all["pattern"] = "\n"
	}
	if s.MinLength != nil {
		all["minLength"] = ""
	}
	if s.MaxLength != nil && !s.XIntOrString {
		all["maxLength"] = "/" + strings.Repeat("a", int(*s.MaxLength))
	}
	if s.Minimum != nil {
		all["minimum"] = *s.Minimum - 1
	}
	if s.Maximum != nil {
		all["maximum"] = *s.Maximum + 1
	}
	if s.MinItems != nil {
		all["minItems"] = []any{}
	}
	if s.MaxItems != nil {
		all["maxItems"] = slices.Repeat([]any{"/a"}, int(*s.MaxItems)+1)
	}
	if s.Items != nil {
		for keyword, value := range wrong(*s.Items.Schema) {
			all["items."+keyword] = []any{value}
		}
	}
	return all
}

// fault returns why a manifest is refused, without the place: for its namevar, if that is a reason. It is "" if it is accepted.
func fault(t *testing.T, v violation) string {
	t.Helper()
	raw, err := json.Marshal(v.doc)
	if err != nil {
		t.Fatal(err)
	}
	read := func(context.Context) ([]byte, error) { return raw, nil }
	set := manifest.Read(t.Context(), []source.Source{{Name: "stdin", Read: read}}, nil)
	for _, f := range set.Faults {
		if kind := v.doc["kind"].(string); strings.HasPrefix(f.Message, "spec."+kindsByName()[kind].NamevarName()+":") {
			return f.Message
		}
	}
	if len(set.Faults) == 0 {
		return ""
	}
	return set.Faults[0].Message
}

// attributesOf returns the attributes of a resource, as an entry of a catalog has them. whole is false if its spec has anything else,
// which no words of fettle resource can set.
func attributesOf(t *testing.T, v violation) (attributes json.RawMessage, whole bool) {
	t.Helper()
	kind := v.doc["kind"].(string)
	spec, _ := v.doc["spec"].(map[string]any)
	all := map[string]any{}
	whole = spec["nodeSelector"] != nil
	for name, value := range spec {
		switch {
		case isAttribute(kindsByName()[kind], name):
			all[name] = value
		case name != "nodeSelector" || len(value.(map[string]any)) > 0:
			whole = false
		}
	}
	raw, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return raw, whole
}

func with(t *testing.T, base map[string]any, attribute string, value any) map[string]any {
	t.Helper()
	raw, err := json.Marshal(base)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	doc["metadata"] = map[string]any{"name": "a"}
	spec := doc["spec"].(map[string]any)
	spec["nodeSelector"] = map[string]any{}
	spec[attribute] = value
	return doc
}

func globbed(t *testing.T, pattern string) []string {
	t.Helper()
	all, err := filepath.Glob(pattern)
	if err != nil || len(all) == 0 {
		t.Fatalf("%s: %v", pattern, err)
	}
	return all
}

func documentsOf(t *testing.T, file string) []map[string]any {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]any
	for part := range strings.SplitSeq("\n"+string(text), "\n---") {
		var doc map[string]any
		if err := yaml.Unmarshal([]byte(part), &doc); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, doc)
	}
	return all
}
