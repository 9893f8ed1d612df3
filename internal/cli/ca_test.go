package cli_test

import (
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// authority returns a ConfigMap default/authority with the certificate of a server.
func authority(t *testing.T, server *httptest.Server) string {
	t.Helper()
	text, err := json.Marshal(map[string]string{"ca.crt": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))})
	if err != nil {
		t.Fatal(err)
	}
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: authority}\ndata: " + string(text) + "\n---\n"
}

func TestSourceIsVerifiedWithCertificatesOfConfigMap(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "one\n") }))
	t.Cleanup(server.Close)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	root := emptyRoot(t)
	in := file("a", `path: /etc/a, source: "`+server.URL+`", caFrom: {configMapKeyRef: {namespace: default, name: authority, key: ca.crt}}`)

	const missing = `caFrom names key "ca.crt" of ConfigMap default/authority, which does not exist`
	if got := fettle(t, in, "apply", "-f", "-", "--root", root); got.code != 1 || !strings.Contains(got.err+got.out, missing) {
		t.Errorf("without the ConfigMap: exit %d\n%s%s", got.code, got.out, got.err)
	}
	if got := fettle(t, authority(t, server)+in, "apply", "-f", "-", "--root", root); got.code != 0 {
		t.Errorf("with the ConfigMap: exit %d\n%s%s", got.code, got.out, got.err)
	}
	if text, err := os.ReadFile(filepath.Join(root, "etc/a")); err != nil || string(text) != "one\n" {
		t.Errorf("the file contains %q, %v", text, err)
	}
}
