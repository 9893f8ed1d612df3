package image_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"

	"github.com/fettle-dev/fettle/internal/external/image"
	"github.com/fettle-dev/fettle/internal/external/image/archive"
	"github.com/fettle-dev/fettle/internal/external/image/signature"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

func quiet() http.Handler { return registry.New(registry.Logger(log.New(io.Discard, "", 0))) }

// A switched handler can be replaced.
type switched struct{ http.Handler }

func (s *switched) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.Handler.ServeHTTP(w, r) }

func TestAnIndexResolvesToTheImageOfThePlatform(t *testing.T) {
	at := serve(t, nil)
	platforms := map[image.Platform][]archive.Source{
		{OS: "linux", Architecture: "amd64"}: files(map[string]string{"main": "amd64"}),
		{OS: "linux", Architecture: "arm64"}: files(map[string]string{"main": "arm64"}),
	}
	ref, err := image.Push(t.Context(), at+"/types/note:1", platforms)
	if err != nil {
		t.Fatal(err)
	}
	got := sink{}
	if _, err := client().Pull(t.Context(), ref, got); err != nil || got["main"] != runtime.GOARCH {
		t.Errorf("pulled %v, %v", got, err)
	}
	delete(platforms, image.Platform{OS: "linux", Architecture: "amd64"})
	delete(platforms, image.Platform{OS: "linux", Architecture: "arm64"})
	platforms[image.Platform{OS: "plan9", Architecture: "mips"}] = files(map[string]string{"main": "x"})
	if ref, err = image.Push(t.Context(), at+"/types/note:2", platforms); err != nil {
		t.Fatal(err)
	}
	if _, err := client().Pull(t.Context(), ref, sink{}); err == nil || !strings.Contains(err.Error(), "platform") {
		t.Errorf("an image of another platform: %v", err)
	}
}

func TestReferencesNeedADigest(t *testing.T) {
	t.Parallel()

	for _, ref := range []string{"registry.example.com/a:1", "a@sha256:" + strings.Repeat("a", 64), "registry.example.com/a@sha256:abc", ""} {
		if _, err := client().Pull(t.Context(), ref, sink{}); err == nil || !strings.Contains(err.Error(), "is not a reference with a digest") {
			t.Errorf("%q: %v", ref, err)
		}
	}
}

// What a registry sends is never more than an error, and it comes soon.
func TestMisbehavingRegistriesAreAnError(t *testing.T) {
	serving := &switched{quiet()}
	at := serve(t, serving)
	ref := push(t, at+"/types/note:1", map[string]string{"main": strings.Repeat("x", 10_000)})
	ended := make(chan struct{})
	t.Cleanup(func() { close(ended) })
	good := serving.Handler
	forBlobs := func(answer http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/blobs/") {
				answer(w, r)
				return
			}
			good.ServeHTTP(w, r)
		}
	}
	forManifests := func(answer http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/manifests/") {
				answer(w, r)
				return
			}
			good.ServeHTTP(w, r)
		}
	}
	hang := func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-ended:
		case <-r.Context().Done():
		}
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"hangs":                 {hang, "cannot pull"},
		"hangs at the manifest": {forManifests(hang), "stopped sending"},
		"hangs at the layer":    {forBlobs(hang), "stopped sending"},
		"hangs within the layer": {forBlobs(func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte{0x1f})
			w.(http.Flusher).Flush()
			hang(w, r)
		}), "stopped sending"},
		"drips":               {forBlobs(drip(ended)), "takes too long"},
		"another manifest":    {forManifests(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }), "does not match requested digest"},
		"another layer":       {forBlobs(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "x") }), "does not match expected size"},
		"no image":            {http.NotFound, "404 Not Found: check the reference"},
		"forbidden":           {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "go away, 4711", http.StatusForbidden) }, "403 Forbidden: check the credentials"},
		"an endless manifest": {forManifests(endless), "sends too much"},
		"an endless answer":   {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusOK); endless(w, r) }, ""},
		"redirects to itself": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }, "cannot pull"},
	} {
		t.Run(name, func(t *testing.T) {
			serving.Handler = c.answer
			puller := &image.Client{Silence: patient.Limit, Limit: patient.Limit}
			switch {
			case strings.HasPrefix(name, "hangs"):
				puller.Silence = 300 * time.Millisecond
			case name == "drips":
				puller.Limit = 2 * time.Second
			}
			_, err := puller.Pull(t.Context(), ref, sink{})
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "4711") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// drip sends a byte again and again.
func drip(ended <-chan struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_, _ = w.Write([]byte("x"))
				w.(http.Flusher).Flush()
			case <-ended:
				return
			case <-r.Context().Done():
				return
			}
		}
	}
}

func endless(w http.ResponseWriter, _ *http.Request) {
	text := []byte(strings.Repeat("x", 1<<16))
	for {
		if _, err := w.Write(text); err != nil {
			return
		}
	}
}

// A registry that repeats what it gets shows no credential to anybody who reads the error.
func TestCredentialsAreSentToTheRegistryAndAreInNoError(t *testing.T) {
	const user, password, token = "marker-user", "marker/pass:word", "marker-token"
	basic := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	h := hosttest.New(t)
	config := filepath.Join(t.TempDir(), "config.json")
	setup := image.Setup{Config: config}
	for name, answer := range map[string]func(sent string, w http.ResponseWriter){
		"in a body": func(sent string, w http.ResponseWriter) {
			http.Error(w, sent+" "+password+" "+token, http.StatusForbidden)
		},
		"in a diagnostic": func(sent string, w http.ResponseWriter) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = fmt.Fprintf(w, `{"errors": [{"code": %q, "message": %q}]}`, sent+token, password)
		},
		"in a header": func(sent string, w http.ResponseWriter) {
			w.Header().Set("WWW-Authenticate", "Bearer "+sent+password+token)
			w.WriteHeader(http.StatusUnauthorized)
		},
		"in a location": func(sent string, w http.ResponseWriter) {
			w.Header().Set("Location", "ftp://"+url.QueryEscape(password)+"/"+sent+token)
			w.WriteHeader(http.StatusFound)
		},
	} {
		t.Run(name, func(t *testing.T) {
			authenticated := false
			var at string
			at = serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				sent := r.Header.Get("Authorization")
				switch {
				case r.URL.Path == "/token" && sent == "Basic "+basic:
					_, _ = fmt.Fprintf(w, `{"token": %q}`, token)
				case sent == "Bearer "+token:
					authenticated = true
					answer(sent, w)
				default:
					w.Header().Set("WWW-Authenticate", `Bearer realm="http://`+at+`/token",service="x"`)
					w.WriteHeader(http.StatusUnauthorized)
				}
			}))
			write(t, config, `{"auths": {"`+at+`": {"username": "`+user+`", "password": "`+password+`"}}}`)
			_, err := setup.Client(h).Pull(t.Context(), at+"/types/note@sha256:"+strings.Repeat("a", 64), sink{})
			if err == nil || !authenticated {
				t.Fatalf("authenticated: %t, %v", authenticated, err)
			}
			for _, secret := range []string{password, url.QueryEscape(password), token, basic} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("the error has %q: %v", secret, err)
				}
			}
		})
	}
}

func TestCredentialsOfTheHostAreUsed(t *testing.T) {
	h := hosttest.New(t)
	good := quiet()
	at := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, _, _ := r.BasicAuth(); user != "kubelet" && r.Method == http.MethodGet {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		good.ServeHTTP(w, r)
	}))
	docker := t.TempDir()
	t.Setenv("DOCKER_CONFIG", docker)
	text := `{"auths": {"` + at + `": {"username": "kubelet", "password": "p"}}}`
	write(t, filepath.Join(docker, "config.json"), text)
	ref := push(t, at+"/types/note:1", map[string]string{"main": "x"})
	if _, err := (image.Setup{}).Client(h).Pull(t.Context(), ref, sink{}); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("without credentials: %v", err)
	}
	h.Put("/var/lib/kubelet/config.json", text)
	if _, err := (image.Setup{}).Client(h).Pull(t.Context(), ref, sink{}); err != nil {
		t.Error(err)
	}
	missing := image.Setup{Config: filepath.Join(docker, "other.json")}
	if _, err := missing.Client(h).Pull(t.Context(), ref, sink{}); err == nil || !strings.Contains(err.Error(), "other.json") {
		t.Errorf("with a --registry-config that is missing: %v", err)
	}
}

func TestRegistriesHaveACertificateThatTheHostTrusts(t *testing.T) {
	t.Setenv("SSL_CERT_FILE", "")
	t.Setenv("SSL_CERT_DIR", "")
	s := httptest.NewUnstartedServer(quiet())
	certificate, authority := certificateFor(t, "127.0.0.2")
	s.Listener = listen(t, "127.0.0.2:0") // clients of registries consider only 127.0.0.1 to be this machine
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	s.StartTLS()
	t.Cleanup(s.Close)
	ref := strings.TrimPrefix(s.URL, "https://") + "/types/note@sha256:" + strings.Repeat("a", 64)
	h := hosttest.New(t)
	h.Put("/etc/ssl/certs/ca-certificates.crt", "")
	puller := image.Setup{}.Client(h)
	if _, err := puller.Pull(t.Context(), ref, sink{}); err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("without the authority: %v", err)
	}
	h.Put("/etc/ssl/certs/ca-certificates.crt", authority)
	if _, err := puller.Pull(t.Context(), ref, sink{}); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("with the authority: %v", err)
	}
}

func TestOnlyRegistriesOfThisMachineAreAskedWithoutTLS(t *testing.T) {
	t.Parallel()

	for from, want := range map[string]string{
		"http://localhost:5000/v2/": "http", "http://127.0.0.1:5000/v2/": "http", "http://[::1]:5000/v2/": "http", "https://127.0.0.1/v2/": "https",
		"http://10.0.0.1:5000/v2/": "https", "http://192.168.0.1/v2/": "https", "http://registry.localhost/v2/": "https",
		"http://127.0.0.1.example.com/v2/": "https", "http://registry.local/v2/": "https", "ftp://registry.example.com/": "https",
	} {
		u, err := url.Parse(from)
		if err != nil {
			t.Fatal(err)
		}
		if got := image.SchemeFor(u); got != want {
			t.Errorf("%s is asked with %s", from, got)
		}
	}
}

func listen(t *testing.T, at string) net.Listener {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// certificateFor returns a certificate that signs itself.
func certificateFor(t *testing.T, ip string) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, IPAddresses: []net.IP{net.ParseIP(ip)},
	}
	var der []byte
	if err == nil {
		der, err = x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	}
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestOnlySignedImagesAreUnpackedIfThereAreKeys(t *testing.T) {
	at := serve(t, nil)
	ref := push(t, at+"/types/note:1", map[string]string{"main": "x"})
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "cosign.pub")
	write(t, file, string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})))
	puller := image.Setup{Keys: file}.Client(hosttest.New(t))
	unsigned := sink{}
	if _, err := puller.Pull(t.Context(), ref, unsigned); err == nil || !strings.Contains(err.Error(), "it has no signature") || !strings.Contains(err.Error(), file) || len(unsigned) > 0 {
		t.Errorf("without a signature: %v, %v", unsigned, err)
	}
	attach(t, key, ref)
	signed := sink{}
	content, err := puller.Pull(t.Context(), ref, signed)
	if err != nil || len(content.Signatures) != 1 || signed["main"] != "x" {
		t.Errorf("with a signature: %v, %+v, %v", signed, content.Signatures, err)
	}
	if all, err := puller.Signatures(t.Context(), ref); err != nil || len(all) != 1 {
		t.Errorf("the signatures are %v, %v", all, err)
	}
	puller.Keys = func() (signature.Keys, error) { return signature.Keys{}, errors.New("no keys") }
	if _, err := puller.Pull(t.Context(), ref, sink{}); err == nil || !strings.Contains(err.Error(), "no keys") {
		t.Errorf("without keys: %v", err)
	}
}

// attach signs an image as cosign does.
func attach(t *testing.T, key *ecdsa.PrivateKey, ref string) {
	t.Helper()
	digest, err := name.NewDigest(ref)
	if err != nil {
		t.Fatal(err)
	}
	payload := fmt.Appendf(nil, `{"critical":{"identity":{"docker-reference":""},"image":{"docker-manifest-digest":%q},"type":"cosign container image signature"},"optional":null}`, digest.DigestStr())
	sum := sha256.Sum256(payload)
	signed, err := ecdsa.SignASN1(rand.Reader, key, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	img, err := mutate.Append(empty.Image, mutate.Addendum{
		Layer:       static.NewLayer(payload, "application/vnd.dev.cosign.simplesigning.v1+json"),
		Annotations: map[string]string{"dev.cosignproject.cosign/signature": base64.StdEncoding.EncodeToString(signed)},
	})
	if err == nil {
		err = remote.Write(digest.Tag(strings.Replace(digest.DigestStr(), ":", "-", 1)+".sig"), img)
	}
	if err != nil {
		t.Fatal(err)
	}
}
