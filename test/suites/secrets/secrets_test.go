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
	cfg, stored := controlplane.StartOpen(t)
	w := newWorld(t, cfg, stored)
	questions, _ := nodequestions.ServeHub(t, cfg, func(ctx context.Context) (*planning.Base, error) { return w.fleet.Load().PlanBase(ctx) })
	w.startManager()
	front, back := w.machine("front-1", "front"), w.machine("back-1", "back")
	front.start()
	back.start()

	token := w.secret("token", "one")
	w.file("token", "/etc/token", "token", nil)
	w.secret("unlabelled", "never", func(s *corev1.Secret) { s.Labels = nil })
	w.file("unlabelled", "/etc/unlabelled", "unlabelled", nil)
	w.file("nowhere", "/no/where/token", "token", nil)
	w.file("claimed", "/etc/claimed", "token", func(f *v1alpha1.File) {
		f.Spec.NodeSelector.MatchLabels = map[string]string{"role": "front"}
	})
	front.write("/etc/reported", w.value("of the host"))
	w.file("reported", "/etc/reported", "token", func(f *v1alpha1.File) { f.Spec.Noop = new(true) })
	w.user("ann", w.secret("hash", "with a colon: and a line break\n"))
	front.has("/etc/token", "one")
	w.soon("one that no host could write is told to fail", func(g Gomega) { g.Expect(w.ready("nowhere")).To(Equal("False Failed")) })
	w.soon("the manager says why a host has it not", func(g Gomega) {
		g.Expect(w.ready("token")).To(Equal("True InSync"))
		g.Expect(w.ready("unlabelled")).To(Equal("False UnexposedSecret"))
		g.Expect(w.ready("claimed")).To(Equal("False UnprotectedTargeting"))
	})
	w.isOnlyInSecrets()

	t.Log("the Secret changes")
	w.change(token, "two")
	front.has("/etc/token", "two")
	w.isOnlyInSecrets()

	t.Log("the host drifts")
	front.write("/etc/token", w.value("drifted"))
	front.has("/etc/token", "two")

	t.Log("the host is asked")
	haveNoSecret(t, w.answers(questions, "front-1"))
	haveNoSecret(t, w.plans(questions))

	t.Log("the key is lost")
	front.stop()
	must(t, os.Remove(filepath.Join(front.stateDir(), "keys/sealing.json")))
	lost := w.catalog("front-1").Status.PublicKey
	front.start()
	front.passes("it is sealed to another key", func(g Gomega) {
		g.Expect(w.catalog("front-1").Status.PublicKey).NotTo(Equal(lost))
		g.Expect(w.ready("token")).To(Equal("True InSync"))
		g.Expect(front.sealedToItsKey()).To(BeTrue())
	})
	w.change(token, "three")
	front.has("/etc/token", "three")

	t.Log("the key is of age")
	old := w.catalog("front-1").Status.PublicKey
	front.clock.Step(90 * 24 * time.Hour)
	front.passes("it is sealed to another key, and the old one is dropped", func(g Gomega) {
		g.Expect(w.catalog("front-1").Status.PublicKey).NotTo(Equal(old))
		g.Expect(front.sealedToItsKey()).To(BeTrue())
		g.Expect(strings.Count(front.kept("keys/sealing.json"), "seed")).To(Equal(1))
		g.Expect(w.ready("token")).To(Equal("True InSync"))
	})
	front.has("/etc/token", "three")

	t.Log("the manager starts again")
	w.stopManager()
	version := w.catalog("front-1").Generation
	w.startManager()
	w.change(w.secret("other", "x"), "y") // once the manager has seen this, it has seen everything before
	w.file("other", "/etc/other", "other", nil)
	front.has("/etc/other", "y")
	if is := w.catalog("front-1").Generation; is != version+1 {
		t.Errorf("the NodeCatalog was written %d times instead of once", is-version)
	}

	t.Log("the Secret is no longer for nodes")
	must(t, w.admin.Get(t.Context(), client.ObjectKeyFromObject(token), token))
	token.Labels = nil
	must(t, w.admin.Update(t.Context(), token))
	w.soon("the manager says so", func(g Gomega) { g.Expect(w.ready("token")).To(Equal("False UnexposedSecret")) })
	w.change(token, "four")
	front.passes("it has applied that", func(g Gomega) {
		nc := w.catalog("front-1")
		g.Expect(nc.Status.AppliedGeneration).To(Equal(nc.Generation))
	})
	front.has("/etc/token", "three")
	if nc := w.catalog("front-1"); strings.Contains(jsonOf(t, nc.Spec.Entries), `"token"`) {
		t.Error("the secret is still in the NodeCatalog")
	}
	token.Labels = map[string]string{v1alpha1.LabelExposeToNodes: "true"}
	must(t, w.admin.Update(t.Context(), token))
	front.has("/etc/token", "four")

	w.writeOpenReports()
	w.isOnlyInSecrets()
	front.stop()
	back.stop()
	w.stopManager()
	w.isToldNowhere(front, back)
	for _, path := range []string{"etc/token", "etc/claimed", "etc/unlabelled"} {
		if _, err := os.Stat(filepath.Join(back.root, path)); err == nil {
			t.Errorf("%s is on an unselected host", path)
		}
	}
}

// answers asks a node how it differs and for its reports, with the rights of an administrator.
func (w *world) answers(c client.Client, node string) map[string]string {
	w.t.Helper()
	var diff reports.NodeDiff
	must(w.t, c.Get(w.t.Context(), client.ObjectKey{Name: node}, &diff))
	var list reports.NodeReportList
	must(w.t, c.List(w.t.Context(), &list, client.MatchingFields{reports.FieldNode: node}))
	if len(list.Items) == 0 || !strings.Contains(string(diff.Report.Raw), "File/reported") {
		w.t.Errorf("the node answers with %d reports, and with the difference %s", len(list.Items), diff.Report.Raw)
	}
	return map[string]string{"the difference": string(diff.Report.Raw), "the reports": jsonOf(w.t, list)}
}

// plans returns what the nodes answer to changes of what is secret there, with the drift of one of them.
func (w *world) plans(c client.Client) map[string]string {
	w.t.Helper()
	all := map[string]string{}
	for what, spec := range map[string]string{
		"another mode":        `path: /etc/token, mode: "0604", contentFrom: {secretKeyRef: {namespace: default, name: token, key: text}}`,
		"another Secret":      `path: /etc/token, contentFrom: {secretKeyRef: {namespace: default, name: hash, key: text}}`,
		"a content for all":   `path: /etc/token, content: plain`,
		"a link in its place": `path: /etc/token, target: /etc/passwd`,
	} {
		p := &reports.Plan{}
		p.Spec.Manifests = []reports.PlanManifest{{Name: "f", Text: "apiVersion: fettle.dev/v1alpha1\nkind: File\nmetadata: {name: token}\nspec: {nodeSelector: {}, acceptSelfLabelledNodes: true, " + spec + "}\n"}}
		w.soon("a plan", func(g Gomega) {
			asked := p.DeepCopy()
			g.Expect(c.Create(w.t.Context(), asked)).To(Succeed())
			all["a plan of "+what] = jsonOf(w.t, asked.Status)
			g.Expect(all["a plan of "+what]).To(And(ContainSubstring(`"answer":"Report"`), Not(ContainSubstring(`"answer":"None"`)), ContainSubstring("changed")))
		})
	}
	return all
}

func (w *world) secret(name, value string, adjust ...func(*corev1.Secret)) *corev1.Secret {
	w.t.Helper()
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{v1alpha1.LabelExposeToNodes: "true"}},
		Data:       map[string][]byte{"text": []byte(w.value(value))},
	}
	for _, a := range adjust {
		a(s)
	}
	must(w.t, w.admin.Create(w.t.Context(), s))
	return s
}

func (w *world) change(s *corev1.Secret, value string) {
	w.t.Helper()
	s.Data["text"] = []byte(w.value(value))
	must(w.t, w.admin.Update(w.t.Context(), s))
}

func ref(secret string) v1alpha1.KeyRef {
	return v1alpha1.KeyRef{Namespace: "default", Name: secret, Key: "text"}
}

// file is on hosts of the front, unless it is adjusted.
func (w *world) file(name, path, secret string, adjust func(*v1alpha1.File)) {
	w.t.Helper()
	from := ref(secret)
	f := &v1alpha1.File{ObjectMeta: metav1.ObjectMeta{Name: name}}
	f.Spec.NodeSelector = &metav1.LabelSelector{MatchLabels: map[string]string{protected: "front"}}
	f.Spec.Path, f.Spec.ShowDiff, f.Spec.Audit = path, new(true), []string{"all"}
	f.Spec.ContentFrom, f.Spec.DeletionPolicy = &v1alpha1.ValueSource{SecretKeyRef: &from}, v1alpha1.DeletionDelete
	if adjust != nil {
		adjust(f)
	}
	must(w.t, w.admin.Create(w.t.Context(), f))
}

func (w *world) user(name string, secret *corev1.Secret) {
	w.t.Helper()
	u := &v1alpha1.User{ObjectMeta: metav1.ObjectMeta{Name: name}}
	u.Spec.NodeSelector = &metav1.LabelSelector{}
	u.Spec.PasswordFrom, u.Spec.DeletionPolicy = &v1alpha1.SecretSource{SecretKeyRef: ref(secret.Name)}, v1alpha1.DeletionRestore
	must(w.t, w.admin.Create(w.t.Context(), u))
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
