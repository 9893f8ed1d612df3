package nodeagent_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/text"
)

// reportsAnyEncoding makes a command print Latin-1 and a literal backslash sequence, which must not be read as an
// escape.
func reportsAnyEncoding(t *testing.T, m *machine) {
	const output = "caf\xe9 \\xff"
	m.installDebian()
	m.start()
	nc := m.applied(m.should(v1alpha1.CatalogEntry{Kind: "Exec", Name: "a", Attributes: &runtime.RawExtension{
		Raw: []byte(`{"command": "printf 'caf\\351 \\\\xff'; exit 1", "shell": true}`),
	}}))
	m.Expect(nc.Status.Resources).To(HaveLen(1))
	m.Expect(nc.Status.Resources[0].Message).To(HaveSuffix(`output: caf\xe9 \x5cxff`))
	m.Expect(text.Decode(nc.Status.Resources[0].Message)).To(HaveSuffix("output: " + output))

	raw, err := os.ReadFile(filepath.Join(m.stateDir(), "last_run_report.json"))
	must(t, err)
	m.Expect(utf8.Valid(raw)).To(BeTrue())
	var report report.Report
	must(t, json.Unmarshal(raw, &report))
	m.Expect(report.Resources).To(HaveLen(1))
	m.Expect(report.Resources[0].Events).To(HaveLen(1))
	m.Expect(report.Resources[0].Events[0].Message).To(HaveSuffix("output: " + output))
}
