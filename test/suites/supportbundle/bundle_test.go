package supportbundle_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/cli/fleet"
	"github.com/fettle-dev/fettle/internal/cli/place"
	"github.com/fettle-dev/fettle/internal/cli/program"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/state"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

const mark = "S3cretMarkOfTheTest"

func TestBundleHasWhatABugReportNeedsAndNoSecrets(t *testing.T) {
	debian.Require(t)
	kubeconfig, root := plantCluster(t), plantHost(t)
	files, said := collect(t, "cluster", "host", "--kubeconfig", kubeconfig, "--root", root)

	for name, text := range files {
		for _, form := range []string{mark, base64.StdEncoding.EncodeToString([]byte(mark)), "last-applied-configuration"} {
			if strings.Contains(text, form) {
				t.Errorf("%s contains %s:\n%s", name, form, text)
			}
		}
	}
	for name, want := range map[string]string{
		"version.txt":                                                           "",
		"cluster/version.yaml":                                                  "gitVersion: v1.",
		"cluster/files.fettle.dev.yaml":                                         "path: /etc/motd",
		"cluster/users.fettle.dev.yaml":                                         "name: deploy",
		"cluster/execs.fettle.dev.yaml":                                         "name: login",
		"cluster/nodecatalogs.fettle.dev.yaml":                                  "message: cannot write the file",
		"cluster/catalogs.fettle.dev.yaml":                                      "count: 1",
		"cluster/rolloutpolicies.fettle.dev.yaml":                               "maxFailed: 3",
		"cluster/catalogrevisions.fettle.dev.yaml":                              "message: mode is wrong",
		"cluster/nodes.yaml":                                                    "name: web-1",
		"cluster/clusterroles.rbac.authorization.k8s.io.yaml":                   "nodecatalogs/status",
		"cluster/fettle-nodes/roles.rbac.authorization.k8s.io.yaml":             "serviceaccounts/token",
		"cluster/validatingadmissionpolicies.admissionregistration.k8s.io.yaml": "failurePolicy: Fail",
		"cluster/customresourcedefinitions.apiextensions.k8s.io.yaml":           "name: files.fettle.dev",
		"cluster/default/events.events.k8s.io.yaml":                             "note: the file was corrected",
		"cluster/fettle-nodes/pods.yaml":                                        "image: fettle-nodeagent:v1",
		"cluster/fettle-nodes/daemonsets.apps.yaml":                             "image: fettle-nodeagent:v1",
		"errors.txt":            "cluster/fettle-nodes/logs/fettle-nodeagent-1/nodeagent.log: ", // there is no kubelet
		"host/facts.yaml":       "family: Debian",
		"host/last_report.yaml": "message: the disk is full",
		"host/agent.yaml":       "the disk is failing",
		"host/state.txt":        "last_run_report.json",
	} {
		if text, ok := files[name]; !ok || !strings.Contains(text, want) {
			t.Errorf("%s lacks %q: %.500s", name, want, text)
		}
	}
	if !strings.Contains(said, "see errors.txt") {
		t.Error(said)
	}
}

func TestIncompleteBundleIsRemoved(t *testing.T) {
	var out, stderr bytes.Buffer
	file := filepath.Join(t.TempDir(), "bundle.tar.gz")
	err := run(t, &out, &stderr, "support-bundle", "cluster", "--kubeconfig", filepath.Join(t.TempDir(), "none"), "-o", file)
	if err == nil || !strings.Contains(err.Error(), "cannot read your kubeconfig") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is left: %v", err)
	}
}

func TestBundleOfHostIsWrittenToNewFile(t *testing.T) {
	var out, stderr bytes.Buffer
	debian.Require(t)
	root, file := debian.Root(t), filepath.Join(t.TempDir(), "bundle.tar.gz")
	must(t, run(t, &out, &stderr, "support-bundle", "host", "--root", root, "-o", file))
	info, err := os.Stat(file)
	must(t, err)
	if info.Mode() != 0o600 || out.String() != "wrote "+file+"; read it before you send it\n" {
		t.Errorf("%s, %s", info.Mode(), out.String())
	}
	if err := run(t, &out, &stderr, "support-bundle", "host", "--root", root, "-o", file); !errors.Is(err, fs.ErrExist) {
		t.Errorf("an existing file: %v", err)
	}
}

// plantCluster returns an administrator's kubeconfig of a cluster with secrets.
func plantCluster(t *testing.T) string {
	t.Helper()
	cfg, _ := controlplane.Start(t)
	controlplane.Install(t, cfg)
	dir := t.TempDir()
	kubeconfig, objects := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "objects.yaml")
	must(t, controlplane.WriteKubeconfig(kubeconfig, cfg, ""))
	text, err := os.ReadFile("objects.yaml")
	must(t, err)
	must(t, os.WriteFile(objects, bytes.ReplaceAll(text, []byte("MARK"), []byte(mark)), 0o600))
	controlplane.Kubectl(t, kubeconfig, "apply", "-f", objects)

	admin := controlplane.Admin(t, cfg)
	entries := []v1alpha1.CatalogEntry{{Kind: "File", Name: "motd", Attributes: &runtime.RawExtension{Raw: []byte(`{"content":"` + mark + `"}`)}}}
	must(t, admin.Create(t.Context(), &v1alpha1.Catalog{ObjectMeta: metav1.ObjectMeta{Name: catalog.Name(entries)}, Count: 1, Entries: entries}))
	status := fmt.Sprintf(`{"status":{"agentVersion":"v1","facts":{"os":{"family":"Debian"},"external":%[1]q},"resources":[
		{"ref":"File/motd","state":"Failed","message":"cannot write the file","changes":[{"property":"mode","is":%[1]q,"should":%[1]q}]}]}}`, mark)
	must(t, admin.Status().Patch(t.Context(), &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: "web-1"}}, client.RawPatch(types.MergePatchType, []byte(status))))
	return kubeconfig
}

// plantHost returns the root of a host with secrets.
func plantHost(t *testing.T) string {
	t.Helper()
	root := debian.Root(t)
	dir := filepath.Join(root, state.DefaultDir)
	must(t, state.Disable(dir, "the disk is failing", metav1.Now().Time))
	report, err := json.Marshal(map[string]any{"kind": "Report", "status": "failed", "resources": []any{map[string]any{
		"ref": "File/motd", "state": "Failed", "message": "the disk is full",
		"events": []any{map[string]string{"property": "content", "is": mark, "should": mark, "historical": mark, "message": mark, "diff": mark, "output": mark}},
	}}})
	must(t, err)
	must(t, state.PutReport(dir, report))
	for name, text := range map[string]string{
		"etc/fettle/facts.d/secret.json": `{"external": "` + mark + `"}`, "etc/fettle/agent/token": mark, "etc/fettle/agent/kubeconfig": mark,
		"etc/systemd/system/fettle-nodeagent.service": "[Service]\nEnvironment=TOKEN=" + mark + "\n",
		"var/lib/fettle/keys/key":                     mark, "var/lib/fettle/bucket/content": mark,
	} {
		must(t, os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755))
		must(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	return root
}

// collect makes a bundle and returns its files by name, and what the command said.
func collect(t *testing.T, args ...string) (files map[string]string, said string) {
	t.Helper()
	var out, stderr bytes.Buffer
	must(t, run(t, &out, &stderr, append([]string{"support-bundle", "-o", "-"}, args...)...))
	if out.Len() == 0 || http.DetectContentType(out.Bytes()) != "application/x-gzip" {
		t.Fatalf("the output is no archive: %.100q", out.String())
	}
	unzipped, err := gzip.NewReader(&out)
	must(t, err)
	files = map[string]string{}
	for r := tar.NewReader(unzipped); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, stderr.String()
		}
		must(t, err)
		text, err := io.ReadAll(r)
		must(t, err)
		dir, name, _ := strings.Cut(header.Name, "/")
		if !strings.HasPrefix(dir, "fettle-support-") || header.Mode != 0o600 {
			t.Errorf("%s has mode %o", header.Name, header.Mode)
		}
		files[name] = string(text)
	}
}

func run(t *testing.T, out, stderr io.Writer, args ...string) error {
	t.Helper()
	return fleet.Run(t.Context(), fleet.Options{
		Hosts:   place.Hosts{Root: func(root string) (place.Host, error) { return linux.Open(linux.Options{Root: root}) }},
		Streams: program.Streams{In: strings.NewReader(""), Out: out, Err: stderr},
	}, args)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
