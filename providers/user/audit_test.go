package user_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
)

func TestAudited(t *testing.T) {
	look := func(shadow string, properties ...string) map[string]string {
		t.Helper()
		h := newFake(t, map[string]string{
			"/etc/passwd": "ann:x:1500:1500:Ann:/home/ann:/bin/sh\n", "/etc/group": "ann:x:1500:\n", "/etc/shadow": shadow,
		})
		r := bind(t, h, `{"shell": "/bin/sh"}`)
		must(t, r.Audit(properties))
		must(t, r.Read(t.Context(), resourcetest.Reader(h)))
		values := map[string]string{}
		for _, v := range r.Audited([]byte("key")) {
			values[v.Property] = v.Value
		}
		return values
	}
	got := look("ann:$6$tulip:1:7:99999:7:::\n", "uid", "home", "passwordMinAge")
	if diff := cmp.Diff(map[string]string{"uid": "1500", "home": "/home/ann", "passwordMinAge": "7"}, got); diff != "" {
		t.Error(diff)
	}
	one, two := look("ann:$6$tulip:1:7:99999:7:::\n", "password")["password"], look("ann:$6$rose:1:7:99999:7:::\n", "password")["password"]
	if one == two || !strings.HasPrefix(one, "{hmac-sha256}") || strings.Contains(one+two, "tulip") {
		t.Errorf("passwords are distinguished as %s and %s", one, two)
	}
}
