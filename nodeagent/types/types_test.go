package types_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/nodeagent/types"
)

// A disk has documents in memory.
type disk struct {
	documents map[string][]byte
	full      bool
}

func (d *disk) Get(name string) ([]byte, error) {
	if body, ok := d.documents[name]; ok {
		return body, nil
	}
	return nil, fs.ErrNotExist
}

func (d *disk) Put(name string, body []byte) error {
	if d.full {
		return errors.New("no space left on device")
	}
	d.documents[name] = body
	return nil
}

func (d *disk) Retain(names ...string) error {
	for name := range d.documents {
		if !slices.Contains(names, name) {
			delete(d.documents, name)
		}
	}
	return nil
}

// A fixture is a cluster and a node's disk.
type fixture struct {
	disk     *disk
	cluster  map[string]*v1alpha1.ExternalType
	catalogs map[string]*v1alpha1.Catalog
	fetches  int
	warnings []string
}

// ExternalType implements [types.Cluster].
func (w *fixture) ExternalType(_ context.Context, name string) (*v1alpha1.ExternalType, error) {
	w.fetches++
	if t := w.cluster[name]; t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("%s is not there", name)
}

// Catalog implements [types.Cluster].
func (w *fixture) Catalog(_ context.Context, name string) (*v1alpha1.Catalog, error) {
	w.fetches++
	if c := w.catalogs[name]; c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("%s is not there", name)
}

// keep stores the definition of a type in a Catalog, and returns what names that.
func (w *fixture) keep(t *testing.T, typ *v1alpha1.ExternalType) []v1alpha1.TypeDefinition {
	t.Helper()
	c, err := catalog.OfType(typ.Name, typ.Spec)
	if err != nil {
		t.Fatal(err)
	}
	w.catalogs = map[string]*v1alpha1.Catalog{c.Name: c}
	return []v1alpha1.TypeDefinition{{Type: entries(t, typ)[0].Type, Catalog: c.Name}}
}

func newFixture(all ...*v1alpha1.ExternalType) *fixture {
	w := &fixture{disk: &disk{documents: map[string][]byte{}}, cluster: map[string]*v1alpha1.ExternalType{}}
	for _, t := range all {
		w.cluster[t.Name] = t
	}
	return w
}

func (w *fixture) store() *types.Store {
	return types.NewStore(w.disk, w, func(msg string, args ...any) { w.warnings = append(w.warnings, msg+fmt.Sprint(args...)) })
}

func zones(version string) *v1alpha1.ExternalType {
	t := &v1alpha1.ExternalType{Spec: v1alpha1.ExternalTypeSpec{
		Kind: "Zone", Version: version, Description: "Manages a zone.",
		Attributes: []v1alpha1.ExternalAttribute{{
			Name: "name", Description: "Its name.", Behaviour: v1alpha1.BehaviourNamevar, Schema: &runtime.RawExtension{Raw: []byte(`{"type":"string"}`)},
		}},
		Providers: []v1alpha1.ExternalProvider{{Name: "plain", Command: []string{"./main.sh"}}},
		Source:    v1alpha1.ExternalSource{Files: map[string]string{"main.sh": "#!/bin/sh"}},
	}}
	t.Name = "zones"
	return t
}

func entries(t *testing.T, typ *v1alpha1.ExternalType) []v1alpha1.CatalogEntry {
	t.Helper()
	digest, err := definition.Digest(typ.Spec)
	if err != nil {
		t.Fatal(err)
	}
	ref := typ.Name + "@" + digest
	return []v1alpha1.CatalogEntry{{Kind: "Zone", Name: "a", Type: ref}, {Kind: "Zone", Name: "b", Type: ref}, {Kind: "File", Name: "motd"}}
}

func TestTypeIsFetchedOnceAndSurvivesAnOutage(t *testing.T) {
	t.Parallel()

	w := newFixture(zones("1"))
	s := w.store()
	for range 2 {
		all, err := s.Of(t.Context(), entries(t, zones("1")), nil)
		if err != nil || len(all) != 1 || all[0].Spec.Kind != "Zone" {
			t.Fatalf("there are %v, %v", all, err)
		}
		s.Retain(nil)
	}
	if w.fetches != 1 {
		t.Errorf("it was fetched %d times", w.fetches)
	}
	w.cluster = nil
	if all := w.store().OnDisk(entries(t, zones("1"))); len(all) != 1 {
		t.Errorf("after a restart there are %v", all)
	}
}

func TestAnotherContentIsNotUsed(t *testing.T) {
	t.Parallel()

	w := newFixture(zones("2"))
	if all, err := w.store().Of(t.Context(), entries(t, zones("1")), nil); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Errorf("there are %v, %v", all, err)
	}
	all, err := w.store().Of(t.Context(), entries(t, zones("2")), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range w.disk.documents {
		w.disk.documents[name] = []byte(strings.Replace(string(body), "#!/bin/sh", "#!/bin/evil", 1))
	}
	s := w.store()
	if all := s.OnDisk(entries(t, zones("2"))); len(all) != 0 {
		t.Errorf("a damaged document is used: %v", all)
	}
	if again, err := s.Of(t.Context(), entries(t, zones("2")), nil); err != nil || again[0].Digest != all[0].Digest {
		t.Errorf("it is not fetched again: %v, %v", again, err)
	}
}

// A rollout gives nodes a version of a type that the cluster has no more, or not yet.
func TestTheDefinitionThatTheRevisionKeepsIsUsed(t *testing.T) {
	t.Parallel()

	w := newFixture(zones("2"))
	kept := w.keep(t, zones("1"))
	all, err := w.store().Of(t.Context(), entries(t, zones("1")), kept)
	if err != nil || len(all) != 1 || all[0].Spec.Version != "1" || w.fetches != 1 {
		t.Fatalf("there are %v, %v after %d requests", all, err, w.fetches)
	}
	w.catalogs, w.cluster = nil, nil
	if all := w.store().OnDisk(entries(t, zones("1"))); len(all) != 1 || all[0].Spec.Version != "1" {
		t.Errorf("after a restart there are %v", all)
	}
}

func TestADefinitionIsTheOneThatTheEntriesName(t *testing.T) {
	t.Parallel()

	const damaged = "its content is that of"
	for name, tt := range map[string]struct {
		cluster *v1alpha1.ExternalType
		change  func(w *fixture, c *v1alpha1.Catalog, kept []v1alpha1.TypeDefinition)
		want    string // of the error; "" for none
	}{
		"without its Catalog":                    {zones("2"), func(w *fixture, _ *v1alpha1.Catalog, _ []v1alpha1.TypeDefinition) { w.catalogs = nil }, "is not there"},
		"without its Catalog, in the cluster":    {zones("1"), func(w *fixture, _ *v1alpha1.Catalog, _ []v1alpha1.TypeDefinition) { w.catalogs = nil }, ""},
		"with a changed Catalog":                 {zones("2"), func(_ *fixture, c *v1alpha1.Catalog, _ []v1alpha1.TypeDefinition) { c.Entries[0].Name = "lamps" }, damaged},
		"with a changed Catalog, in the cluster": {zones("1"), func(_ *fixture, c *v1alpha1.Catalog, _ []v1alpha1.TypeDefinition) { c.Entries[0].Name = "lamps" }, ""},
		"with the Catalog of another version": {zones("2"), func(w *fixture, _ *v1alpha1.Catalog, kept []v1alpha1.TypeDefinition) {
			kept[0].Catalog = w.keep(t, zones("3"))[0].Catalog
		}, "it has the definition of zones@" + strings.TrimPrefix(entries(t, zones("3"))[0].Type, "zones@")},
		"with a Catalog of resources": {zones("2"), func(w *fixture, _ *v1alpha1.Catalog, kept []v1alpha1.TypeDefinition) {
			kept[0].Catalog = catalog.Name(nil)
			w.catalogs[kept[0].Catalog] = &v1alpha1.Catalog{}
		}, "it does not have the definition of ExternalType zones"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(tt.cluster)
			kept := w.keep(t, zones("1"))
			tt.change(w, w.catalogs[kept[0].Catalog], kept)
			all, err := w.store().Of(t.Context(), entries(t, zones("1")), kept)
			switch {
			case tt.want == "" && (err != nil || len(all) != 1 || all[0].Spec.Version != "1"):
				t.Errorf("there are %v, %v", all, err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %v, want ... %s", err, tt.want)
			}
		})
	}
}

func TestAFullDiskDoesNotPreventUse(t *testing.T) {
	t.Parallel()

	w := newFixture(zones("1"))
	w.disk.full = true
	if all, err := w.store().Of(t.Context(), entries(t, zones("1")), nil); err != nil || len(all) != 1 || len(w.warnings) == 0 {
		t.Errorf("there are %v, %v, %q", all, err, w.warnings)
	}
}

func TestATypeOfANewerVersionHasNoKind(t *testing.T) {
	t.Parallel()

	newer := zones("1")
	newer.Spec.Protocol = "Later"
	w := newFixture(newer)
	all, err := w.store().Of(t.Context(), entries(t, newer), nil)
	if err != nil || len(all) != 0 || len(w.warnings) != 1 || !strings.Contains(w.warnings[0], "upgrade the agent") {
		t.Errorf("there are %v, %v, %q", all, err, w.warnings)
	}
}

func TestAFieldOfANewerVersionIsNotIgnored(t *testing.T) {
	t.Parallel()

	newer := zones("1")
	text := `{"kind":"Zone","version":"1","description":"x","attributes":[],"providers":[],"source":{"files":{"a":"b"}},"onlyOn":["Sundays"]}`
	if err := json.Unmarshal([]byte(text), &newer.Spec); err != nil {
		t.Fatal(err)
	}
	w := newFixture(newer)
	all, err := w.store().Of(t.Context(), entries(t, newer), nil)
	if err != nil || len(all) != 0 || len(w.warnings) != 1 || !strings.Contains(w.warnings[0], `unknown field "onlyOn"`) {
		t.Errorf("there are %v, %v, %q", all, err, w.warnings)
	}
}

func TestTypeStaysWhileItIsNeeded(t *testing.T) {
	t.Parallel()

	w := newFixture(zones("1"))
	s := w.store()
	if _, err := s.Of(t.Context(), entries(t, zones("1")), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Of(t.Context(), nil, nil); err != nil { // the catalog has no zone any more
		t.Fatal(err)
	}
	s.Retain([]string{"Zone"})
	w.cluster = nil
	for _, s := range []*types.Store{s, w.store()} { // also after a restart
		if all := s.Former([]string{"Zone", "File"}); len(all) != 1 || all[0].Spec.Version != "1" {
			t.Errorf("the former types are %v", all)
		}
	}
	s.Retain(nil)
	if all := s.Former([]string{"Zone"}); len(all) != 0 || len(w.disk.documents) != 1 {
		t.Errorf("there are %v and %d documents", all, len(w.disk.documents))
	}
}

func TestNewestTypeOfAKindIsRetained(t *testing.T) {
	t.Parallel()

	w := newFixture(zones("1"))
	s := w.store()
	if _, err := s.Of(t.Context(), entries(t, zones("1")), nil); err != nil {
		t.Fatal(err)
	}
	w.cluster["zones"] = zones("2")
	if _, err := s.Of(t.Context(), entries(t, zones("2")), nil); err != nil {
		t.Fatal(err)
	}
	s.Retain([]string{"Zone"})
	if all := s.Former([]string{"Zone"}); len(all) != 1 || all[0].Spec.Version != "2" || len(w.disk.documents) != 2 {
		t.Errorf("the former types are %v, and there are %d documents", all, len(w.disk.documents))
	}
}

func TestTheLastUsableTypeSurvivesARestart(t *testing.T) {
	t.Parallel()

	w := newFixture(zones("1"))
	s := w.store()
	all, err := s.Of(t.Context(), entries(t, zones("1")), nil)
	if err != nil || s.Usable("Zone") != nil {
		t.Fatal(err, s.Usable("Zone"))
	}
	s.SetUsable(all[0])
	w.cluster["zones"] = zones("2")
	if _, err := s.Of(t.Context(), entries(t, zones("2")), nil); err != nil {
		t.Fatal(err)
	}
	s.Retain(nil)
	for _, s := range []*types.Store{s, w.store()} {
		if d := s.Usable("Zone"); d == nil || d.Spec.Version != "1" {
			t.Errorf("the usable type is %v, and there are warnings %q", d, w.warnings)
		}
	}
	if _, err := s.Of(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	s.Retain(nil)
	if d := w.store().Usable("Zone"); d != nil || len(w.disk.documents) != 2 { // the two lists
		t.Errorf("after the kind is gone, the usable type is %v, and the disk has %d documents", d, len(w.disk.documents))
	}
}

// A hangingCluster answers late.
type hangingCluster struct {
	*fixture
	asked  chan<- struct{}
	answer <-chan struct{}
}

// ExternalType implements [types.Cluster].
func (c hangingCluster) ExternalType(ctx context.Context, name string) (*v1alpha1.ExternalType, error) {
	close(c.asked)
	<-c.answer
	return c.fixture.ExternalType(ctx, name)
}

// An API server that hangs does not delay runs.
func TestTypesCanBeUsedWhileOthersAreFetched(t *testing.T) {
	t.Parallel()

	w := newFixture(zones("1"))
	fetching, answer := make(chan struct{}), make(chan struct{})
	s := types.NewStore(w.disk, hangingCluster{w, fetching, answer}, func(string, ...any) {})
	fetched := make(chan error)
	go func() { _, err := s.Of(t.Context(), entries(t, zones("1")), nil); fetched <- err }()
	<-fetching
	s.Former([]string{"Zone"})
	s.Retain(nil)
	close(answer)
	if err := <-fetched; err != nil {
		t.Error(err)
	}
}
