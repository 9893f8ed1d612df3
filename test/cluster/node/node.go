// Package node describes a machine of a test cluster: the files that make a Debian machine a Kubernetes node.
//
// The files are templates under files/, at the paths that they get on the machine. A node runs containerd, kubelet and
// kube-proxy as services of its systemd.
package node

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

//go:embed files
var files embed.FS

// A Node has the parameters of the templates.
type Node struct {
	Name, Address string
	// Gateway is the address of the machine that the control plane runs on.
	Gateway string
	// PodCIDR are the addresses of the node's pods, ClusterCIDR those of all pods.
	PodCIDR, ClusterCIDR string
	// Routes lead to the pods of the other nodes.
	Routes []Route
	// ClusterDNS is the address of the cluster's DNS service.
	ClusterDNS string
	// PauseImage is the image of pod sandboxes.
	PauseImage string
	// Credentials are files in /etc/kubernetes, by name.
	Credentials map[string][]byte
}

// A Route leads to a range of addresses via another node.
type Route struct{ CIDR, Via string }

// services start with the machine.
func services() []string { return []string{"containerd", "kubelet", "kube-proxy"} }

// masked are units of Debian that a node doesn't need. Each takes one of the few inotify instances that the kernel grants.
func masked() []string {
	return []string{"systemd-ask-password-console.path", "systemd-ask-password-wall.path", "systemd-logind.service"}
}

// Volumes are the directories that must not be on an overlay.
func Volumes() []string { return []string{"/var/lib/containerd", "/var/lib/kubelet"} }

// WriteTo writes the files into a machine's tree.
func (n Node) WriteTo(root string) error {
	err := fs.WalkDir(files, "files", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return n.render(path, filepath.Join(root, strings.TrimPrefix(path, "files/")))
	})
	if err != nil {
		return err
	}
	for name, content := range n.Credentials {
		if err := write(filepath.Join(root, "etc/kubernetes", name), content, 0o600); err != nil {
			return err
		}
	}
	return linkUnits(filepath.Join(root, "etc/systemd/system"))
}

// linkUnits enables services and masks units.
func linkUnits(dir string) error {
	wants := filepath.Join(dir, "multi-user.target.wants")
	if err := os.MkdirAll(wants, 0o755); err != nil {
		return err
	}
	for _, name := range services() {
		if err := os.Symlink("../"+name+".service", filepath.Join(wants, name+".service")); err != nil {
			return err
		}
	}
	for _, name := range masked() {
		if err := os.Symlink("/dev/null", filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

func (n Node) render(name, path string) error {
	t, err := template.ParseFS(files, name)
	if err != nil {
		return err
	}
	var text strings.Builder
	if err := t.Execute(&text, n); err != nil {
		return fmt.Errorf("cannot render %s: %w", name, err)
	}
	mode := os.FileMode(0o644)
	if strings.HasPrefix(text.String(), "#!") {
		mode = 0o755
	}
	return write(path, []byte(text.String()), mode)
}

func write(path string, content []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, content, mode); err != nil {
		return err
	}
	return os.Chmod(path, mode) // also of a file that was there
}
