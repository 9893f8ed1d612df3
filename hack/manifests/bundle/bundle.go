// Package bundle collects the manifests of a kustomization in the order in which they are applied.
//
// It reads only lists of resources. config/default uses nothing else that changes objects, so the result has the objects
// of `kubectl kustomize config/default`, and it still has the comments.
package bundle

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"sigs.k8s.io/yaml"
)

// The images in config, to be replaced by those of an installation.
const (
	ManagerImage = "fettle-manager:latest"
	AgentImage   = "fettle-nodeagent:latest"
)

// A File is a manifest: a path and YAML documents.
type File struct{ Path, Text string }

// Read returns the files that the kustomization in a folder consists of.
func Read(fsys fs.FS, dir string) ([]File, error) {
	var list struct {
		Resources []string `json:"resources"`
	}
	text, err := kustomization(fsys, dir)
	if err != nil {
		return nil, err
	}
	if err := yaml.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("cannot read the kustomization in %s: %w", dir, err)
	}
	var files []File
	for _, r := range list.Resources {
		name := path.Join(dir, r)
		if path.Ext(name) != ".yaml" {
			below, err := Read(fsys, name)
			if err != nil {
				return nil, err
			}
			files = append(files, below...)
			continue
		}
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		files = append(files, File{name, string(text)})
	}
	return files, nil
}

func kustomization(fsys fs.FS, dir string) ([]byte, error) {
	text, err := fs.ReadFile(fsys, path.Join(dir, "kustomization.yaml"))
	if err != nil {
		return fs.ReadFile(fsys, path.Join(dir, "Kustomization"))
	}
	return text, nil
}

// Join returns one stream of documents with these images.
func Join(files []File, manager, agent string) string {
	var out strings.Builder
	for _, f := range files {
		text := strings.NewReplacer("image: "+ManagerImage, "image: "+manager, "image: "+AgentImage, "image: "+agent).Replace(f.Text)
		out.WriteString("---\n" + strings.TrimSuffix(strings.TrimPrefix(text, "---\n"), "\n") + "\n")
	}
	return out.String()
}
