package secrets_test

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// licence is the content for requests with the right header. It is not a secret.
const licence = "a licence\n"

// newServer starts a server that repeats request headers in its responses, and serves /licence for the right header.
func newServer(t *testing.T, header string) *httptest.Server {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent := r.Header.Get("Authorization")
		if sent == header && r.URL.Path == "/licence" {
			_, _ = fmt.Fprint(w, licence)
			return
		}
		conn, out, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		answer := map[string]string{
			"/rejects":   "HTTP/1.1 403 not with %[1]s\r\nX-Sent: %[1]s\r\n\r\nnot with %[1]s\n",
			"/missing":   "HTTP/1.1 404 not with %[1]s\r\n\r\n",
			"/malformed": "HTTP/1.1 200 OK\r\nContent-Length: %[1]s\r\n\r\n",
			"/redirects": "HTTP/1.1 302 Found\r\nLocation: https://[%[1]s\r\n\r\n",
		}[r.URL.Path]
		_, _ = fmt.Fprintf(out, answer, sent)
		_ = out.Flush()
		_ = conn.Close()
	}))
	t.Cleanup(server.Close)
	return server
}

func certificatesOf(server *httptest.Server) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
}

// secretOf returns a Secret with a marked text.
func secretOf(name, text string) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{v1alpha1.LabelExposeToNodes: "true"}},
		Data:       map[string][]byte{"text": []byte(text)},
	}
}

func configMapOf(name, text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: map[string]string{"text": text},
	}
}

func fileOf(name string, adjust func(*v1alpha1.FileSpec)) *v1alpha1.File {
	file := &v1alpha1.File{TypeMeta: typeOf("File"), ObjectMeta: metav1.ObjectMeta{Name: name}}
	file.Spec.NodeSelector = &metav1.LabelSelector{MatchLabels: map[string]string{protected: "front"}}
	file.Spec.Path, file.Spec.ShowDiff, file.Spec.Audit = "/etc/"+name, new(true), []string{"all"}
	adjust(&file.Spec)
	return file
}

func typeOf(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: kind}
}

// downloadOf returns a File with content from the server, a header from the Secret "header" and certificates from another
// object.
func downloadOf(name, url string, ca v1alpha1.ValueSource) *v1alpha1.File {
	return fileOf(name, func(s *v1alpha1.FileSpec) {
		s.Source, s.CAFrom = &url, &ca
		s.HeadersFrom = []v1alpha1.HeaderSource{{Name: "Authorization", SecretSource: v1alpha1.SecretSource{SecretKeyRef: ref("header")}}}
	})
}

func secretRef(name string) v1alpha1.ValueSource {
	return v1alpha1.ValueSource{SecretKeyRef: new(ref(name))}
}

// execOf returns an Exec whose command and checks get a variable TOKEN from the Secret "variable".
func execOf(name, command string, adjust func(*v1alpha1.ExecSpec)) *v1alpha1.Exec {
	e := &v1alpha1.Exec{TypeMeta: typeOf("Exec"), ObjectMeta: metav1.ObjectMeta{Name: name}}
	e.Spec.NodeSelector = &metav1.LabelSelector{MatchLabels: map[string]string{protected: "front"}}
	e.Spec.Command, e.Spec.Shell = command, new(true)
	e.Spec.EnvironmentFrom = []v1alpha1.EnvironmentSource{{Name: "TOKEN", SecretSource: v1alpha1.SecretSource{SecretKeyRef: ref("variable")}}}
	if adjust != nil {
		adjust(&e.Spec)
	}
	return e
}

func userOf(name, secret string) *v1alpha1.User {
	u := &v1alpha1.User{TypeMeta: typeOf("User"), ObjectMeta: metav1.ObjectMeta{Name: name}}
	u.Spec.NodeSelector = &metav1.LabelSelector{MatchLabels: map[string]string{protected: "front"}}
	u.Spec.PasswordFrom = &v1alpha1.SecretSource{SecretKeyRef: ref(secret)}
	return u
}

// secretResources returns resources for every path of a secret to a host, and the objects that they refer to. Agents can apply the
// resources in succeed, and not the ones in fail. The server has the certificate that is in the Secret "ca" and in the ConfigMap "ca".
func secretResources(server *httptest.Server) (objects []client.Object, succeed, fail []client.Object) {
	objects = []client.Object{
		secretOf("header", headerValue), secretOf("ca", marked+"\n"+certificatesOf(server)),
		secretOf("other-ca", marked+"\n"+otherAuthority), secretOf("no-ca", marked+" is no certificate"),
		secretOf("variable", marked+" variable\nof two lines"), secretOf("hash", "$6$salt$"+marked), secretOf("content", marked+" content\n"),
		configMapOf("ca", certificatesOf(server)),
	}
	public := v1alpha1.ValueSource{ConfigMapKeyRef: new(ref("ca"))}
	succeed = []client.Object{
		downloadOf("licence", server.URL+"/licence", secretRef("ca")),
		downloadOf("public-ca", server.URL+"/licence", public),
		fileOf("token", func(s *v1alpha1.FileSpec) {
			s.ContentFrom, s.ValidateCmd = new(secretRef("content")), new("cat %")
		}),
		execOf("prints", "env; env >&2", func(s *v1alpha1.ExecSpec) {
			s.LogOutput, s.OnlyIf = new("always"), []string{"env"}
		}),
		userOf("ann", "hash"),
		fileOf("replaced", func(s *v1alpha1.FileSpec) { s.Content = new("new\n") }),
	}
	fail = []client.Object{
		downloadOf("rejected", server.URL+"/rejects", secretRef("ca")),
		downloadOf("missing", server.URL+"/missing", secretRef("ca")),
		downloadOf("malformed", server.URL+"/malformed", secretRef("ca")),
		downloadOf("redirected", server.URL+"/redirects", secretRef("ca")),
		downloadOf("distrusted", server.URL+"/licence", secretRef("other-ca")),
		downloadOf("no-ca", server.URL+"/licence", secretRef("no-ca")),
		fileOf("invalid", func(s *v1alpha1.FileSpec) {
			s.ContentFrom, s.ValidateCmd = new(secretRef("content")), new(`sh -c 'cat "$1"; cat "$1" >&2; exit 1' sh %`)
		}),
		fileOf("nowhere", func(s *v1alpha1.FileSpec) { s.Path, s.ContentFrom = "/no/where/token", new(secretRef("content")) }),
		execOf("fails", "env; env >&2; exit 3", nil),
		execOf("unchecked", "true", func(s *v1alpha1.ExecSpec) { s.Unless = []string{"env; env >&2; exit 127"} }),
		userOf("bob", "variable"),
	}
	return objects, succeed, fail
}

const headerValue = marked + " header"

// otherAuthority is a CA that has signed nothing.
const otherAuthority = `-----BEGIN CERTIFICATE-----
MIIBlTCCATugAwIBAgIUT96XldZzAHGXlMAmUbkvdMt6EBQwCgYIKoZIzj0EAwIw
HzEdMBsGA1UEAwwURXhhbXBsZSBBcnRpZmFjdHMgQ0EwIBcNMjYxMTIyMDU0ODE3
WhgPMjEyNjEwMjkwNTQ4MTdaMB8xHTAbBgNVBAMMFEV4YW1wbGUgQXJ0aWZhY3Rz
IENBMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE/VgJNWP0ghYLXaf0DX3y2nIb
ZuH5HTqW7MAAnr2278a5Hf0H9j6lMyHNuwjW+vWOjm+nprxERs3le2rsSX8YXaNT
MFEwHQYDVR0OBBYEFEiqYZo5WMQca1wvySYNvcK5EoEgMB8GA1UdIwQYMBaAFEiq
YZo5WMQca1wvySYNvcK5EoEgMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwID
SAAwRQIhAMyMDC3O+Oatks7VYQPU6r/Rk21joX0G/akWWpdyaH8oAiBpGrRzRTEE
1yLIpE+KrQtKUhzCxMJ6wf29thI6uWdbOA==
-----END CERTIFICATE-----
`
