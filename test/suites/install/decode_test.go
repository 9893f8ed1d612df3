package install_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	yamlv3 "go.yaml.in/yaml/v3"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
)

const root = "../../.."

// A document is one YAML document of a sample, an example or a page.
type document struct{ source, text string }

// id is the kind and the name of a document.
func (d document) id() string {
	var o struct {
		Kind     string
		Metadata struct{ Name, Namespace string }
	}
	_ = yaml.Unmarshal([]byte(d.text), &o) // decoders report it
	return o.Kind + " " + o.Metadata.Namespace + "/" + o.Metadata.Name
}

var (
	block     = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")
	separator = regexp.MustCompile(`(?m)^---$`)
)

// documents returns all objects in samples, examples and pages. A kustomization is not an object.
func documents(t *testing.T) []document {
	t.Helper()
	var all []document
	add := func(source, text string) {
		for _, part := range separator.Split(text, -1) {
			if strings.Contains(part, "apiVersion:") && !strings.Contains(part, "apiVersion: kustomize.config.k8s.io/") {
				all = append(all, document{source, part})
			}
		}
	}
	for _, pattern := range []string{"config/samples/*.yaml", "config/samples/attributes/*.yaml", "providers/*/example.yaml", "README.md", "docs/*.md", "docs/*/*.md", "providers/*/doc.md"} {
		names, err := fs.Glob(os.DirFS(root), pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v, %v", pattern, names, err)
		}
		for _, name := range names {
			text, err := os.ReadFile(filepath.Join(root, name))
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Ext(name) == ".yaml" {
				add(name, string(text))
				continue
			}
			for _, m := range block.FindAllStringSubmatch(string(text), -1) {
				add(name, m[1])
			}
		}
	}
	return all
}

// decode decodes a document like kubectl, Helm and Flux.
func decode(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := yaml.UnmarshalStrict([]byte(text), &v); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	return v
}

func TestDecodersAgreeOnSamplesAndDocs(t *testing.T) {
	t.Parallel()
	decoders := map[string]func(text []byte, into *any) error{
		"kubectl apply -f": func(text []byte, into *any) error {
			return utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096).Decode(into)
		},
		"YAML 1.2, as in kustomize": func(text []byte, into *any) error {
			var v any
			if err := yamlv3.Unmarshal(text, &v); err != nil {
				return err
			}
			encoded, err := json.Marshal(v)
			if err != nil {
				return err
			}
			return json.Unmarshal(encoded, into)
		},
	}
	for _, d := range documents(t) {
		want := decode(t, d.text)
		for name, decoder := range decoders {
			var got any
			if err := decoder([]byte(d.text), &got); err != nil {
				t.Errorf("%s: %s: %v", d.source, name, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s reads something else; quote the value:\n%s", d.source, name, diff)
			}
		}
	}
}

func TestKustomizeChangesNothingInSamplesAndDocs(t *testing.T) {
	t.Parallel()
	for _, group := range distinct(documents(t)) {
		got := map[string]any{}
		for _, part := range separator.Split(kustomize(t, group), -1) {
			got[document{text: part}.id()] = decode(t, part)
		}
		for _, d := range group {
			if diff := cmp.Diff(decode(t, d.text), got[d.id()]); diff != "" {
				t.Errorf("%s: %s:\n%s", d.source, d.id(), diff)
			}
		}
	}
}

// distinct groups documents so that no group has two of the same name.
func distinct(all []document) []map[string]document {
	var groups []map[string]document
next:
	for _, d := range all {
		for _, g := range groups {
			if _, taken := g[d.id()]; !taken {
				g[d.id()] = d
				continue next
			}
		}
		groups = append(groups, map[string]document{d.id(): d})
	}
	return groups
}

// kustomize returns the output of kubectl kustomize for documents.
func kustomize(t *testing.T, group map[string]document) string {
	t.Helper()
	dir, list := t.TempDir(), "resources:\n"
	n := 0
	for _, d := range group {
		name := fmt.Sprintf("%d.yaml", n)
		n++
		list += "- " + name + "\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(d.text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	assets, err := controlplane.Assets()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(assets, "kubectl"), "kustomize", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl kustomize: %v\n%s", err, out)
	}
	return string(out)
}
