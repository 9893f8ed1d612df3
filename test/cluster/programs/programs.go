// Package programs provides the programs of a test cluster, which are built from Go modules and cached.
package programs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
)

// Programs are directories with the programs.
type Programs struct {
	// ControlPlane has etcd, kube-apiserver and kubectl.
	ControlPlane string
	// Dir has the other programs of the control plane in bin, the images of the cluster in images, and a layer for
	// machines in node.
	Dir string
}

// Build builds what is missing, which takes a quarter of an hour the first time. checkout is the directory of the module.
func Build(ctx context.Context, checkout string, progress io.Writer) (p Programs, err error) {
	if p.ControlPlane, err = script(ctx, filepath.Join(checkout, "hack/controlplane/build.sh"), progress); err != nil {
		return p, err
	}
	p.Dir, err = script(ctx, filepath.Join(checkout, "hack/cluster/build.sh"), progress)
	return p, err
}

// script runs a script that prints a directory.
func script(ctx context.Context, path string, progress io.Writer) (string, error) {
	cmd := exec.CommandContext(ctx, path)
	cmd.Stderr = progress
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return string(bytes.TrimSpace(out)), nil
}

// Layer is the tree of the programs of a node.
func (p Programs) Layer() string { return filepath.Join(p.Dir, "node") }

// Image is the archive of an image of the cluster: pause or dns.
func (p Programs) Image(name string) string { return filepath.Join(p.Dir, "images", name+".tar") }

// Path is the path of a program of the control plane.
func (p Programs) Path(name string) string {
	switch name {
	case "etcd", "kube-apiserver", "kubectl":
		return filepath.Join(p.ControlPlane, name)
	}
	return filepath.Join(p.Dir, "bin", name)
}
