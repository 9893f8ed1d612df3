package dscbuild

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/aliases"
	"github.com/fettle-dev/fettle/internal/external/dsc"
)

// Forms of the files of DSC, by the part of their names between .dsc. and the format.
const (
	formResource  = "resource"
	formAdapted   = "adaptedresource"
	formList      = "manifests"
	formExtension = "extension"
)

// nameOf splits the name of a manifest, such as x.dsc.resource.json, into x and the form; the form is "" for other files.
func nameOf(file string) (stem, form string) {
	rest := strings.TrimSuffix(file, filepath.Ext(file))
	form = strings.ToLower(strings.TrimPrefix(filepath.Ext(rest), "."))
	stem, isDSC := strings.CutSuffix(strings.TrimSuffix(rest, filepath.Ext(rest)), ".dsc")
	known := slices.Contains([]string{".json", ".yaml", ".yml"}, filepath.Ext(file)) && slices.Contains([]string{formResource, formAdapted, formList, formExtension}, form)
	if !isDSC || !known {
		return file, ""
	}
	return stem, form
}

// A file has the manifests of a file of DSC.
type file struct {
	name      string
	text      []byte
	resources []*dsc.Manifest
	adapted   []*dsc.Adapted
	isList    bool
	faults    map[string]error // of manifests in a list, by their field
}

func readFile(name string) (*file, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	asJSON := text
	if filepath.Ext(name) != ".json" {
		if err := aliases.Check(text); err != nil {
			return nil, err
		}
		if asJSON, err = yaml.YAMLToJSONStrict(text); err != nil {
			return nil, err
		}
	}
	f := &file{name: name, text: text}
	switch _, form := nameOf(name); form {
	case formExtension:
		return nil, errors.New("it is an extension of DSC, which finds, imports or looks up what dsc needs: build types from the manifests of its resources, and take secrets from Secrets")
	case formAdapted:
		a, err := dsc.ParseAdapted(asJSON)
		f.adapted = []*dsc.Adapted{a}
		return f, err
	case formList:
		return f, f.readList(asJSON)
	}
	m, err := dsc.Parse(asJSON)
	f.resources = []*dsc.Manifest{m}
	return f, err
}

// readList reads a list of manifests. Faults of a manifest only concern those who build it. Extensions concern only dsc itself.
func (f *file) readList(text []byte) error {
	var list struct {
		Resources []json.RawMessage `json:"resources"`
		Adapted   []json.RawMessage `json:"adaptedResources"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return fmt.Errorf("it is not a list of DSC manifests: %w", err)
	}
	f.isList, f.faults = true, map[string]error{}
	for i, raw := range list.Resources {
		m, err := dsc.Parse(raw)
		if err != nil {
			f.faults[fmt.Sprintf("resources[%d]", i)] = err
			m = &dsc.Manifest{}
		}
		f.resources = append(f.resources, m)
	}
	for i, raw := range list.Adapted {
		a, err := dsc.ParseAdapted(raw)
		if err != nil {
			f.faults[fmt.Sprintf("adaptedResources[%d]", i)] = err
			a = &dsc.Adapted{}
		}
		f.adapted = append(f.adapted, a)
	}
	if len(f.resources)+len(f.adapted) == 0 {
		return errors.New("it has neither resources nor adaptedResources")
	}
	return nil
}

func (f *file) builder(field string, m *dsc.Manifest, a *dsc.Adapted, overlay *v1alpha1.ExternalType) *builder {
	if !f.isList {
		field = ""
	} else {
		field += ": "
	}
	manifest := *m // it is limited to what an adapted resource supports
	return &builder{
		name: filepath.Base(f.name), field: field, overlay: f.overlay(), dir: filepath.Dir(f.name), text: f.text,
		manifest: &manifest, adapted: a, partial: overlay,
	}
}
