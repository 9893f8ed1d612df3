package main_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"net"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
	"github.com/fettle-dev/fettle/test/fixtures/freeport"
)

// presentsTheCertificate reports whether a server presents the certificate of the APIService.
func presentsTheCertificate(t *testing.T, admin client.Client, address string) bool {
	t.Helper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"})
	if err := admin.Get(t.Context(), client.ObjectKey{Name: "v1alpha1.reports.fettle.dev"}, o); err != nil {
		t.Fatal(err)
	}
	bundle, _, _ := unstructured.NestedString(o.Object, "spec", "caBundle")
	text, err := base64.StdEncoding.DecodeString(bundle)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	conn, err := (&tls.Dialer{Config: &tls.Config{RootCAs: roots, ServerName: "fettle-reports.fettle-system.svc"}}).DialContext(t.Context(), "tcp", address)
	if err == nil {
		_ = conn.Close()
	}
	return err == nil
}

func TestEveryManagerLeadsToTheLeaderOfTheDay(t *testing.T) {
	t.Parallel()

	cfg := controlplane.StartAggregated(t)
	config := kubeconfig(t, cfg, "")
	install(t, cfg, config)
	_, port, err := net.SplitHostPort(freeport.AddressFor(t))
	if err != nil {
		t.Fatal(err)
	}
	controlplane.InstallReports(t, cfg, "127.0.0.1:"+port)
	admin := controlplane.Admin(t, cfg)
	own, bin := kubeconfig(t, cfg, "system:serviceaccount:fettle-system:fettle-manager"), build(t)
	start := func(ip string) *process {
		return startManagerWith(t, bin, own, []string{"POD_IP=" + ip}, "--reports-bind-address="+ip+":"+port)
	}
	first := start("127.0.0.1")
	eventually(t, "the first manager to lead", first.leads)
	if err := admin.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}); err != nil {
		t.Fatal(err)
	}
	second := start("127.0.0.2")
	for _, address := range []string{"127.0.0.1:" + port, "127.0.0.2:" + port} {
		eventually(t, "the certificate at "+address, func() bool { return presentsTheCertificate(t, admin, address) })
	}
	if takesLargeHeaders(t, "https://127.0.0.1:"+port+"/apis") {
		t.Error("the API of reports reads a header of 128 KiB of anyone")
	}
	diff := func(node string) error {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(schema.GroupVersionKind{Group: "reports.fettle.dev", Version: "v1alpha1", Kind: "NodeDiff"})
		return admin.Get(t.Context(), client.ObjectKey{Name: node}, o)
	}
	eventually(t, "an answer about an unknown node", func() bool { return apierrors.IsNotFound(diff("n2")) })
	eventually(t, "an answer about a node without an agent", func() bool {
		err := diff("n1")
		status, ok := errors.AsType[*apierrors.StatusError](err)
		return ok && status.ErrStatus.Reason == metav1.StatusReasonTimeout && strings.Contains(err.Error(), "the agent of n1")
	})

	_ = first.Process.Kill()
	eventually(t, "the second manager to lead", second.leads)
	eventually(t, "the certificate of the second manager", func() bool { return presentsTheCertificate(t, admin, "127.0.0.2:"+port) })
}
