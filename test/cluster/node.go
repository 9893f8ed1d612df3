package cluster

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/fettle-dev/fettle/test/cluster/node"
	"github.com/fettle-dev/fettle/test/cluster/pki"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

const (
	bridge     = "cluster0"
	pauseImage = "localhost/pause:cluster"
)

//go:embed dns.yaml
var dnsManifest string

func addressOf(i int) string { return fmt.Sprintf("%s.%d", networkPrefix, 11+i) }
func podsOf(i int) string    { return fmt.Sprintf("%s.%d.0/24", podPrefix, 1+i) }

// A Node is a machine of a cluster.
type Node struct {
	*debian.Machine
	Name, Address string
	cluster       *Cluster
}

// Nodes returns the nodes, in the order of Options.Nodes.
func (c *Cluster) Nodes() []*Node { return c.nodes }

// startNodes boots all machines at once, and waits until they are ready.
func (c *Cluster) startNodes(ctx context.Context) error {
	c.nodes = make([]*Node, len(c.options.Nodes))
	boots, bootCtx := errgroup.WithContext(ctx)
	for i := range c.nodes {
		boots.Go(func() error { return c.startNode(bootCtx, i) })
	}
	if err := boots.Wait(); err != nil {
		return err
	}
	for _, name := range c.options.Nodes { // of several at once that are missing, kubectl reports an error
		if _, err := c.Kubectl(ctx, "wait", "--for=create", "--timeout=2m", "node", name); err != nil {
			return err
		}
	}
	_, err := c.Kubectl(ctx, append([]string{"wait", "--for=condition=Ready", "--timeout=2m", "node"}, c.options.Nodes...)...)
	return err
}

func (c *Cluster) startNode(ctx context.Context, i int) error {
	name := c.options.Nodes[i]
	credentials, err := c.credentials(name, addressOf(i))
	if err != nil {
		return err
	}
	description := node.Node{
		Name: name, Address: addressOf(i), Gateway: gateway, PodCIDR: podsOf(i), ClusterCIDR: podCIDR, ClusterDNS: dnsIP,
		PauseImage: pauseImage, Credentials: credentials,
	}
	for other := range c.options.Nodes {
		if other != i {
			description.Routes = append(description.Routes, node.Route{CIDR: podsOf(other), Via: addressOf(other)})
		}
	}
	m, err := debian.Start(ctx, debian.Spec{
		Hostname: name, Bridge: bridge, NetNS: c.netns.Path(), Layers: c.layers, Volumes: node.Volumes(), Prepare: description.WriteTo,
	}, c.options.Progress)
	if err != nil {
		return err
	}
	c.nodes[i] = &Node{Machine: m, Name: name, Address: addressOf(i), cluster: c}
	return c.nodes[i].LoadImage(ctx, c.programs.Image("pause"))
}

// credentials are the files of a node: its kubelet's certificate for clients and servers, and kube-proxy's.
func (c *Cluster) credentials(name, address string) (map[string][]byte, error) {
	files := map[string][]byte{"ca.crt": c.authority.Certificate()}
	for file, id := range map[string]pki.Identity{
		"kubelet.conf": {Name: "system:node:" + name, Groups: []string{"system:nodes"}, Hosts: []string{name, address}},
		"proxy.conf":   {Name: "system:kube-proxy"},
	} {
		certificate, key, err := c.authority.Issue(id)
		if err != nil {
			return nil, err
		}
		if files[file], err = c.kubeconfig("https://"+server, certificate, key); err != nil {
			return nil, err
		}
		if len(id.Hosts) > 0 {
			files["node.crt"], files["node.key"] = certificate, key
		}
	}
	return files, nil
}

// LoadImage imports an archive of an image, as a registry would provide it.
func (n *Node) LoadImage(ctx context.Context, archive string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	return poll(ctx, "containerd on "+n.Name, func() error {
		if _, err := f.Seek(0, 0); err != nil {
			return err
		}
		load := n.Command(ctx, "ctr", "--namespace", "k8s.io", "images", "import", "--local", "-")
		load.Stdin = f
		_, err := output(load)
		return err
	})
}

// LoadImage imports an archive of an image on all nodes.
func (c *Cluster) LoadImage(ctx context.Context, archive string) error {
	loads, ctx := errgroup.WithContext(ctx)
	for _, n := range c.nodes {
		loads.Go(func() error { return n.LoadImage(ctx, archive) })
	}
	return loads.Wait()
}

// Shell runs a script on the node, as root, and returns its standard output.
func (n *Node) Shell(ctx context.Context, script string) (string, error) {
	return n.Run(ctx, "sh", "-euc", script)
}

// Disconnect cuts the node off from the network. Connect undoes that.
func (n *Node) Disconnect(ctx context.Context) error { return n.link(ctx, "down") }

// Connect connects a node again.
func (n *Node) Connect(ctx context.Context) error {
	if err := n.link(ctx, "up"); err != nil {
		return err
	}
	// Routes are lost with the link.
	_, err := n.Run(ctx, "cluster-prepare")
	return err
}

func (n *Node) link(ctx context.Context, state string) error {
	_, err := n.Run(ctx, "ip", "link", "set", "host0", state)
	return err
}

// Logs returns what the units of the node logged.
func (n *Node) Logs(ctx context.Context, units ...string) (string, error) {
	args := []string{"journalctl", "--no-pager", "--output=short-precise"}
	for _, u := range units {
		args = append(args, "--unit="+u)
	}
	return n.Run(ctx, args...)
}

func (n *Node) stop() error {
	if n == nil {
		return nil
	}
	n.PowerOff()
	return n.Stop()
}

// startDNS installs CoreDNS and waits until it serves.
func (c *Cluster) startDNS(ctx context.Context) error {
	if err := c.LoadImage(ctx, c.programs.Image("dns")); err != nil {
		return err
	}
	if err := c.Apply(ctx, strings.ReplaceAll(dnsManifest, "CLUSTER_DNS", dnsIP)); err != nil {
		return err
	}
	_, err := c.Kubectl(ctx, "--namespace=kube-system", "rollout", "status", "deployment/coredns", "--timeout=2m")
	return err
}
