package upgrade_test

import (
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/external/image"
	"github.com/fettle-dev/fettle/internal/external/image/archive"
	"github.com/fettle-dev/fettle/internal/seal"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
	"github.com/fettle-dev/fettle/test/fixtures/locked"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

// A node is a Debian root with an agent whose version changes, and its objects in a cluster without a manager.
type node struct {
	*WithT
	t     *testing.T
	cfg   *rest.Config // the administrator's
	admin client.Client
	name  string
	root  string

	agent *controlplane.Process
	log   *locked.Buffer
}

func newNode(t *testing.T, cfg *rest.Config) *node {
	t.Helper()
	n := &node{WithT: NewWithT(t), t: t, cfg: cfg, admin: controlplane.Admin(t, cfg), root: debian.Root(t)}
	n.name = strings.ReplaceAll(filepath.Base(t.Name()), "_", "-")
	must(t, n.admin.Create(t.Context(), n.object()))
	return n
}

func (n *node) object() *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.name}}
}

// start starts the agent of a version.
func (n *node) start(v version) {
	n.t.Helper()
	bound := n.object()
	must(n.t, n.admin.Get(n.t.Context(), client.ObjectKeyFromObject(bound), bound))
	token, err := controlplane.AgentToken(n.t.Context(), n.admin, bound)
	must(n.t, err)
	cfg := rest.AnonymousClientConfig(n.cfg)
	cfg.BearerToken = token
	n.startWith(v, cfg)
}

// startWithoutCluster starts an agent to which no API server answers.
func (n *node) startWithoutCluster(v version) {
	n.t.Helper()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	must(n.t, err)
	must(n.t, closed.Close())
	cfg := rest.AnonymousClientConfig(n.cfg)
	cfg.Host = "https://" + closed.Addr().String()
	n.startWith(v, cfg)
}

func (n *node) startWith(v version, cfg *rest.Config) {
	n.t.Helper()
	file := filepath.Join(n.t.TempDir(), "kubeconfig")
	must(n.t, controlplane.WriteKubeconfig(file, cfg, ""))
	written := &locked.Buffer{}
	agent := &controlplane.Process{
		Path: v.program("nodeagent"), Err: written,
		Args: []string{"--kubeconfig=" + file, "--node-name=" + n.name, "--root=" + n.root, "--splay=0s", "--spread=0s", "--watch=false"},
	}
	must(n.t, agent.Start())
	n.t.Cleanup(func() {
		agent.Stop()
		if n.t.Failed() {
			n.t.Logf("the agent in %s logged:\n%s", v.dir, written)
		}
	})
	n.agent, n.log = agent, written
}

func (n *node) stop() { n.agent.Stop() }

func (n *node) soon(what string, holds func(g Gomega)) {
	n.t.Helper()
	n.Eventually(holds).WithTimeout(patient.Limit).WithPolling(20*time.Millisecond).Should(Succeed(), what)
}

// logs waits for a text in the log of the agent.
func (n *node) logs(text string) {
	n.t.Helper()
	n.soon(text, func(g Gomega) { g.Expect(n.log.String()).To(ContainSubstring(text)) })
}

// etc returns the path of a file in the node's /etc.
func (n *node) etc(name string) string { return filepath.Join(n.root, "etc", name) }

func (n *node) write(name, content string) {
	n.t.Helper()
	must(n.t, os.WriteFile(n.etc(name), []byte(content), 0o600))
}

// has waits until a file has a content.
func (n *node) has(name, content string) {
	n.t.Helper()
	n.soon(name, func(g Gomega) {
		text, err := os.ReadFile(n.etc(name))
		g.Expect(string(text), err).To(Equal(content))
	})
}

// should creates the NodeCatalog, or replaces its entries, of which it has those that are the node's own, as a manager would write it.
func (n *node) should(entries ...v1alpha1.CatalogEntry) *v1alpha1.NodeCatalog {
	n.t.Helper()
	var spec v1alpha1.NodeCatalogSpec
	var shared []v1alpha1.CatalogEntry
	for _, e := range entries {
		if e.Sealed != nil {
			spec.Entries = append(spec.Entries, e)
		} else {
			shared = append(shared, e)
		}
	}
	if len(shared) > 0 {
		c := &v1alpha1.Catalog{ObjectMeta: metav1.ObjectMeta{Name: catalog.Name(shared)}, Count: int32(len(shared)), Entries: shared}
		must(n.t, client.IgnoreAlreadyExists(n.admin.Create(n.t.Context(), c)))
		spec.Catalogs = []v1alpha1.CatalogRef{{Name: c.Name}}
	}
	nc := n.catalog()
	if nc.UID == "" {
		nc.Spec = spec
		must(n.t, n.admin.Create(n.t.Context(), nc))
		return nc
	}
	before := nc.DeepCopy()
	nc.Spec = spec
	must(n.t, n.admin.Patch(n.t.Context(), nc, client.MergeFrom(before)))
	return nc
}

// catalog returns the NodeCatalog, a new one if there is none.
func (n *node) catalog() *v1alpha1.NodeCatalog {
	n.t.Helper()
	nc := &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: n.name}}
	must(n.t, client.IgnoreNotFound(n.admin.Get(n.t.Context(), client.ObjectKeyFromObject(nc), nc)))
	return nc
}

// applied waits until the agent has applied a NodeCatalog.
func (n *node) applied(nc *v1alpha1.NodeCatalog) v1alpha1.NodeCatalogStatus {
	n.t.Helper()
	var status v1alpha1.NodeCatalogStatus
	n.soon("the catalog is applied", func(g Gomega) {
		status = n.catalog().Status
		g.Expect(status.AppliedGeneration).To(Equal(nc.Generation))
	})
	return status
}

// publicKey waits for the key of the node.
func (n *node) publicKey() (key seal.PublicKey) {
	n.t.Helper()
	n.soon("the key is published", func(g Gomega) {
		var err error
		key, err = seal.ParsePublicKey(n.catalog().Status.PublicKey)
		g.Expect(err).NotTo(HaveOccurred())
	})
	return key
}

// file returns an entry for a file in /etc.
func file(name, content string, policy v1alpha1.DeletionPolicy) v1alpha1.CatalogEntry {
	return v1alpha1.CatalogEntry{
		Kind: "File", Name: name, DeletionPolicy: policy, Attributes: attributes(map[string]string{"path": "/etc/" + name, "content": content, "mode": "0644"}),
	}
}

// directory returns an entry for a directory in /etc.
func directory(name string, policy v1alpha1.DeletionPolicy) v1alpha1.CatalogEntry {
	return v1alpha1.CatalogEntry{
		Kind: "File", Name: name, DeletionPolicy: policy, Attributes: attributes(map[string]string{"path": "/etc/" + name, "ensure": "directory"}),
	}
}

func attributes(of map[string]string) *runtime.RawExtension {
	raw, _ := json.Marshal(of) // texts
	return &runtime.RawExtension{Raw: raw}
}

// sealed returns an entry for a file in /etc with a sealed content.
func (n *node) sealed(to seal.PublicKey, name, content string) v1alpha1.CatalogEntry {
	n.t.Helper()
	e := v1alpha1.CatalogEntry{Kind: "File", Name: name, Attributes: attributes(map[string]string{"path": "/etc/" + name})}
	value, err := seal.Seal(to, seal.Purpose{Node: n.name, Ref: string(e.Ref()), Attribute: "content"}, []byte(content))
	must(n.t, err)
	from := v1alpha1.SealedFrom{KeyRef: v1alpha1.KeyRef{Namespace: "default", Name: name, Key: "text"}, Version: "1"}
	e.Sealed = []v1alpha1.SealedValue{{Attribute: "content", From: from, Key: to.Fingerprint(), Value: value}}
	return e
}

// external returns an entry for a resource of an external type, which it creates in the cluster.
func (n *node) external(typ *v1alpha1.ExternalType, policy v1alpha1.DeletionPolicy) v1alpha1.CatalogEntry {
	n.t.Helper()
	typ.Name = "notes-" + n.name
	must(n.t, n.admin.Create(n.t.Context(), typ))
	digest, err := definition.Digest(typ.Spec)
	must(n.t, err)
	return v1alpha1.CatalogEntry{
		Kind: typ.Spec.Kind, Name: "hello", Type: typ.Name + "@" + digest, DeletionPolicy: policy, Attributes: attributes(map[string]string{"ensure": "present"}),
	}
}

// note is a program that manages the file /etc/note.
const note = `#!/bin/sh
echo '{"answer":"hello","protocol":"Fettle/1"}'
while read -r line; do
	case $line in
	*'"request":"get"'*)
		state=null
		if [ -e /etc/note ]; then state='{"name":"hello"}'; fi
		echo '{"answer":"get","name":"hello","state":'"$state"'}' ;;
	*'"request":"set"'*'"ensure":"absent"'*)
		rm /etc/note
		echo '{"answer":"set","name":"hello"}' ;;
	*'"request":"set"'*)
		printf hello >/etc/note
		echo '{"answer":"set","name":"hello"}' ;;
	esac
done
`

// notes returns a type with its program in a registry.
func notes(t *testing.T) (*httptest.Server, *v1alpha1.ExternalType) {
	t.Helper()
	images := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(images.Close)
	program := archive.Source{Name: "main.sh", Executable: true, Content: []byte(note)}
	at, err := image.Push(t.Context(), strings.TrimPrefix(images.URL, "http://")+"/types/note:1", map[image.Platform][]archive.Source{{}: {program}})
	must(t, err)
	return images, &v1alpha1.ExternalType{Spec: v1alpha1.ExternalTypeSpec{
		Kind: "Note", Version: "1", Description: "Manages a note.",
		Attributes: []v1alpha1.ExternalAttribute{{
			Name: "name", Description: "Its name.", Behaviour: v1alpha1.BehaviourNamevar, Schema: &runtime.RawExtension{Raw: []byte(`{"type":"string"}`)},
		}},
		Providers: []v1alpha1.ExternalProvider{{Name: "sh", Command: []string{"./main.sh"}}},
		Source:    v1alpha1.ExternalSource{Image: at},
	}}
}
