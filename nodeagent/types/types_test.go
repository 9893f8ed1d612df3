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
	fetches  int
	warnings []string
}

func newFixture(all ...*v1alpha1.ExternalType) *fixture {
	w := &fixture{disk: &disk{documents: map[string][]byte{}}, cluster: map[string]*v1alpha1.ExternalType{}}
	for _, t := range all {
		w.cluster[t.Name] = t
	}
	return w
}

func (w *fixture) store() *types.Store {
	fetch := func(_ context.Context, name string) (*v1alpha1.ExternalType, error) {
		w.fetches++
		if t := w.cluster[name]; t != nil {
			return t, nil
		}
		return nil, fmt.Errorf("%s is not there", name)
	}
	return types.NewStore(w.disk, fetch, func(msg string, args ...any) { w.warnings = append(w.warnings, msg+fmt.Sprint(args...)) })
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
		all, err := s.Of(t.Context(), entries(t, zones("1")))
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
	if all, err := w.store().Of(t.Context(), entries(t, zones("1"))); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Errorf("there are %v, %v", all, err)
	}
	all, err := w.store().Of(t.Context(), entries(t, zones("2")))
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
	if again, err := s.Of(t.Context(), entries(t, zones("2"))); err != nil || again[0].Digest != all[0].Digest {
		t.Errorf("it is not fetched again: %v, %v", again, err)
	}
}

func TestAFullDiskDoesNotPreventUse(t *testing.T) {
	t.Parallel()

	w := newFixture(zones("1"))
	w.disk.full = true
	if all, err := w.store().Of(t.Context(), entries(t, zones("1"))); err != nil || len(all) != 1 || len(w.warnings) == 0 {
		t.Errorf("there are %v, %v, %q", all, err, w.warnings)
	}
}

func TestATypeOfANewerVersionHasNoKind(t *testing.T) {
	t.Parallel()

	newer := zones("1")
	newer.Spec.Protocol = "Later"
	w := newFixture(newer)
	all, err := w.store().Of(t.Context(), entries(t, newer))
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
	all, err := w.store().Of(t.Context(), entries(t, newer))
	if err != nil || len(all) != 0 || len(w.warnings) != 1 || !strings.Contains(w.warnings[0], `unknown field "onlyOn"`) {
		t.Errorf("there are %v, %v, %q", all, err, w.warnings)
	}
}

func TestTypeStaysWhileItIsNeeded(t *testing.T) {
	t.Parallel()

	w := newFixture(zones("1"))
	s := w.store()
	if _, err := s.Of(t.Context(), entries(t, zones("1"))); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Of(t.Context(), nil); err != nil { // the catalog has no zone any more
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
	if _, err := s.Of(t.Context(), entries(t, zones("1"))); err != nil {
		t.Fatal(err)
	}
	w.cluster["zones"] = zones("2")
	if _, err := s.Of(t.Context(), entries(t, zones("2"))); err != nil {
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
	all, err := s.Of(t.Context(), entries(t, zones("1")))
	if err != nil || s.Usable("Zone") != nil {
		t.Fatal(err, s.Usable("Zone"))
	}
	s.SetUsable(all[0])
	w.cluster["zones"] = zones("2")
	if _, err := s.Of(t.Context(), entries(t, zones("2"))); err != nil {
		t.Fatal(err)
	}
	s.Retain(nil)
	for _, s := range []*types.Store{s, w.store()} {
		if d := s.Usable("Zone"); d == nil || d.Spec.Version != "1" {
			t.Errorf("the usable type is %v, and there are warnings %q", d, w.warnings)
		}
	}
	if _, err := s.Of(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	s.Retain(nil)
	if d := w.store().Usable("Zone"); d != nil || len(w.disk.documents) != 2 { // the two lists
		t.Errorf("after the kind is gone, the usable type is %v, and the disk has %d documents", d, len(w.disk.documents))
	}
}

// An API server that hangs does not delay runs.
func TestTypesCanBeUsedWhileOthersAreFetched(t *testing.T) {
	t.Parallel()

	w := newFixture(zones("1"))
	fetching, answer := make(chan struct{}), make(chan struct{})
	s := types.NewStore(w.disk, func(context.Context, string) (*v1alpha1.ExternalType, error) {
		close(fetching)
		<-answer
		return zones("1"), nil
	}, func(string, ...any) {})
	fetched := make(chan error)
	go func() { _, err := s.Of(t.Context(), entries(t, zones("1"))); fetched <- err }()
	<-fetching
	s.Former([]string{"Zone"})
	s.Retain(nil)
	close(answer)
	if err := <-fetched; err != nil {
		t.Error(err)
	}
}
