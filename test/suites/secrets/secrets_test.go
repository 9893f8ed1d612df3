package secrets_test

import (
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	reports "github.com/fettle-dev/fettle/api/reports/v1alpha1"
	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/planning"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
	"github.com/fettle-dev/fettle/test/fixtures/nodequestions"
)

// protected is a label that kubelets may not set.
const protected = "node-restriction.kubernetes.io/tier"

// TestSecretReachesItsHostsOnly is a sequence: each step starts from the result of the previous one.
func TestSecretReachesItsHostsOnly(t *testing.T) {
	cfg, readEtcd := controlplane.StartOpen(t)
	f := newFixture(t, cfg, readEtcd)
	questions, _ := nodequestions.ServeHub(t, cfg, func(ctx context.Context) (*planning.Base, error) { return f.fleet.Load().PlanBase(ctx) })
	f.startManager()
	front, back := f.newMachine("front-1", "front"), f.newMachine("back-1", "back")
	front.start()
	back.start()

	token := f.createSecret("token", "one")
	f.createFile("token", "/etc/token", "token", nil)
	f.createSecret("unlabelled", "never", func(s *corev1.Secret) { s.Labels = nil })
	f.createFile("unlabelled", "/etc/unlabelled", "unlabelled", nil)
	f.createFile("nowhere", "/no/where/token", "token", nil)
	f.createFile("claimed", "/etc/claimed", "token", func(f *v1alpha1.File) {
		f.Spec.NodeSelector.MatchLabels = map[string]string{"role": "front"}
	})
	front.write("/etc/reported", f.secretValue("of the host"))
	f.createFile("reported", "/etc/reported", "token", func(f *v1alpha1.File) { f.Spec.Noop = new(true) })
	f.createUser("ann", f.createSecret("hash", "with a colon: and a line break\n"))
	front.awaitContent("/etc/token", "one")
	f.eventually("one that no host could write is told to fail", func(g Gomega) { g.Expect(f.readyCondition("nowhere")).To(Equal("False Failed")) })
	f.eventually("the manager says why a host has it not", func(g Gomega) {
		g.Expect(f.readyCondition("token")).To(Equal("True InSync"))
		g.Expect(f.readyCondition("unlabelled")).To(Equal("False UnexposedSecret"))
		g.Expect(f.readyCondition("claimed")).To(Equal("False UnprotectedTargeting"))
	})
	f.checkEtcd()

	t.Log("the Secret changes")
	f.updateSecret(token, "two")
	front.awaitContent("/etc/token", "two")
	f.checkEtcd()

	t.Log("the host drifts")
	front.write("/etc/token", f.secretValue("drifted"))
	front.awaitContent("/etc/token", "two")

	t.Log("the host is asked")
	checkNoSecret(t, f.askNode(questions, "front-1"))
	checkNoSecret(t, f.askPlans(questions))

	t.Log("the key is lost")
	front.stop()
	must(t, os.Remove(filepath.Join(front.stateDir(), "keys/sealing.json")))
	lost := f.nodeCatalog("front-1").Status.PublicKey
	front.start()
	front.eventually("it is sealed to another key", func(g Gomega) {
		g.Expect(f.nodeCatalog("front-1").Status.PublicKey).NotTo(Equal(lost))
		g.Expect(f.readyCondition("token")).To(Equal("True InSync"))
		g.Expect(front.isSealedToItsKey()).To(BeTrue())
	})
	f.updateSecret(token, "three")
	front.awaitContent("/etc/token", "three")

	t.Log("the key is of age")
	old := f.nodeCatalog("front-1").Status.PublicKey
	front.clock.Step(90 * 24 * time.Hour)
	front.eventually("it is sealed to another key, and the old one is dropped", func(g Gomega) {
		g.Expect(f.nodeCatalog("front-1").Status.PublicKey).NotTo(Equal(old))
		g.Expect(front.isSealedToItsKey()).To(BeTrue())
		g.Expect(strings.Count(front.stateFile("keys/sealing.json"), "seed")).To(Equal(1))
		g.Expect(f.readyCondition("token")).To(Equal("True InSync"))
	})
	front.awaitContent("/etc/token", "three")

	t.Log("the manager starts again")
	f.stopManager()
	version := f.nodeCatalog("front-1").Generation
	f.startManager()
	f.updateSecret(f.createSecret("other", "x"), "y") // once the manager has seen this, it has seen everything before
	f.createFile("other", "/etc/other", "other", nil)
	front.awaitContent("/etc/other", "y")
	if is := f.nodeCatalog("front-1").Generation; is != version+1 {
		t.Errorf("the NodeCatalog was written %d times instead of once", is-version)
	}

	t.Log("the Secret is no longer for nodes")
	must(t, f.admin.Get(t.Context(), client.ObjectKeyFromObject(token), token))
	token.Labels = nil
	must(t, f.admin.Update(t.Context(), token))
	f.eventually("the manager says so", func(g Gomega) { g.Expect(f.readyCondition("token")).To(Equal("False UnexposedSecret")) })
	f.updateSecret(token, "four")
	front.eventually("it has applied that", func(g Gomega) {
		nc := f.nodeCatalog("front-1")
		g.Expect(nc.Status.AppliedGeneration).To(Equal(nc.Generation))
	})
	front.awaitContent("/etc/token", "three")
	if nc := f.nodeCatalog("front-1"); strings.Contains(jsonOf(t, nc.Spec.Entries), `"token"`) {
		t.Error("the secret is still in the NodeCatalog")
	}
	token.Labels = map[string]string{v1alpha1.LabelExposeToNodes: "true"}
	must(t, f.admin.Update(t.Context(), token))
	front.awaitContent("/etc/token", "four")

	f.writeOpenReports()
	f.checkEtcd()
	front.stop()
	back.stop()
	f.stopManager()
	f.checkOutput(front, back)
	for _, path := range []string{"etc/token", "etc/claimed", "etc/unlabelled"} {
		if _, err := os.Stat(filepath.Join(back.root, path)); err == nil {
			t.Errorf("%s is on an unselected host", path)
		}
	}
}

// askNode asks a node for its differences and reports, with the rights of an administrator.
func (f *fixture) askNode(c client.Client, node string) map[string]string {
	f.t.Helper()
	var diff reports.NodeDiff
	must(f.t, c.Get(f.t.Context(), client.ObjectKey{Name: node}, &diff))
	var list reports.NodeReportList
	must(f.t, c.List(f.t.Context(), &list, client.MatchingFields{reports.FieldNode: node}))
	if len(list.Items) == 0 || !strings.Contains(string(diff.Report.Raw), "File/reported") {
		f.t.Errorf("the node answers with %d reports, and with the difference %s", len(list.Items), diff.Report.Raw)
	}
	return map[string]string{"the difference": string(diff.Report.Raw), "the reports": jsonOf(f.t, list)}
}

// askPlans plans changes of the File that has the secret, and returns the answers of the nodes, one of which has drifted.
func (f *fixture) askPlans(c client.Client) map[string]string {
	f.t.Helper()
	all := map[string]string{}
	for what, spec := range map[string]string{
		"another mode":        `path: /etc/token, mode: "0604", contentFrom: {secretKeyRef: {namespace: default, name: token, key: text}}`,
		"another Secret":      `path: /etc/token, contentFrom: {secretKeyRef: {namespace: default, name: hash, key: text}}`,
		"a content for all":   `path: /etc/token, content: plain`,
		"a link in its place": `path: /etc/token, target: /etc/passwd`,
	} {
		p := &reports.Plan{}
		p.Spec.Manifests = []reports.PlanManifest{{Name: "f", Text: "apiVersion: fettle.dev/v1alpha1\nkind: File\nmetadata: {name: token}\nspec: {nodeSelector: {}, acceptSelfLabelledNodes: true, " + spec + "}\n"}}
		f.eventually("a plan", func(g Gomega) {
			asked := p.DeepCopy()
			g.Expect(c.Create(f.t.Context(), asked)).To(Succeed())
			all["a plan of "+what] = jsonOf(f.t, asked.Status)
			g.Expect(all["a plan of "+what]).To(And(ContainSubstring(`"answer":"Report"`), Not(ContainSubstring(`"answer":"None"`)), ContainSubstring("changed")))
		})
	}
	return all
}

func (f *fixture) createSecret(name, value string, adjust ...func(*corev1.Secret)) *corev1.Secret {
	f.t.Helper()
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{v1alpha1.LabelExposeToNodes: "true"}},
		Data:       map[string][]byte{"text": []byte(f.secretValue(value))},
	}
	for _, a := range adjust {
		a(s)
	}
	must(f.t, f.admin.Create(f.t.Context(), s))
	return s
}

func (f *fixture) updateSecret(s *corev1.Secret, value string) {
	f.t.Helper()
	s.Data["text"] = []byte(f.secretValue(value))
	must(f.t, f.admin.Update(f.t.Context(), s))
}

func ref(secret string) v1alpha1.KeyRef {
	return v1alpha1.KeyRef{Namespace: "default", Name: secret, Key: "text"}
}

// createFile creates a File on front hosts, unless adjust changes that.
func (f *fixture) createFile(name, path, secret string, adjust func(*v1alpha1.File)) {
	f.t.Helper()
	from := ref(secret)
	o := &v1alpha1.File{ObjectMeta: metav1.ObjectMeta{Name: name}}
	o.Spec.NodeSelector = &metav1.LabelSelector{MatchLabels: map[string]string{protected: "front"}}
	o.Spec.Path, o.Spec.ShowDiff, o.Spec.Audit = path, new(true), []string{"all"}
	o.Spec.ContentFrom, o.Spec.DeletionPolicy = &v1alpha1.ValueSource{SecretKeyRef: &from}, v1alpha1.DeletionDelete
	if adjust != nil {
		adjust(o)
	}
	must(f.t, f.admin.Create(f.t.Context(), o))
}

func (f *fixture) createUser(name string, secret *corev1.Secret) {
	f.t.Helper()
	o := &v1alpha1.User{ObjectMeta: metav1.ObjectMeta{Name: name}}
	o.Spec.NodeSelector = &metav1.LabelSelector{}
	o.Spec.PasswordFrom, o.Spec.DeletionPolicy = &v1alpha1.SecretSource{SecretKeyRef: ref(secret.Name)}, v1alpha1.DeletionRestore
	must(f.t, f.admin.Create(f.t.Context(), o))
}

// This proves that the search can find secrets.
func TestSearchFindsEncodedSecrets(t *testing.T) {
	for _, before := range []string{"", "a", "ab", "abc"} {
		for _, text := range []string{before + marked, base64.StdEncoding.EncodeToString([]byte(before + marked + before))} {
			if !hasSecret(`{"x":"` + text + `"}`) {
				t.Errorf("%s is not found in %s", marked, text)
			}
		}
	}
	if hasSecret("Marked-5ecret") {
		t.Error("the search found text that is not a secret")
	}
}
