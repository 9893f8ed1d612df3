package nodeagent_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/seal"
)

// publicKey returns the published key of the machine.
func (m *machine) publicKey() seal.PublicKey {
	m.t.Helper()
	var key seal.PublicKey
	m.soon("the agent publishes its key", func(g Gomega) {
		var err error
		key, err = seal.ParsePublicKey(m.object().Status.PublicKey)
		g.Expect(err).NotTo(HaveOccurred())
	})
	return key
}

// keysFile returns the path of the agent's keys.
func (m *machine) keysFile() string { return filepath.Join(m.stateDir(), "keys/sealing.json") }

// sealedEntry returns an entry for a file in the machine's /etc whose content is sealed to a key.
func (m *machine) sealedEntry(to seal.PublicKey, name, content string) v1alpha1.CatalogEntry {
	m.t.Helper()
	raw, err := json.Marshal(map[string]string{"path": "/etc/" + name, "mode": "0600"})
	must(m.t, err)
	e := v1alpha1.CatalogEntry{Kind: "File", Name: name, Attributes: &runtime.RawExtension{Raw: raw}}
	value, err := seal.Seal(to, seal.Purpose{Node: m.name, Ref: string(e.Ref()), Attribute: "content"}, []byte(content))
	must(m.t, err)
	from := v1alpha1.SealedFrom{KeyRef: v1alpha1.KeyRef{Namespace: "ops", Name: name, Key: "text"}, Version: "1"}
	e.Sealed = []v1alpha1.SealedValue{{Attribute: "content", From: from, Key: to.Fingerprint(), Value: value}}
	return e
}

func (m *machine) own(entries ...v1alpha1.CatalogEntry) *v1alpha1.NodeCatalog {
	m.t.Helper()
	return m.spec(v1alpha1.NodeCatalogSpec{Entries: entries})
}

func keepsKey(_ *testing.T, m *machine) {
	m.start()
	m.own()
	key := m.publicKey()
	for path, want := range map[string]os.FileMode{m.keysFile(): 0o600, filepath.Dir(m.keysFile()): 0o700} {
		info, err := os.Stat(path)
		must(m.t, err)
		m.Expect(info.Mode().Perm()).To(Equal(want), path)
	}
	m.applied(m.own(m.sealedEntry(key, "token", "s3cret\x00\xff")))
	m.Expect(m.file("token").text()).To(Equal("s3cret\x00\xff"))
	before := m.object()
	m.stop()
	m.start()
	m.passes("it has run again", func(g Gomega) { g.Expect(m.runs.Load()).To(BeNumerically(">", 3)) })
	m.Expect(m.object().ResourceVersion).To(Equal(before.ResourceVersion), "nothing is new")
}

func opensFromDisk(_ *testing.T, m *machine) {
	m.start()
	m.own()
	m.applied(m.own(m.sealedEntry(m.publicKey(), "token", "s3cret")))
	m.stop()
	m.door.lock()
	must(m.t, os.Remove(filepath.Join(m.root, "etc/token")))
	m.start()
	m.passes("it is put back without an API server", func(g Gomega) { g.Expect(m.file("token").text()).To(Equal("s3cret")) })
}

func replacesLostKey(t *testing.T, m *machine) {
	m.start()
	m.own()
	m.publicKey()
	for what, lose := range map[string]func(){
		"is damaged": func() { must(t, os.WriteFile(m.keysFile(), []byte("sha256-no\n[]"), 0o600)) },
		"is gone":    func() { must(t, os.Remove(m.keysFile())) },
	} {
		key := m.publicKey()
		name := strings.ReplaceAll(what, " ", "-")
		m.applied(m.own(m.sealedEntry(key, name, "s3cret\n")))
		m.stop()
		lose()
		m.start()
		m.soon("the file "+what+": another key is published", func(g Gomega) {
			g.Expect(m.object().Status.PublicKey).NotTo(Or(BeEmpty(), Equal(key.String())))
		})
		m.passes("what can't be opened says so", func(g Gomega) {
			g.Expect(condition(m.object(), "Degraded")).To(HavePrefix("True ResourcesFailed"))
		})
		m.Expect(m.object().Status.Resources).To(HaveExactElements(HaveField("Message", ContainSubstring(
			"cannot open content of File/"+name+" on node "+m.name+": it is sealed to key "+key.Fingerprint()+", which the node does not have"))))
		m.Expect(m.file(name).text()).To(Equal("s3cret\n"), "it stays as it was")
		m.applied(m.own(m.sealedEntry(m.publicKey(), name, "n3w\n")))
		m.Expect(m.file(name).text()).To(Equal("n3w\n"))
		m.Expect(condition(m.object(), "Ready")).To(HavePrefix("True Applied"))
	}
	aside, err := filepath.Glob(m.keysFile() + ".bad-*")
	must(t, err)
	m.Expect(aside).To(HaveLen(1))
	m.Expect(m.logs.String()).To(ContainSubstring("the node's key is lost, making a new one"))
}

func replacesOldKey(_ *testing.T, m *machine) {
	m.keyAge = 90 * 24 * time.Hour
	m.start()
	m.own()
	first := m.publicKey()
	m.applied(m.own(m.sealedEntry(first, "token", "one")))
	m.clock.Step(89 * 24 * time.Hour)
	m.passes("the agent runs", func(g Gomega) { g.Expect(m.runs.Load()).To(BeNumerically(">", 3)) })
	m.Expect(m.publicKey()).To(Equal(first), "it is not of age yet")
	m.clock.Step(24 * time.Hour)
	m.passes("another key is published", func(g Gomega) { g.Expect(m.object().Status.PublicKey).NotTo(Equal(first.String())) })

	m.stop()
	m.start()                                              // the old key survives a restart
	m.applied(m.own(m.sealedEntry(first, "token", "two"))) // sealed by a manager that has not seen the new key
	m.Expect(m.file("token").text()).To(Equal("two"))
	second := m.publicKey()
	m.applied(m.own(m.sealedEntry(second, "token", "three")))
	m.Expect(m.file("token").text()).To(Equal("three"))
	m.passes("the old key is dropped when nothing needs it", func(g Gomega) {
		text, err := os.ReadFile(m.keysFile())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(strings.Count(string(text), "seed")).To(Equal(1))
	})
	m.Expect(m.publicKey()).To(Equal(second))
	m.applied(m.own(m.sealedEntry(first, "token", "four")))
	m.Expect(m.file("token").text()).To(Equal("three"))
}

func rejectsForeignValues(_ *testing.T, m *machine) {
	m.start()
	m.own()
	e := m.sealedEntry(m.publicKey(), "token", "s3cret")
	other := m.sealedEntry(m.publicKey(), "other", "s3cret")
	other.Sealed[0].Value = e.Sealed[0].Value
	nc := m.applied(m.own(e, other))
	m.Expect(m.file("token").text()).To(Equal("s3cret"))
	m.Expect(m.file("other").text()).To(ContainSubstring("no such file"))
	m.Expect(nc.Status.Resources).To(HaveExactElements(HaveField("Message", ContainSubstring("it was sealed to another key or for another purpose, or it was changed"))))
}

// hidesSealedValues makes an agent apply a sealed secret, correct its drift and fail with it. It searches all output
// and the disk.
func hidesSealedValues(t *testing.T, m *machine) {
	m.level = -4 // debug
	m.start()
	m.own()
	key := m.publicKey()
	e, nowhere := m.sealedEntry(key, "token", marked), m.sealedEntry(key, "nowhere", marked)
	nowhere.Attributes.Raw = []byte(`{"path":"/no/where","showDiff":true}`)
	e.Attributes.Raw = []byte(`{"path":"/etc/token","showDiff":true,"backup":"Bucket"}`)
	e.Audit, nowhere.Audit = []string{"all"}, []string{"all"}
	var told []v1alpha1.NodeCatalogStatus
	told = append(told, m.applied(m.own(e, nowhere)).Status)
	m.Expect(m.file("token").text()).To(Equal(marked))
	m.file("token").write("Other" + marked)
	m.passes("drift is corrected", func(g Gomega) { g.Expect(m.file("token").text()).To(Equal(marked)) })
	m.applied(m.spec(v1alpha1.NodeCatalogSpec{Entries: []v1alpha1.CatalogEntry{e, nowhere}, Noop: true}))
	m.file("token").write("Other" + marked)
	m.passes("drift is reported", func(g Gomega) {
		g.Expect(m.object().Status.Resources).To(ContainElement(And(HaveField("Ref", v1alpha1.ReportedRef("File/token")), HaveField("State", v1alpha1.StateNoop))))
	})
	told = append(told, m.object().Status)
	m.stop()

	text, err := json.Marshal(told)
	must(t, err)
	m.Expect(string(text)).To(ContainSubstring("[redacted]"))
	for what, text := range map[string]string{"log": m.logs.String(), "status": string(text)} {
		if strings.Contains(text, marked) {
			t.Errorf("the %s contains a secret: %s", what, text)
		}
	}
	must(t, filepath.WalkDir(m.stateDir(), func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			text, failed := os.ReadFile(path)
			if err = failed; strings.Contains(string(text), marked) {
				t.Errorf("%s contains a secret", path)
			}
		}
		return err
	}))
}
