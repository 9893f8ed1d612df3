package manifest_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/internal/manifest"
)

const inPlainStyle = `apiVersion: fettle.dev/v1alpha1
kind: File
metadata:
  name: motd
spec:
  nodeSelector: {}
  path: /etc/motd

  mode: "0644"
  owner: 33
  replace: true
  content: |
    Say "hello" \ {x: y} # no comment
      - indented

    last

  group: www-data
`

func TestPlainStyleNeedsNoParserOfAllYAML(t *testing.T) {
	raw, ok := manifest.Plain([]byte(inPlainStyle))
	want := `{"apiVersion":"fettle.dev/v1alpha1","kind":"File","metadata":{"name":"motd"},"spec":{"nodeSelector":{},"path":"/etc/motd","mode":"0644",` +
		`"owner":33,"replace":true,"content":"Say \"hello\" \\ {x: y} # no comment\n  - indented\n\nlast\n","group":"www-data"}}`
	if diff := cmp.Diff(want, string(raw)); diff != "" || !ok {
		t.Error(diff, ok)
	}
}

// FuzzPlain holds the quick reader to the one of all YAML.
func FuzzPlain(f *testing.F) {
	f.Add(inPlainStyle)
	f.Add("a: |\n  x\n   \n  y\nb: |\n\n  x\nc: yes\n")
	f.Add("a: |\n    x\n  y\n")
	f.Add("a: b\n  c\nd:\n  e: 0644\n f: 1\n")
	f.Add("a: |\n  x\n\n\n")
	f.Add("a:\n  b: 1\n  b: 2\n")
	f.Add("\n")
	f.Add("a: 0\n \n0\n")
	f.Add("a: |\n 0\n \n\n")
	f.Add("a:\n- b\n- c: \"d\" \n")
	f.Add("a: |\n --- \nb: x y/z\n--- \n")
	f.Fuzz(func(t *testing.T, in string) {
		raw, ok := manifest.Plain([]byte(in))
		if !ok {
			return
		}
		want, err := yaml.YAMLToJSONStrict([]byte(in))
		if err != nil {
			t.Fatalf("%q is no YAML: %v; taken for %s", in, err, raw)
		}
		if diff := cmp.Diff(value(t, want), value(t, raw)); diff != "" {
			t.Errorf("%q: %s", in, diff)
		}
	})
}

// value is JSON without the order of its keys.
func value(t *testing.T, raw []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return v
}
