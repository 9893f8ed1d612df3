package compiler_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/external"
)

// valueOf returns an attribute of an entry, "" if it is absent.
func valueOf(t *testing.T, e v1alpha1.CatalogEntry, attribute string) string {
	t.Helper()
	values := map[string]any{}
	if err := json.Unmarshal(e.Attributes.Raw, &values); err != nil {
		t.Fatal(err)
	}
	value, _ := values[attribute].(string)
	return value
}

func TestRestoreNamesWhatIsMissingOrChanged(t *testing.T) {
	t.Parallel()

	in := compiler.Input{Kinds: kinds(), Resources: []v1alpha1.Resource{file("a", "/a", content("hello"))}}
	stored := new(compiler.Compiler).Draft(in).Store()
	catalogName := slices.Collect(maps.Keys(stored.Catalogs))[0]
	for name, tt := range map[string]struct {
		change func(cluster)
		want   string
	}{
		"no CatalogRevision": {func(c cluster) { clear(c.revisions) }, fmt.Sprintf("there is no CatalogRevision %s", stored.Name)},
		"no Catalog":         {func(c cluster) { clear(c.catalogs) }, fmt.Sprintf("there is no Catalog %s", catalogName)},
		"another CatalogRevision": {
			func(c cluster) { c.revisions[stored.Name].Targets[0].When = "true" }, "another version of Fettle wrote it, or it was changed",
		},
		"another Catalog": {
			func(c cluster) { c.catalogs[catalogName].Entries[0].Attributes.Raw = []byte(`{"path":"/b"}`) }, fmt.Sprintf("catalog %s is invalid: its content is that of", catalogName),
		},
		"a Catalog of a newer version": {
			func(c cluster) {
				c.catalogs[catalogName].Entries[0].Name = "b"
				c.catalogs[catalogName].Entries[0].Unknown = `unknown field "limits"`
			}, `this version of Fettle does not know a part of File/b: unknown field "limits"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := save(t, stored)
			tt.change(c)
			_, err := new(compiler.Compiler).Restore(stored.Name, c.source(), in)
			if err == nil || !strings.HasPrefix(err.Error(), "cannot restore CatalogRevision "+stored.Name+": ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want ... %s", err, tt.want)
			}
		})
	}
}

// typeWith returns the type Pair whose resources have these attributes beside their name.
func typeWith(t *testing.T, scope v1alpha1.ExternalScope, attributes ...string) *definition.Definition {
	t.Helper()
	text := &runtime.RawExtension{Raw: []byte(`{"type":"string"}`)}
	e := &v1alpha1.ExternalType{}
	e.Name = "pairs"
	e.Spec = v1alpha1.ExternalTypeSpec{
		Kind: "Pair", Version: "1", Description: "A pair.", Scope: scope,
		Attributes: []v1alpha1.ExternalAttribute{{Name: "name", Description: "Its name.", Behaviour: v1alpha1.BehaviourNamevar, Schema: text}},
		Providers:  []v1alpha1.ExternalProvider{{Name: "python", Command: []string{"./main.py"}}},
		Source:     v1alpha1.ExternalSource{Files: map[string]string{"main.py": "#!/usr/bin/python3\n"}},
	}
	for _, name := range attributes {
		e.Spec.Attributes = append(e.Spec.Attributes, v1alpha1.ExternalAttribute{Name: name, Description: "A part.", Schema: text})
	}
	d, err := definition.New(e)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func pair(name, properties string, adjust ...func(*v1alpha1.External)) *v1alpha1.External {
	return record(name, properties, append(adjust, func(r *v1alpha1.External) { r.Kind = "Pair" })...)
}

func withType(t testing.TB, in compiler.Input, d *definition.Definition) compiler.Input {
	t.Helper()
	in.Kinds = append(kinds(), external.Kind(d, nil))
	in.External = map[string]compiler.ExternalKind{"Pair": usable(t, d)}
	return in
}

func TestAnEntryStaysAsItIsStoredWhateverBecomesOfItsType(t *testing.T) {
	t.Parallel()

	fromSecret := func(r *v1alpha1.External) {
		r.Spec.AcceptSelfLabelledNodes = true
		r.Spec.PropertiesFrom = []v1alpha1.PropertyFrom{{Name: "right", SecretSource: v1alpha1.SecretSource{SecretKeyRef: *keyRef("token", "text")}}}
	}
	for _, scope := range []v1alpha1.ExternalScope{"", v1alpha1.ScopeRemote} {
		before := withType(t, compiler.Input{
			Nodes: able(node("web-1", "web"), node("web-2", "web")), Secret: secrets, Seal: sealing,
			Resources: []v1alpha1.Resource{pair("a", `{"left":"1","name":"x"}`), pair("b", `{"left":"1"}`, fromSecret), file("f", "/f")},
		}, typeWith(t, scope, "left", "right"))
		revision := new(compiler.Compiler).Draft(before)
		want := encoded(t, assigned(revision, before).Nodes)
		gone := before
		gone.Kinds, gone.External = kinds(), nil
		faulty := before
		faulty.External = map[string]compiler.ExternalKind{"Pair": {Fault: compiler.NewFault(v1alpha1.ReasonMissingType, "no type")}}
		refused := before
		refused.Refused = map[v1alpha1.ResourceRef]string{"Pair/a": "no default", "File/f": "it is invalid"}
		for name, now := range map[string]compiler.Input{
			"with another attribute":  withType(t, before, typeWith(t, scope, "left", "right", "middle")),
			"without its attributes":  withType(t, before, typeWith(t, scope, "middle")),
			"with another scope":      withType(t, before, typeWith(t, map[v1alpha1.ExternalScope]v1alpha1.ExternalScope{"": v1alpha1.ScopeRemote}[scope], "left", "right")),
			"gone":                    gone,
			"unavailable":             faulty,
			"with refused resources":  refused,
			"as it was":               before,
			"with another source too": withType(t, before, typeWith(t, scope, "right", "left")),
		} {
			if diff := cmp.Diff(want, encoded(t, assigned(restored(t, revision, now), now).Nodes)); diff != "" {
				t.Errorf("scope %q, a type %s: nodes have something else:\n%s", scope, name, diff)
			}
		}
	}
}

func TestAnEntryWithoutItsTypeStillClaimsItsName(t *testing.T) {
	t.Parallel()

	in := withType(t, compiler.Input{Nodes: webs(1), Resources: []v1alpha1.Resource{pair("a", `{"name":"x"}`), pair("b", `{"name":"x"}`)}}, typeWith(t, ""))
	revision := new(compiler.Compiler).Draft(in)
	in.Kinds = nil
	want := []string{
		`Pair/a||Conflict|"x" is also claimed by Pair/b on the same node: keep one, or let their nodeSelector or when exclude each other`,
		`Pair/b||Conflict|"x" is also claimed by Pair/a on the same node: keep one, or let their nodeSelector or when exclude each other`,
	}
	if diff := cmp.Diff(want, messages(assigned(restored(t, revision, in), in))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestARestoredRevisionHasTheVersionsOfSecretsThatItWasStoredWith(t *testing.T) {
	t.Parallel()

	version, exposed := "1", true
	in := compiler.Input{
		Kinds: kinds(), Nodes: webs(1), Seal: sealing,
		Resources: []v1alpha1.Resource{file("a", "/a", fromSecret("token", "text"), accepting)},
		Secret: func(v1alpha1.KeyRef) compiler.SecretValue {
			return compiler.SecretValue{Exposed: exposed, Found: true, Value: []byte("hidden"), Version: version}
		},
	}
	revision := new(compiler.Compiler).Draft(in)
	name := revision.Store().Name
	version, exposed = "2", false
	is := restored(t, revision, in)
	if got := assigned(is, in).Nodes["web-0"].Spec.Entries[0].Sealed[0].From.Version; got != "1" {
		t.Errorf("got version %s, want 1", got)
	}
	if again := is.Store().Name; again != name {
		t.Errorf("the restored revision has another name")
	}
	exposed = true
	next := new(compiler.Compiler).Draft(in)
	if diff := cmp.Diff([]v1alpha1.ResourceRef{"File/a"}, compiler.Changed(is, next)); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	if next.Store().Name == name {
		t.Errorf("another version has the same name")
	}
}

func TestNoSecretIsStored(t *testing.T) {
	t.Parallel()

	in := compiler.Input{Kinds: kinds(), Secret: secrets, Resources: []v1alpha1.Resource{
		file("a", "/a", fromSecret("token", "text"), accepting), file("b", "/b", fromSecret("bad", "text"), accepting), file("c", "/c", fromSecret("token", "text")),
	}}
	stored := new(compiler.Compiler).Draft(in).Store()
	if all := encoded(t, stored) + fmt.Sprintf("%+v", stored); strings.Contains(all, "s3cret") || !strings.Contains(all, "secretKeyRef") {
		t.Errorf("got %s", all)
	}
}

func TestValuesOfConfigMapsAreStored(t *testing.T) {
	t.Parallel()

	certificate := caFrom(v1alpha1.ValueSource{ConfigMapKeyRef: keyRef("ca", "pem")})
	header := func(f *v1alpha1.File) {
		f.Spec.AcceptSelfLabelledNodes = true
		f.Spec.HeadersFrom = []v1alpha1.HeaderSource{{Name: "Authorization", SecretSource: v1alpha1.SecretSource{SecretKeyRef: *keyRef("token", "text")}}}
	}
	in := withBundles(file("a", "/a", certificate), file("b", "/b", certificate, header))
	revision := new(compiler.Compiler).Draft(in)
	want := assigned(revision, in)
	in.ConfigMap = nil
	if diff := cmp.Diff(encoded(t, want), encoded(t, assigned(restored(t, revision, in), in))); diff != "" {
		t.Errorf("without the ConfigMap (+):\n%s", diff)
	}
}

func TestARevisionTooLargeForOneObjectHasParts(t *testing.T) {
	t.Parallel()

	in := compiler.Input{
		Kinds: kinds(), Nodes: webs(2), Resources: []v1alpha1.Resource{file("a", "/a")}, Refused: map[v1alpha1.ResourceRef]string{},
	}
	for i := range 1000 { // half of them have a targeting of their own
		f := file(fmt.Sprintf("bad%04d", i), fmt.Sprintf("/bad%04d", i), requires("File/a"))
		if i%2 == 0 {
			f.Spec.When = fmt.Sprintf("node.name != '%d'", i)
		}
		in.Resources, in.Refused[v1alpha1.RefOf(f)] = append(in.Resources, f), strings.Repeat("x", 1000)
	}
	revision := new(compiler.Compiler).Draft(in)
	stored := revision.Store()
	if len(stored.Revisions) < 2 || len(stored.Revisions[0].Parts) != len(stored.Revisions)-1 || stored.Revisions[0].Name != stored.Name {
		t.Fatalf("got %d CatalogRevisions", len(stored.Revisions))
	}
	for _, r := range stored.Revisions {
		if size := len(encoded(t, r)); size > 1<<20 {
			t.Errorf("%s takes %d bytes", r.Name, size)
		}
	}
	if r := stored.Revisions[0]; r.Count != 1001 || r.Faults != 1000 {
		t.Errorf("it counts %d resources and %d faults", r.Count, r.Faults)
	}
	if diff := cmp.Diff(encoded(t, assigned(revision, in)), encoded(t, assigned(restored(t, revision, in), in))); diff != "" {
		t.Error(diff)
	}
}

func TestRemoteResourcesOfOneTargetingShareTheirCatalogs(t *testing.T) {
	t.Parallel()

	in := remoteInput(t, able(node("a", "dns"), node("b", "dns")))
	for i := range 50 {
		in.Resources = append(in.Resources, record(fmt.Sprintf("r%d", i), "{}"))
	}
	in.Resources = append(in.Resources, record("leaving", "{}", func(r *v1alpha1.External) {
		r.DeletionTimestamp, r.Spec.Ensure = &metav1.Time{}, resource.Absent
	}))
	stored := new(compiler.Compiler).Draft(in).Store()
	targets := stored.Revisions[0].Targets
	if len(stored.Catalogs) != 2 || len(targets) != 2 || !targets[0].Remote || !targets[1].Remote || targets[0].Deleting == targets[1].Deleting {
		t.Errorf("got %d catalogs and targets %s", len(stored.Catalogs), encoded(t, targets))
	}
}

func TestChanged(t *testing.T) {
	t.Parallel()

	base := []v1alpha1.Resource{file("a", "/a"), file("b", "/b", rendering("{{ .node.name }}")), file("c", "/c", content("refused")), file("d", "/d"), file("e", "/e")}
	for name, tt := range map[string]struct {
		change func(all []v1alpha1.Resource) []v1alpha1.Resource
		want   []v1alpha1.ResourceRef
	}{
		"nothing": {func(all []v1alpha1.Resource) []v1alpha1.Resource { return all }, nil},
		"an attribute, and a resource less": {func(all []v1alpha1.Resource) []v1alpha1.Resource {
			all[0] = file("a", "/new")
			return all[:4]
		}, []v1alpha1.ResourceRef{"File/a", "File/e"}},
		"a template, and a resource more": {func(all []v1alpha1.Resource) []v1alpha1.Resource {
			all[1] = file("b", "/b", rendering("{{ .node.name }}!"))
			return append(all, file("bb", "/bb"))
		}, []v1alpha1.ResourceRef{"File/b", "File/bb"}},
		"a targeting, and how another is written": {func(all []v1alpha1.Resource) []v1alpha1.Resource {
			all[3], all[4] = file("d", "/d", when("true")), file("e", "/e", when(" "))
			return all
		}, []v1alpha1.ResourceRef{"File/d"}},
		"a fault that is corrected, and a new one": {func(all []v1alpha1.Resource) []v1alpha1.Resource {
			all[2], all[3] = file("c", "/c"), file("d", "/d", content("refused"))
			return all
		}, []v1alpha1.ResourceRef{"File/c", "File/d"}},
		"an edge": {func(all []v1alpha1.Resource) []v1alpha1.Resource {
			all[0] = file("a", "/a", requires("File/b"))
			return all
		}, []v1alpha1.ResourceRef{"File/a"}},
		"a consent that makes no difference": {func(all []v1alpha1.Resource) []v1alpha1.Resource {
			all[0] = file("a", "/a", accepting)
			return all
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := compiler.Input{Kinds: kinds(), Resources: base}
			after := compiler.Input{Kinds: kinds(), Resources: tt.change(slices.Clone(base))}
			a, b := new(compiler.Compiler).Draft(before), restored(t, new(compiler.Compiler).Draft(after), after)
			if diff := cmp.Diff([][]v1alpha1.ResourceRef{tt.want, tt.want}, [][]v1alpha1.ResourceRef{compiler.Changed(a, b), compiler.Changed(b, a)}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func BenchmarkRestore(b *testing.B) {
	in := thousands(0)
	revision := new(compiler.Compiler).Draft(in)
	stored := revision.Store()
	source := cluster{map[string]*v1alpha1.CatalogRevision{stored.Name: stored.Revisions[0]}, stored.Catalogs}.source()
	b.Run("store", func(b *testing.B) {
		for b.Loop() {
			revision.Store()
		}
	})
	b.Run("restore", func(b *testing.B) {
		for b.Loop() {
			if _, err := new(compiler.Compiler).Restore(stored.Name, source, in); err != nil {
				b.Fatal(err)
			}
		}
	})
}
