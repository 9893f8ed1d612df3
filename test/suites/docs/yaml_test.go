package docs_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// validate checks the YAML of pages: strictly decoded, by a real API server, and by fettle.
func (c *cluster) validate(t *testing.T, all []page) {
	t.Helper()
	for _, p := range all {
		var blocks []block
		var texts []string
		for _, b := range p.blocks {
			_, marked := b.notRun()
			switch {
			case marked || b.language != "yaml":
			case strings.Contains(b.text, "apiVersion: kustomize.config.k8s.io/"):
				if b.directives["file"] == "" {
					t.Errorf("%s:%d: save the kustomization, and build it in a command", b.page, b.line)
				}
			default:
				blocks, texts = append(blocks, b), append(texts, b.text)
			}
		}
		if len(blocks) == 0 {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			// Strict validation rejects unknown and repeated fields. As a dry run, blocks may have the same names.
			if out, err := c.run(t, strings.Join(texts, "---\n"), c.kubectl, "apply", "--dry-run=server", "--validate=strict", "-f", "-"); err != nil {
				t.Errorf("%s: the API server rejects a block: %s", p.name, out)
			}
			for _, b := range blocks {
				c.validateBlock(t, b)
			}
		})
	}
}

func (c *cluster) validateBlock(t *testing.T, b block) {
	t.Helper()
	for doc := range strings.SplitSeq("\n"+b.text, "\n---\n") {
		var object map[string]any
		if err := yaml.UnmarshalStrict([]byte(doc), &object); err != nil {
			t.Errorf("%s:%d: %v", b.page, b.line, err)
		}
	}
	if !strings.Contains(b.text, "apiVersion: fettle.dev/") {
		return
	}
	args := []string{c.fettle, "validate", "-f", "-"}
	for name := range strings.FieldsSeq(b.directives["with"]) {
		args = append(args, "-f", name)
	}
	if out, err := c.run(t, b.text, args...); err != nil {
		t.Errorf("%s:%d: fettle validate: %s", b.page, b.line, out)
	}
}
