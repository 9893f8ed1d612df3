package dsc_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// buildShelves builds the type of an adapted resource whose adapter takes a kind of configuration.
func (f fixture) buildShelves(t *testing.T, kind string) string {
	t.Helper()
	for _, name := range []string{"shelf.dsc.adaptedResource.yaml", "shelf.fettle.yaml", "shelves.dsc.resource.json", "shelves.py"} {
		text := readFile(t, fixtures+"shelves/"+name)
		writeFile(t, filepath.Join(f.dir, name), strings.ReplaceAll(text, `"full"`, `"`+kind+`"`))
	}
	program := filepath.Join(f.dir, "shelves.py")
	writeFile(t, program, readFile(t, fixtures+"shelves/shelves.py"))
	return f.build(t, filepath.Join(f.dir, "shelf.dsc.adaptedResource.yaml"))
}

func TestAdapterThatTakesAConfiguration(t *testing.T) {
	for _, kind := range []string{"full", "sequence"} {
		t.Run(kind, func(t *testing.T) {
			f := newFixture(t)
			types := f.buildShelves(t, kind)
			web := `Shelf/web {properties: {Name: Web, Colour: Red, Books: [{title: A, pages: 3}, {title: B}]}}`
			restart := "output: restart required: the service shelfd"
			equal(t, []string{"Shelf/db: created", "Shelf/db: " + restart, "Shelf/web: created", "Shelf/web: " + restart}, slices.Sorted(slices.Values(f.apply(t, types, web, `Shelf/db {}`))))
			equal(t, []string(nil), f.apply(t, types, web, `Shelf/db {}`))
			equal(t, []string{"Shelf/web: " + restart, "Shelf/web: Colour changed RED to Green"}, f.apply(t, types, strings.Replace(web, "Red", "Green", 1), `Shelf/db {}`))
			equal(t, []string(nil), f.apply(t, types, strings.NewReplacer("Red", "Green", "Web,", "wEB,").Replace(web)))
			equal(t, []string(nil), f.apply(t, types, `Shelf/web {properties: {Colour: Green, Books: [], validationMode: resource}}`))
			equal(t, []string{"Shelf/invalid: cannot be applied: the resource says that its desired state is invalid: the name is invalid"}, f.plan(t, types, `Shelf/invalid {}`))
			equal(t, []string{"Shelf/db: removed"}, f.apply(t, types, `Shelf/db {ensure: absent}`))
			equal(t, []string(nil), f.apply(t, types, `Shelf/db {ensure: absent}`))
		})
	}
}

func TestResourceThatItsAdapterCannotReadFailsNoOther(t *testing.T) {
	f := newFixture(t)
	types := f.buildShelves(t, "full")
	equal(t, []string{"Shelf/poison: cannot read the present state: get: the command exited with 1: poison cannot be read"},
		f.plan(t, types, `Shelf/a {ensure: absent}`, `Shelf/b {ensure: absent}`, `Shelf/poison {}`, `Shelf/c {ensure: absent}`))
}

func TestPurgeSparesResourcesOfAnAdapterInAnyCase(t *testing.T) {
	f := newFixture(t)
	types := f.buildShelves(t, "full")
	f.apply(t, types, `Shelf/web {}`, `Shelf/db {}`)
	purge := "apiVersion: fettle.dev/v1alpha1\nkind: Purge\nmetadata: {name: p}\nspec: {nodeSelector: {}, kind: Shelf, confirm: Shelf}\n---\n"
	writeFile(t, f.dir+"/purge.yaml", purge+manifests([]string{`Shelf/web {properties: {Name: wEb}}`})[0])
	out, messages, code := f.run(t, "apply", "--root", f.root, "-f", types, "-f", f.dir+"/purge.yaml")
	if code != 0 || strings.Count(out, ": removed\n") != 1 || !strings.HasPrefix(strings.ToLower(out), "shelf/db: ") {
		t.Errorf("exit %d, %s\n%s", code, messages, out)
	}
	entries, err := os.ReadDir(f.root + "/var/lib/dsctest/shelves")
	if err != nil || len(entries) != 1 || entries[0].Name() != "web" {
		t.Errorf("%v: %v", entries, err)
	}
}

func TestAdapterGetsSecretsOnStdinAndIsNamedInDebugLogs(t *testing.T) {
	f := newFixture(t)
	types := f.buildShelves(t, "full")
	const marker = "s3cret-marker"
	file := f.dir + "/resources.yaml"
	writeFile(t, file, "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: default, labels: {fettle.dev/expose-to-nodes: \"true\"}}\nstringData: {key: "+marker+"}\n---\n"+
		strings.Join(manifests([]string{
			`Shelf/locked {propertiesFrom: [{name: Key, secretKeyRef: {name: s, namespace: default, key: key}}]}`,
			`Shelf/a {propertiesFrom: [{name: Key, secretKeyRef: {name: s, namespace: default, key: key}}]}`,
		}), "---\n"))
	out, messages, code := f.run(t, "apply", "--debug", "--root", f.root, "-f", types, "-f", file)
	if code != 1 || strings.Contains(out+messages, marker) || !strings.Contains(out, "Shelf/a: created") {
		t.Errorf("exit %d\n%s%s", code, out, messages)
	}
	for _, want := range []string{
		"failed: set: the command exited with 1: cannot write locked with [redacted]",
		"debug: output: resource: type Fettle.Test/Shelf, version 2.1.0, module Fettle.Test, adapter Fettle.Test/Shelves 0.2.0",
	} {
		if !strings.Contains(messages, want) {
			t.Errorf("%s is not in\n%s", want, messages)
		}
	}
}
