package user_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/accounts"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
	"github.com/fettle-dev/fettle/providers/user"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

func TestAUserIsListedWithoutItsPassword(t *testing.T) {
	h := newFake(t, map[string]string{
		"/etc/passwd": "+nis::::::\nann:x:1500:4294967294:Ann:/home/ann:/bin/sh\n",
		"/etc/group":  "adm:x:4:bob,ann\n",
		"/etc/shadow": "ann:$6$s3cret:1:0:99999:7::10957:\n",
	})
	got, err := bound.Kind(user.Type()).Instances(t.Context(), nil, resourcetest.Reader(h.ReadOnly()), "")
	must(t, err)
	want := []resource.Instance{{Namevar: "ann", CanonicalName: "ann", Provider: "useradd", Exists: true, Attributes: json.RawMessage(
		`{"name":"ann","ensure":"present","uid":1500,"gid":"4294967294","groups":["adm"],"home":"/home/ann","comment":"Ann","shell":"/bin/sh",` +
			`"passwordMinAge":0,"passwordMaxAge":99999,"passwordWarnDays":7,"expiry":"2000-01-01"}`)}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("instances (-want +got):\n%s", diff)
	}
}

// closed is a host whose shadow file cannot be read.
type closed struct{ host.Reader }

func (c closed) ReadFile(path string) ([]byte, error) {
	if path == accounts.ShadowFile {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}
	}
	return c.Reader.ReadFile(path)
}

func TestUsersWhoCannotReadShadowSeeTheRest(t *testing.T) {
	h := newFake(t, map[string]string{
		"/etc/passwd": "ann:x:1500:100:Ann:/home/ann:/bin/sh\n",
		"/etc/shadow": "ann:$6$s3cret:1:0:99999:7::10957:\n",
	})
	r := bind(t, h, `{"comment": "Anne"}`)
	must(t, r.Read(t.Context(), resourcetest.Reader(closed{h.ReadOnly()})))
	want := `{"name":"ann","ensure":"present","uid":1500,"gid":100,"home":"/home/ann","comment":"Ann","shell":"/bin/sh"}`
	if diff := cmp.Diff(want, string(r.State().Attributes)); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	for _, manifest := range []string{`{"password": "!"}`, `{"expiry": "absent"}`, `{"passwordWarnDays": 7}`} {
		if err := bind(t, h, manifest).Read(t.Context(), resourcetest.Reader(closed{h.ReadOnly()})); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s is read with %v", manifest, err)
		}
	}
}

func TestExpiryIsIndependentOfTheTimeZone(t *testing.T) {
	for _, zone := range []string{"Pacific/Kiritimati", "Etc/UTC", "Pacific/Pago_Pago"} {
		t.Run(zone, func(t *testing.T) {
			root := debian.Root(t)
			debian.Chroot(t, root, "ln", "--symbolic", "--force", "/usr/share/zoneinfo/"+zone, "/etc/localtime")
			debian.Chroot(t, root, "test", "-f", "/etc/localtime")
			debian.Chroot(t, root, "useradd", "bob")
			h := open(t, root)
			apply(t, h, `{"name": "ann", "expiry": "2027-03-01"}`)
			apply(t, h, `{"name": "bob", "expiry": "2027-03-01"}`)
			const want = "bob 20878\nann 20878\n"
			if got := debian.Chroot(t, root, "awk", "-F:", "$1 ~ /^(ann|bob)$/ {print $1, $8}", "/etc/shadow"); got != want {
				t.Errorf("the accounts end on\n%s", got)
			}
		})
	}
}

func TestHostDefaultsAreOverridden(t *testing.T) {
	root := debian.Root(t)
	debian.Chroot(t, root, "sed", "--in-place", "s/^PASS_MAX_DAYS.*/PASS_MAX_DAYS 60/", "/etc/login.defs")
	debian.Chroot(t, root, "useradd", "--defaults", "--expiredate", "2027-03-01")
	h := open(t, root)
	apply(t, h, `{"name": "ann", "passwordMaxAge": -1, "expiry": "absent"}`)
	apply(t, h, `{"name": "eve", "ensure": "present"}`)
	const want = "ann  \neve 60 20878\n"
	if got := debian.Chroot(t, root, "awk", "-F:", "$1 ~ /^(ann|eve)$/ {print $1, $5, $8}", "/etc/shadow"); got != want {
		t.Errorf("ageing is\n%s, want\n%s", got, want)
	}
}
