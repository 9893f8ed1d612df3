package file_test

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/fetch"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/providers/file"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

// A run trusts the authorities of the host, as of now, and not those of the machine that it runs on.
func TestSourceTrustsTheAuthoritiesOfTheHost(t *testing.T) {
	t.Setenv("SSL_CERT_FILE", "")
	t.Setenv("SSL_CERT_DIR", "")
	root := debian.Root(t)
	h, err := linux.Open(linux.Options{Root: root})
	must(t, err)
	t.Cleanup(func() { must(t, h.Close()) })
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "one\n") }))
	t.Cleanup(s.Close)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	own := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
	kind := bound.Kind(file.Type(fetch.NewHTTP(patient.Limit)))
	run := func() string {
		t.Helper()
		must(t, os.RemoveAll(filepath.Join(root, "srv/x")))
		i := resource.Item{Ref: resource.Ref{Kind: "File", Name: "x"}}
		i.Resource, i.Invalid = kind.Bind(i.Ref, []byte(`{"path": "/srv/x", "source": "`+s.URL+`"}`))
		report, err := engine.Transaction{Host: h, Bucket: bucket.New(h, bucket.DefaultDir, 0), Now: time.Now}.Run(t.Context(), []resource.Item{i})
		must(t, err)
		return string(report.Resources[0].State) + " " + report.Resources[0].Message
	}
	for _, bundle := range []string{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem"} {
		path := filepath.Join(root, bundle)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		_ = os.Remove(path) // of the base
		for _, step := range []struct{ bundle, want string }{
			{"# none yet\n", "signed by unknown authority"},
			{own, "Changed "},
			{"# none any more\n", "signed by unknown authority"},
		} {
			must(t, os.WriteFile(path, []byte(step.bundle), 0o644))
			if got := run(); !strings.Contains(got, step.want) {
				t.Errorf("with %.12q in %s: %s", step.bundle, bundle, got)
			}
		}
		must(t, os.Remove(path))
		if got := run(); !strings.Contains(got, "signed by unknown authority") {
			t.Errorf("without %s: %s", bundle, got)
		}
	}
}
