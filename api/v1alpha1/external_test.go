package v1alpha1_test

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

func TestAttributesOfAnExternalResource(t *testing.T) {
	t.Parallel()

	for name, tt := range map[string]struct{ properties, ensure, want string }{
		"ensure is that of the spec": {`{"ensure":"absent","ttl":60}`, "present", `{"ensure":"present","ttl":60}`},
		"ensure may be unmanaged":    {`{"ensure":"absent"}`, "", `{}`},
		"no properties":              {``, "present", `{"ensure":"present"}`},
		"null":                       {`null`, "present", `{"ensure":"present"}`},
		"large numbers keep digits":  {`{"id":9007199254740993}`, "", `{"id":9007199254740993}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &v1alpha1.External{}
			r.Spec.Ensure = tt.ensure
			if tt.properties != "" {
				r.Spec.Properties = &runtime.RawExtension{Raw: []byte(tt.properties)}
			}
			got, err := json.Marshal(r.GetAttributes())
			if err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v, want %s", got, err, tt.want)
			}
		})
	}
}

func TestKindsThatAreNotBuiltInBelongToExternalTypes(t *testing.T) {
	t.Parallel()

	for kind, want := range map[string]string{"File": "fettle.dev/v1alpha1", "DNSZone": "types.fettle.dev/v1alpha1"} {
		if got := v1alpha1.GroupVersionOf(kind).String(); got != want {
			t.Errorf("%s is of %s, want %s", kind, got, want)
		}
	}
}
