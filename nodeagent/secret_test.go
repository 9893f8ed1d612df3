package nodeagent_test

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// marked occurs in every secret of these tests and nowhere else.
const marked = "Marked5ecret"

// hidesSecrets makes an agent apply secrets, report them in noop, correct their drift and fail with them. It searches
// the log, the status, the state and the report. The catalogs saved for API server outages contain the values, as the
// API server does.
func hidesSecrets(t *testing.T, m *machine) {
	m.file("passwd").write("ann:x:1500:1500::/home/ann:/bin/sh\n")
	m.file("group").write("ann:x:1500:\n")
	m.file("shadow").write("ann:$6$Old" + marked + ":1:0:99999:7:::\n")
	for _, tool := range []string{"useradd", "usermod", "userdel", "chpasswd", "chage", "gpasswd"} {
		path := filepath.Join(m.root, "usr/sbin", tool)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte("no program\n"), 0o755))
	}
	entry := func(kind, name, attributes string) v1alpha1.CatalogEntry {
		return v1alpha1.CatalogEntry{Kind: kind, Name: name, Attributes: &runtime.RawExtension{Raw: []byte(attributes)}}
	}
	entries := []v1alpha1.CatalogEntry{
		entry("File", "token", `{"path":"/etc/token","content":"`+marked+`","mode":"0600","showDiff":false}`),
		entry("File", "nowhere", `{"path":"/no/where","content":"`+marked+`","showDiff":false}`),
		entry("User", "ann", `{"password":"$6$`+marked+`"}`),
	}
	for i := range entries {
		entries[i].Audit = []string{"all"}
	}
	m.level = slog.LevelDebug
	m.start()
	nc := m.applied(m.should(entries...))
	m.Expect(nc.Status.Counts.Failed).To(BeEquivalentTo(2))
	m.Expect(m.file("token").text()).To(Equal(marked))
	statuses := []v1alpha1.NodeCatalogStatus{nc.Status}

	m.file("token").write("Other" + marked)
	m.passes("drift is corrected", func(g Gomega) { g.Expect(m.file("token").text()).To(Equal(marked)) })
	m.file("token").write("Other" + marked)
	nc = m.applied(m.spec(v1alpha1.NodeCatalogSpec{Catalogs: nc.Spec.Catalogs, Noop: true}))
	statuses = append(statuses, nc.Status)

	m.stop()
	told, err := json.Marshal(statuses)
	must(t, err)
	kept, err := os.ReadFile(filepath.Join(m.stateDir(), "state.db"))
	must(t, err)
	report, err := os.ReadFile(filepath.Join(m.stateDir(), "last_run_report.json"))
	must(t, err)
	m.Expect(string(report)).To(ContainSubstring("User/ann"))
	for what, text := range map[string]string{"log": m.logs.String(), "status": string(told), "state": string(kept), "report": string(report)} {
		if strings.Contains(text, marked) {
			t.Errorf("the %s contains a secret: %s", what, text)
		}
	}
	m.Expect(m.logs.String()).To(ContainSubstring("level=DEBUG"))
	m.Expect(m.logs.String()).To(SatisfyAll(
		ContainSubstring("File: provider posix is this host's default"),
		ContainSubstring("File/token: mode: current absent, target 0600"),
		ContainSubstring("User/ann: password: current [redacted], target [redacted]"),
		ContainSubstring("ran chpasswd --encrypted: no exit code, after "),
		ContainSubstring("wrote /etc/token"),
	))
}

// explainsProviders makes an agent at debug level apply a Package without a suitable provider.
func explainsProviders(_ *testing.T, m *machine) {
	m.level = slog.LevelDebug
	m.start()
	m.applied(m.should(v1alpha1.CatalogEntry{Kind: "Package", Name: "a", Attributes: &runtime.RawExtension{Raw: []byte(`{}`)}}))
	m.Expect(m.logs.String()).To(ContainSubstring("Package: provider apt does not work on this host: the command apt-get is not installed"))
}
