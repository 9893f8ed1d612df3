// Command manifests generates YAML from the CRDs and the samples in config/: kustomizations for both,
// roles for users, and Argo CD health checks. `make manifests` runs it last.
// It also generates the templates of the Helm chart from config/default.
//
// No role is aggregated to edit or admin, because write access to a resource is root on the nodes that
// it selects.
package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/config/crd"
	"github.com/fettle-dev/fettle/hack/manifests/bundle"
	"github.com/fettle-dev/fettle/hack/manifests/chart"
)

//go:embed roles.yaml.tmpl
var roles string

//go:embed manager.yaml.tmpl
var manager string

//go:embed kustomization.yaml.tmpl
var kustomization string

//go:embed argocd.yaml.tmpl
var argocd string

func main() {
	log.SetFlags(0)
	log.SetPrefix("manifests: ")
	for _, dir := range []string{"config/crd", "config/samples"} {
		names, err := fs.Glob(os.DirFS(dir), "*.yaml")
		if err == nil {
			err = write(dir+"/Kustomization", kustomization, names)
		}
		if err != nil {
			log.Fatal(err)
		}
	}
	kinds, err := find()
	if err == nil {
		err = errors.Join(
			write("config/rbac/kinds.yaml", roles, namesOf(kinds)),
			write("config/rbac/manager_kinds.yaml", manager, kinds),
			writeHealth("config/argocd", kinds))
	}
	if err == nil {
		err = writeChart("charts/fettle/templates/generated")
	}
	if err != nil {
		log.Fatal(err)
	}
}

// writeChart replaces a folder by the templates of the Helm chart.
func writeChart(dir string) error {
	files, err := bundle.Read(os.DirFS("."), "config/default")
	if err != nil {
		return err
	}
	for _, name := range chart.Optional() {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		files = append(files, bundle.File{Path: name, Text: string(text)})
	}
	templates, err := chart.Templates(files)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	for _, t := range templates {
		name := filepath.Join(dir, t.Path)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(t.Text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// A kind is a kind of the API.
type kind struct {
	Kind, Plural string
	Written      bool // by users, not by the manager or the agents
	Resource     bool // manages something on hosts
	Conditions   bool // the status has conditions
}

func find() ([]kind, error) {
	all, err := crd.All()
	if err != nil {
		return nil, err
	}
	var kinds []kind
	for _, c := range all {
		n := c.Spec.Names
		_, conditions := c.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"].Properties["conditions"]
		isResource := v1alpha1.NewResource(n.Kind) != nil
		kinds = append(kinds, kind{
			Kind: n.Kind, Plural: n.Plural, Conditions: conditions,
			Resource: isResource, Written: isResource || n.Kind == "ExternalType",
		})
	}
	return kinds, nil
}

// names are the plural names of kinds: all of them, and those that users write.
type names struct{ All, Written []string }

func namesOf(kinds []kind) names {
	var n names
	for _, k := range kinds {
		n.All = append(n.All, k.Plural)
		if k.Written {
			n.Written = append(n.Written, k.Plural)
		}
	}
	return n
}

// writeHealth writes the health.lua of a folder to a ConfigMap, for each kind with conditions.
func writeHealth(dir string, kinds []kind) error {
	lua, err := os.ReadFile(filepath.Join(dir, "health.lua"))
	if err != nil {
		return err
	}
	var data struct{ Kinds, Health []string }
	data.Health = strings.Split(strings.TrimSpace(string(lua)), "\n")
	for _, k := range kinds {
		if k.Conditions {
			data.Kinds = append(data.Kinds, k.Kind)
		}
	}
	return write(filepath.Join(dir, "argocd-cm.yaml"), argocd, data)
}

func write(name, text string, data any) error {
	t, err := template.New(filepath.Base(name)).Parse(text)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, data); err != nil {
		return fmt.Errorf("cannot write %s: %w", name, err)
	}
	return os.WriteFile(name, out.Bytes(), 0o644)
}
