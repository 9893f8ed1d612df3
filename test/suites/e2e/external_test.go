//go:build e2e

package e2e_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/crdbuild"
	"github.com/fettle-dev/fettle/internal/external/definition"
)

// notes is a type in POSIX sh: a note is a file in /srv/notes. It relies on how Fettle writes JSON, which is enough here.
const notes = `
apiVersion: fettle.dev/v1alpha1
kind: ExternalType
metadata: {name: notes}
spec:
  kind: Note
  version: 1.0.0
  description: Manages a note.
  attributes:
  - {name: name, description: Its name., behaviour: Namevar, schema: {type: string, pattern: "^[a-z0-9-]+$"}}
  - {name: text, description: Its text., required: true, schema: {type: string, pattern: "^[a-z ]*$"}}
  providers:
  - {name: files, command: [./notes.sh]}
  source:
    files:
      notes.sh: |
        #!/bin/sh
        # Each resource of a request becomes a line: its name, its ensure and its text.
        resources() { printf '%s\n' "$1" | sed 's/{"name":"/\n/g' | awk -F'"' 'NR > 1 { print $1, $7, $15 }'; }
        while IFS= read -r line; do
          case $line in
          *'"request":"hello"'*) echo '{"answer":"hello","protocol":"Fettle/1"}' ;;
          *'"request":"get"'*)
            resources "$line" | while read -r name ensure text; do
              if [ -f "/srv/notes/$name" ]; then state="{\"name\":\"$name\",\"text\":\"$(cat "/srv/notes/$name")\"}"; else state=null; fi
              echo "{\"answer\":\"get\",\"name\":\"$name\",\"state\":$state}"
            done ;;
          *'"request":"set"'*)
            mkdir -p /srv/notes
            resources "$line" | while read -r name ensure text; do
              if [ "$ensure" = absent ]; then rm -f "/srv/notes/$name"; else printf %s "$text" > "/srv/notes/$name"; fi
              echo "{\"answer\":\"set\",\"name\":\"$name\"}"
            done ;;
          esac
        done
`

// note returns a resource of the type.
func note(text, more string) string {
	return `{apiVersion: types.fettle.dev/v1alpha1, kind: Note, metadata: {name: e2e}, spec: {nodeSelector: {}, properties: {text: ` + text + `}` + more + `}}`
}

// lamps is a Remote type whose lamps are always on.
const lamps = `
apiVersion: fettle.dev/v1alpha1
kind: ExternalType
metadata: {name: lamps}
spec:
  kind: Lamp
  version: 1.0.0
  description: Manages a lamp.
  scope: Remote
  timeoutSeconds: 10
  attributes:
  - {name: name, description: Its name., behaviour: Namevar, schema: {type: string}}
  providers:
  - {name: sh, command: [./lamp.sh]}
  source:
    files:
      lamp.sh: |
        #!/bin/sh
        while IFS= read -r line; do
          case $line in
          *'"request":"hello"'*) echo '{"answer":"hello","protocol":"Fettle/1"}' ;;
          *'"request":"get"'*) echo '{"answer":"get","name":"e2e","state":{"name":"e2e"}}' ;;
          esac
        done
`

// install installs an ExternalType and its definition.
func install(ctx context.Context, manifest string) {
	GinkgoHelper()
	var typ v1alpha1.ExternalType
	Expect(yaml.UnmarshalStrict([]byte(manifest), &typ)).To(Succeed())
	d, err := definition.New(&typ)
	Expect(err).NotTo(HaveOccurred())
	crd, err := crdbuild.Build(d)
	Expect(err).NotTo(HaveOccurred())
	text, err := yaml.Marshal(crd)
	Expect(err).NotTo(HaveOccurred())
	apply(ctx, string(text))
	apply(ctx, manifest)
	kubectl(ctx, "wait", "--for=condition=Established", "crd/"+typ.Name+".types.fettle.dev")
}

var _ = Describe("A type of the user", func() {
	It("has one acting node for what is not a node, and another one when that goes away", Label("external"), func(ctx SpecContext) {
		install(ctx, lamps)
		for _, n := range c.Nodes() {
			kubectl(ctx, "label", "node", n.Name, "lamp=yes")
			DeferCleanup(func(ctx SpecContext) { kubectl(ctx, "label", "node", n.Name, "lamp-") })
		}
		apply(ctx, `{apiVersion: types.fettle.dev/v1alpha1, kind: Lamp, metadata: {name: e2e}, spec: {nodeSelector: {matchLabels: {lamp: "yes"}}}}`)
		ready(ctx, "lamp/e2e", "externaltype/lamps")
		acting := func() string { return kubectl(ctx, "get", "lamp", "e2e", "-o", "jsonpath={.status.actingNode}") }
		first := acting()
		Expect(first).NotTo(BeEmpty())
		kubectl(ctx, "label", "node", first, "lamp-")
		Eventually(acting).WithContext(ctx).Should(And(Not(BeEmpty()), Not(Equal(first))))
		ready(ctx, "lamp/e2e")
	}, NodeTimeout(4*soon))

	It("is installed in a running cluster, and manages resources like a built-in one", Label("external"), func(ctx SpecContext) {
		install(ctx, notes)
		apply(ctx, note("hello", ", deletionPolicy: Delete"))
		ready(ctx, "note/e2e", "externaltype/notes")
		for _, n := range c.Nodes() {
			Expect(on(ctx, n.Name, "cat /srv/notes/e2e")).To(Equal("hello"))
		}
		Expect(kubectl(ctx, "explain", "note.spec.properties.text")).To(ContainSubstring("Its text."))

		Expect(c.Apply(ctx, note("goodbye", ", deletionPolicy: Delete"))).To(Succeed())
		Eventually(func() string { return on(ctx, node, "cat /srv/notes/e2e") }).WithContext(ctx).Should(Equal("goodbye"))
		Expect(c.Apply(ctx, note("goodbye", ", deletionPolicy: Delete, require: [File/e2e-unheard-of]"))).To(Succeed())
		Eventually(func() string {
			return kubectl(ctx, "get", "note", "e2e", "-o", "jsonpath={.status.conditions[?(@.type=='Ready')].message}")
		}).WithContext(ctx).Should(ContainSubstring("File/e2e-unheard-of"))
		Expect(c.Apply(ctx, note("goodbye", ", deletionPolicy: Delete, require: null"))).To(Succeed())
		kubectl(ctx, "delete", "note", "e2e", "--timeout=1m")
		Expect(on(ctx, node, "ls /srv/notes")).To(BeEmpty())
	}, NodeTimeout(4*soon))
})
