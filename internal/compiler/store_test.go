package compiler_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/external"
)

// everything generates a random input that also has ConfigMaps, Secrets, and external kinds, some of whose resources are being deleted.
func everything(t testing.TB, r *rand.Rand) compiler.Input {
	t.Helper()
	in := fleet(r, 6, 20)
	records, zones := recordType(t), zoneType(t)
	in.Kinds = append(in.Kinds, external.Kind(records, nil), external.Kind(zones, nil))
	in.External = map[string]compiler.ExternalKind{"DNSRecord": usable(t, records), "DNSZone": usable(t, zones)}
	in.Secret, in.Seal, in.ConfigMap = secrets, sealing, bundles
	in.Refused = map[v1alpha1.ResourceRef]string{"File/r1": "it is invalid", "DNSZone/zone0": "no default"}
	able(in.Nodes...)
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	for i := range 6 {
		name := fmt.Sprintf("secret%d", i)
		f := file(name, fmt.Sprintf("/p%d", r.IntN(40)), fromSecret(pick("token", "bad", "hidden"), pick("text", "none")), on(pick("web", "db")))
		f.Spec.AcceptSelfLabelledNodes = r.IntN(3) > 0
		f.Spec.CAFrom = &v1alpha1.ValueSource{ConfigMapKeyRef: keyRef(pick("ca", "none"), "pem")}
		plain := file("plain"+name, fmt.Sprintf("/p%d", r.IntN(40)), caFrom(v1alpha1.ValueSource{ConfigMapKeyRef: keyRef(pick("ca", "none"), "pem")}))
		plain.Spec.Audit, plain.Spec.DeletionPolicy = []string{"all"}, v1alpha1.DeletionPolicy(pick("Orphan", "Delete"))
		in.Resources = append(in.Resources, f, plain, zone(fmt.Sprintf("zone%d", i)), randomRecord(r, i))
	}
	if r.IntN(2) == 0 {
		in.Resources = append(in.Resources, file("secret0", "/twice"), file("none", "/none", func(f *v1alpha1.File) { f.Spec.NodeSelector = nil }))
	}
	return in
}

func randomRecord(r *rand.Rand, i int) *v1alpha1.External {
	name := func() string { return fmt.Sprintf("record%d", r.IntN(6)) }
	return record(fmt.Sprintf("record%d", i), fmt.Sprintf(`{"name":%q,"zone":%q}`, name(), name()), func(e *v1alpha1.External) {
		if r.IntN(2) == 0 {
			e.Spec.Require = []v1alpha1.ResourceRef{v1alpha1.ResourceRef("DNSRecord/" + name())}
		}
		if r.IntN(2) == 0 {
			e.DeletionTimestamp, e.Spec.Ensure = &metav1.Time{}, resource.Absent
		}
		if r.IntN(3) == 0 {
			e.Spec.AcceptSelfLabelledNodes = true
			e.Spec.PropertiesFrom = []v1alpha1.PropertyFrom{{Name: "key", SecretSource: v1alpha1.SecretSource{SecretKeyRef: *keyRef("token", "text")}}}
		}
		if r.IntN(3) == 0 {
			e.Spec.NodeSelector, e.Spec.When = onRole("web"), `facts.os.family == "Debian"`
		}
	})
}

// A cluster is what an API server stores.
type cluster struct {
	revisions map[string]*v1alpha1.CatalogRevision
	catalogs  map[string]*v1alpha1.Catalog
}

// save stores revisions as JSON that is written in another way.
func save(t testing.TB, all ...compiler.Stored) cluster {
	t.Helper()
	c := cluster{map[string]*v1alpha1.CatalogRevision{}, map[string]*v1alpha1.Catalog{}}
	for _, s := range all {
		for _, r := range s.Revisions {
			c.revisions[r.Name] = rewritten(t, r)
		}
		for name, o := range s.Catalogs {
			c.catalogs[name] = rewritten(t, o)
		}
	}
	return c
}

// rewritten encodes and decodes an object, with other spaces and escapes.
func rewritten[T any](t testing.TB, v *T) *T {
	t.Helper()
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	is := new(T)
	if err := json.Unmarshal(bytes.ReplaceAll(raw, []byte("certificate"), []byte(`\u0063ertificate`)), is); err != nil {
		t.Fatal(err)
	}
	return is
}

func (c cluster) source() compiler.Source {
	return compiler.Source{
		Revision: func(name string) *v1alpha1.CatalogRevision { return c.revisions[name] },
		Catalog:  func(name string) *v1alpha1.Catalog { return c.catalogs[name] },

		HasCatalog: func(name string) bool { return c.catalogs[name] != nil },
	}
}

// withoutDefinitions leaves out the definitions of types, which a restored revision does not have: the cluster has them.
func withoutDefinitions(s compiler.Stored) compiler.Stored {
	for _, is := range s.Revisions[0].Types {
		delete(s.Catalogs, is.Catalog)
	}
	return s
}

// restored returns a revision as a new compiler restores it.
func restored(t testing.TB, r *compiler.Revision, in compiler.Input) *compiler.Revision {
	t.Helper()
	s := r.Store()
	is, err := new(compiler.Compiler).Restore(s.Name, save(t, s).source(), in)
	if err != nil {
		t.Fatal(err)
	}
	return is
}

func assigned(r *compiler.Revision, in compiler.Input) compiler.Result {
	return new(compiler.Compiler).Nodes(in.Nodes).Assign(r, nil, in.Seal)
}

func TestARestoredRevisionGivesNodesTheSame(t *testing.T) {
	t.Parallel()

	for seed := range uint64(60) {
		in := everything(t, rand.New(rand.NewPCG(seed, 5)))
		drafted := new(compiler.Compiler).Draft(in)
		want := assigned(drafted, in)
		again := restored(t, drafted, in)
		got := assigned(again, in)
		if diff := cmp.Diff(encoded(t, want), encoded(t, got)); diff != "" {
			t.Fatalf("seed %d: what nodes get from a drafted revision (-) and from a restored one (+) differs:\n%s", seed, diff)
		}
		outlineOf(t, got)
		for name, n := range want.Nodes {
			for _, r := range in.Resources {
				if ref := v1alpha1.RefOf(r); n.EntryHash(ref) != got.Nodes[name].EntryHash(ref) {
					t.Errorf("seed %d: %s has another entry of %s", seed, name, ref)
				}
			}
		}
		if diff := cmp.Diff(encoded(t, withoutDefinitions(drafted.Store())), encoded(t, again.Store())); diff != "" {
			t.Errorf("seed %d: the restored revision is stored differently:\n%s", seed, diff)
		}
		if changed := compiler.Changed(drafted, again); len(changed) > 0 {
			t.Errorf("seed %d: %v are said to have changed", seed, changed)
		}
	}
}

func TestTheNameOfARevisionIsThatOfItsContent(t *testing.T) {
	t.Parallel()

	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 6))
		in := everything(t, r)
		want := new(compiler.Compiler).Draft(in).Store()
		r.Shuffle(len(in.Resources), func(i, j int) { in.Resources[i], in.Resources[j] = in.Resources[j], in.Resources[i] })
		if diff := cmp.Diff(encoded(t, want), encoded(t, new(compiler.Compiler).Draft(in).Store())); diff != "" {
			t.Fatalf("seed %d: another order gives another revision:\n%s", seed, diff)
		}
		in.Resources = append(in.Resources, file("another", "/another"))
		if is := new(compiler.Compiler).Draft(in).Store(); is.Name == want.Name {
			t.Fatalf("seed %d: another resource does not change the name", seed)
		}
	}
}
