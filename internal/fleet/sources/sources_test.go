package sources_test

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/sources"
)

func ref(name, key string) v1alpha1.KeyRef {
	return v1alpha1.KeyRef{Namespace: "default", Name: name, Key: key}
}

func configMap(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: map[string]string{"key": value}}
}

func secret(name string, data map[string]string, labels map[string]string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: labels}, Data: map[string][]byte{}}
	for key, value := range data {
		s.Data[key] = []byte(value)
	}
	return s
}

var exposed = map[string]string{v1alpha1.LabelExposeToNodes: "true"}

// counting counts the ConfigMaps that are read whole.
func counting(c client.WithWatch, reads *int) client.Reader {
	return interceptor.NewClient(c, interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
		if _, whole := o.(*corev1.ConfigMap); whole {
			*reads++
		}
		return c.Get(ctx, key, o, opts...)
	}})
}

func TestConfigMapIsReadOncePerVersion(t *testing.T) {
	t.Parallel()

	c := fake.NewClientBuilder().WithObjects(configMap("a", "1"), configMap("b", "x")).Build()
	var s sources.Sources
	reads := 0
	read := func(want string, wantReads int) {
		t.Helper()
		r := s.Reader(t.Context(), c, counting(c, &reads))
		for range 2 {
			if got, ok := r.ConfigMap(ref("a", "key")); !ok || got != want {
				t.Errorf("got %q, %t, want %q", got, ok, want)
			}
		}
		if _, ok := r.ConfigMap(ref("a", "other")); ok {
			t.Error("a missing key is found")
		}
		if _, ok := r.ConfigMap(ref("none", "key")); ok {
			t.Error("a missing ConfigMap is found")
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if reads != wantReads {
			t.Errorf("%d reads, want %d", reads, wantReads)
		}
	}
	read("1", 1)
	read("1", 1)
	cm := configMap("a", "2")
	if err := c.Update(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	read("2", 2)
	if !s.UsesConfigMap(cm) || !s.UsesConfigMap(configMap("none", "")) || s.UsesConfigMap(configMap("b", "")) {
		t.Error("the ConfigMaps in use are others than those that were read, missing ones included")
	}
	if err := s.Reader(t.Context(), c, c).Close(); err != nil || s.UsesConfigMap(cm) {
		t.Errorf("a ConfigMap that the last compilation did not read is in use: %v", err)
	}
}

func TestSecretIsReadIfItIsExposed(t *testing.T) {
	t.Parallel()

	c := fake.NewClientBuilder().WithObjects(
		secret("a", map[string]string{"key": "1", "other": "1"}, exposed), secret("private", map[string]string{"key": "1"}, nil)).Build()
	var s sources.Sources
	r := s.Reader(t.Context(), c, c)
	first := r.Secret(ref("a", "key"))
	if !first.Exposed || !first.Found || string(first.Value) != "1" || first.Version == "" {
		t.Errorf("exposed %t, found %t, version %q", first.Exposed, first.Found, first.Version)
	}
	if v := r.Secret(ref("a", "none")); !v.Exposed || v.Found {
		t.Error("a missing key is found, or its Secret is not exposed")
	}
	for _, name := range []string{"private", "none"} {
		if v := r.Secret(ref(name, "key")); v.Exposed || v.Found || v.Value != nil {
			t.Errorf("Secret %s is exposed", name)
		}
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}

	if err := c.Update(t.Context(), secret("a", map[string]string{"key": "1", "other": "2"}, exposed)); err != nil {
		t.Fatal(err)
	}
	r = s.Reader(t.Context(), c, c)
	if v := r.Secret(ref("a", "key")); v.Version != first.Version {
		t.Errorf("another key of the Secret changed the version from %s to %s", first.Version, v.Version)
	}
	if v := r.Secret(ref("a", "other")); v.Version == first.Version {
		t.Error("a changed value has the version of before")
	}
}

func TestCloseReturnsFailedReads(t *testing.T) {
	t.Parallel()

	c := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("no etcd")
		},
	})
	var s sources.Sources
	r := s.Reader(t.Context(), c, c)
	r.ConfigMap(ref("a", "key"))
	r.Secret(ref("b", "key"))
	const want = "cannot read ConfigMap default/a: no etcd\ncannot read Secret default/b: no etcd"
	if err := r.Close(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
