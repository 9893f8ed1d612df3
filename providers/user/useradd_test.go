package user_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine/enginetest"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
	"github.com/fettle-dev/fettle/providers/group"
	"github.com/fettle-dev/fettle/providers/user"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

func TestApply(t *testing.T) {
	ann := map[string]string{
		"/etc/passwd": "root:x:0:0:root:/root:/bin/bash\nann:x:1500:1500:Ann:/home/ann:/bin/sh\n",
		"/etc/group":  "root:x:0:\nweb:x:1500:\nadm:x:4:ann,bob\nwheel:x:10:\nwww:x:1500:\n",
		"/etc/shadow": "root:*:1:0:99999:7:::\nann:$6$old:1:0:99999:7:::\n",
	}
	ensure := func(is, should, message string) []resource.Change {
		return []resource.Change{{Property: "ensure", Is: is, Should: should, Message: message}}
	}
	tests := map[string]struct {
		before     map[string]string // files
		manifest   string
		changes    []resource.Change
		transcript []string
	}{
		"a user is created with only a name": {
			manifest:   `{"ensure": "present"}`,
			changes:    ensure("absent", "present", "created"),
			transcript: []string{"! useradd --no-create-home -- ann"},
		},
		"a user is created with all attributes": {
			before: map[string]string{"/etc/group": "web:x:1500:\nadm:x:4:\n"},
			manifest: `{"uid": 7, "gid": "web", "groups": ["adm", "web"], "home": "/srv/ann", "manageHome": true, "comment": "Ann E",
				"shell": "/bin/sh", "password": "$6$new", "system": true, "allowDupe": true}`,
			changes: ensure("absent", "present", "created"),
			transcript: []string{
				`! useradd --uid 7 --non-unique --gid web --groups adm --home-dir /srv/ann --comment "Ann E" --shell /bin/sh --system --create-home -- ann`,
				"! chpasswd --encrypted",
			},
		},
		"a user is created in the group of its name": {
			before:     map[string]string{"/etc/group": "ann:x:1500:\n"},
			manifest:   `{"ensure": "present"}`,
			changes:    ensure("absent", "present", "created"),
			transcript: []string{"! useradd --gid ann --no-create-home -- ann"},
		},
		"a user is created with password ageing": {
			manifest: `{"passwordMinAge": 0, "passwordMaxAge": 90, "passwordWarnDays": -1, "expiry": "2027-03-01"}`,
			changes:  ensure("absent", "present", "created"),
			transcript: []string{
				"! useradd --expiredate 20878 --no-create-home -- ann",
				"! chage --mindays 0 --maxdays 90 --warndays -1 -- ann",
			},
		},
		"a user is created without an expiry, regardless of the host's default": {
			manifest:   `{"expiry": "absent"}`,
			changes:    ensure("absent", "present", "created"),
			transcript: []string{`! useradd --expiredate "" --no-create-home -- ann`},
		},
		"each property is corrected separately": {
			before: ann,
			manifest: `{"uid": 7, "gid": 10, "groups": ["wheel", "adm", "www"], "home": "/srv/ann", "comment": "Änne", "shell": "/bin/bash",
				"password": "$6$new", "manageHome": true, "passwordMinAge": 1, "passwordMaxAge": -1, "passwordWarnDays": 14, "expiry": "2000-01-01"}`,
			changes: []resource.Change{
				{Property: "uid", Is: "1500", Should: "7", Message: "uid changed 1500 to 7"},
				{Property: "gid", Is: "1500", Should: "10", Message: "gid changed 1500 to 10"},
				{Property: "groups", Is: "adm,wheel", Should: "adm,wheel,www", Message: "groups changed adm,wheel to adm,wheel,www"},
				{Property: "home", Is: "/home/ann", Should: "/srv/ann", Message: "home changed /home/ann to /srv/ann"},
				{Property: "comment", Is: "Ann", Should: "Änne", Message: "comment changed Ann to Änne"},
				{Property: "shell", Is: "/bin/sh", Should: "/bin/bash", Message: "shell changed /bin/sh to /bin/bash"},
				{Property: "password", Is: "[redacted]", Should: "[redacted]", Message: "changed password", Sensitive: true},
				{Property: "passwordMinAge", Is: "0", Should: "1", Message: "passwordMinAge changed 0 to 1"},
				{Property: "passwordMaxAge", Is: "99999", Should: "-1", Message: "passwordMaxAge changed 99999 to -1"},
				{Property: "passwordWarnDays", Is: "7", Should: "14", Message: "passwordWarnDays changed 7 to 14"},
				{Property: "expiry", Is: "absent", Should: "2000-01-01", Message: "expiry changed absent to 2000-01-01"},
			},
			transcript: []string{
				"! usermod --uid 7 -- ann",
				"! usermod --gid 10 -- ann",
				"! usermod --append --groups adm,www -- ann",
				"! usermod --home /srv/ann -- ann",
				"! usermod --comment Änne -- ann",
				"! usermod --shell /bin/bash -- ann",
				"! chpasswd --encrypted",
				"! chage --mindays 1 -- ann",
				"! chage --maxdays -1 -- ann",
				"! chage --warndays 14 -- ann",
				"! usermod --expiredate 10957 -- ann",
			},
		},
		"a primary group is compared by the desired name": {
			before:   ann,
			manifest: `{"gid": "www"}`,
		},
		"a missing primary group is shown by its desired name": {
			before:     map[string]string{"/etc/passwd": ann["/etc/passwd"], "/etc/group": "wheel:x:10:\n"},
			manifest:   `{"gid": "wheel"}`,
			changes:    []resource.Change{{Property: "gid", Is: "1500", Should: "wheel", Message: "gid changed 1500 to wheel"}},
			transcript: []string{"! usermod --gid wheel -- ann"},
		},
		"the primary group counts as a group of the user": {
			before:   ann,
			manifest: `{"groups": ["web", "adm"], "membership": "inclusive"}`,
		},
		"a user is removed from all groups": {
			before:     ann,
			manifest:   `{"groups": [], "membership": "inclusive"}`,
			changes:    []resource.Change{{Property: "groups", Is: "adm", Message: "groups undefined from adm"}},
			transcript: []string{`! usermod --groups "" -- ann`},
		},
		"an expiry is removed": {
			before: map[string]string{
				"/etc/passwd": "ann:x:1500:1500:Ann:/home/ann:/bin/sh\n",
				"/etc/shadow": "ann:!:1:0:99999:7::19782:\n",
			},
			manifest:   `{"expiry": "absent"}`,
			changes:    []resource.Change{{Property: "expiry", Is: "2024-02-29", Should: "absent", Message: "expiry changed 2024-02-29 to absent"}},
			transcript: []string{`! usermod --expiredate "" -- ann`},
		},
		"a user without a shadow line never expires": {
			before:   map[string]string{"/etc/passwd": "ann:x:1500:1500:Ann:/home/ann:/bin/sh\n"},
			manifest: `{"passwordMinAge": -1, "passwordMaxAge": -1, "passwordWarnDays": -1, "expiry": "absent"}`,
		},
		"the same password is in sync": {
			before:   ann,
			manifest: `{"password": "$6$old"}`,
		},
		"a user is removed and its home stays": {
			before:     ann,
			manifest:   `{"ensure": "absent"}`,
			changes:    ensure("present", "absent", "removed"),
			transcript: []string{"! userdel -- ann"},
		},
		"a user is removed with its home": {
			before:     ann,
			manifest:   `{"ensure": "absent", "manageHome": true}`,
			changes:    ensure("present", "absent", "removed"),
			transcript: []string{"! userdel --remove -- ann"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := newFake(t, test.before)
			changes := resourcetest.Change(t, bind(t, h, test.manifest), h)

			if diff := cmp.Diff(test.changes, changes); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.transcript, h.Transcript()); diff != "" {
				t.Errorf("transcript (-want +got):\n%s", diff)
			}
		})
	}
}

func TestErrorsNameTheRemedy(t *testing.T) {
	root := debian.Root(t)
	debian.Chroot(t, root, "useradd", "--uid", "1500", "bob")
	h := open(t, root)

	tests := map[string]struct{ manifest, err string }{
		"a number that another user has": {
			`{"name": "ann", "uid": 1500}`,
			"cannot create user ann: uid 1500 belongs to user bob: use another uid, or set allowDupe: true",
		},
		"missing groups and a missing shell": {
			`{"name": "ann", "gid": "web", "groups": ["adm", "wheel"], "shell": "/bin/zsh"}`,
			"cannot create user ann: gid web does not exist on the host: declare a Group with that name or gid\n" +
				"groups has wheel, which does not exist on the host: declare Group/wheel\n" +
				"shell /bin/zsh does not exist on the host: require the Package that installs it, or use another",
		},
		"one property fails and the others are set": {
			`{"name": "bob", "uid": 0, "gid": 4711, "groups": ["wheel"], "comment": "Bob", "shell": "/etc/passwd"}`,
			"cannot set uid: uid 0 belongs to user root: use another uid, or set allowDupe: true\n" +
				"cannot set gid: gid 4711 does not exist on the host: declare a Group with that name or gid\n" +
				"cannot set groups: groups has wheel, which does not exist on the host: declare Group/wheel\n" +
				"cannot set shell: shell /etc/passwd is not an executable file: use another",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := bind(t, h, test.manifest)
			must(t, r.Read(t.Context(), resourcetest.Reader(h)))
			err := r.Write(t.Context(), resourcetest.Writer(h), r.Compare().Changes)
			if err == nil || err.Error() != test.err {
				t.Errorf("got  %v\nwant %s", err, test.err)
			}
		})
	}
}

func TestInvalidPasswordIsNotShown(t *testing.T) {
	for _, manifest := range []string{
		`{"password": "$6$s3cret"}`,
		`{"name": "bob", "password": "$6$s3cret"}`,
	} {
		h := newFake(t, map[string]string{"/etc/passwd": "bob:x:7:7::/:/bin/sh\n"})
		given := ""
		h.Handle("chpasswd", func(cmd host.Cmd) host.Result {
			given = string(cmd.Stdin)
			return host.Result{ExitCode: 1, Stderr: []byte("chpasswd: (line 1) error changing password\n")}
		})
		r := bind(t, h, manifest)
		must(t, r.Read(t.Context(), resourcetest.Reader(h.ReadOnly())))
		err := r.Write(t.Context(), resourcetest.Writer(h), r.Compare().Changes)
		if given != r.Namevar()+":$6$s3cret\n" {
			t.Errorf("chpasswd was given %q", given)
		}
		shown := fmt.Sprintf("%v %+v %q", err, r.Compare(), h.Transcript())
		if err == nil || !strings.Contains(shown, "chpasswd exited with 1: (line 1) error changing password") || strings.Contains(shown, "s3cret") {
			t.Errorf("got %s", shown)
		}
	}
}

func TestAccountWithoutAHomeIsRemoved(t *testing.T) {
	root := debian.Root(t)
	debian.Chroot(t, root, "useradd", "--no-create-home", "bob")
	h := open(t, root)
	apply(t, h, `{"name": "bob", "ensure": "absent", "manageHome": true}`)
	if passwd, err := h.ReadFile("/etc/passwd"); err != nil || strings.Contains(string(passwd), "bob") {
		t.Errorf("bob is still there: %v", err)
	}
}

func TestAccountStaysIfItsHomeWould(t *testing.T) {
	root := debian.Root(t)
	debian.Chroot(t, root, "useradd", "--home-dir", "/usr/share", "bob")
	h := open(t, root)
	r := bind(t, h, `{"name": "bob", "ensure": "absent", "manageHome": true}`)
	must(t, r.Read(t.Context(), resourcetest.Reader(h)))
	err := r.Write(t.Context(), resourcetest.Writer(h), r.Compare().Changes)
	const want = "cannot remove user bob with its home /usr/share: that belongs to another user, so userdel would leave it: remove manageHome, or correct the owner"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if entry := debian.Chroot(t, root, "getent", "passwd", "bob"); entry == "" {
		t.Error("the account was removed")
	}
}

func TestHomeIsCreatedOnlyWithTheAccount(t *testing.T) {
	root := debian.Root(t)
	h := open(t, root)

	apply(t, h, `{"name": "ann", "manageHome": true, "home": "/home/ann"}`)
	if owner := debian.Chroot(t, root, "stat", "--format=%U", "/home/ann"); owner != "ann\n" {
		t.Errorf("the home is of %q", owner)
	}
	debian.Chroot(t, root, "test", "-f", "/home/ann/.profile")

	apply(t, h, `{"name": "bob", "home": "/home/bob"}`)
	debian.Chroot(t, root, "test", "!", "-e", "/home/bob")

	apply(t, h, `{"name": "ann", "manageHome": true, "home": "/home/other"}`)
	debian.Chroot(t, root, "test", "!", "-e", "/home/other")
	debian.Chroot(t, root, "test", "-f", "/home/ann/.profile")
}

func TestMoveHome(t *testing.T) {
	root := debian.Root(t)
	debian.Chroot(t, root, "useradd", "--create-home", "ann")
	debian.Chroot(t, root, "touch", "/home/ann/kept")
	h := open(t, root)

	apply(t, h, `{"name": "ann", "moveHome": true, "home": "/srv/ann"}`)
	debian.Chroot(t, root, "test", "-f", "/srv/ann/kept")
	debian.Chroot(t, root, "test", "!", "-e", "/home/ann")
	if owner := debian.Chroot(t, root, "stat", "--format=%U", "/srv/ann"); owner != "ann\n" {
		t.Errorf("the moved file belongs to %q", owner)
	}

	debian.Chroot(t, root, "mkdir", "/home/other")
	r := bind(t, h, `{"name": "ann", "moveHome": true, "home": "/home/other"}`)
	must(t, r.Read(t.Context(), resourcetest.Reader(h)))
	err := r.Write(t.Context(), resourcetest.Writer(h), r.Compare().Changes)
	if err == nil || !strings.Contains(err.Error(), "cannot move the home directory to /home/other, which already exists: move it away, or remove moveHome") {
		t.Errorf("got %v", err)
	}
	debian.Chroot(t, root, "grep", ":/srv/ann:", "/etc/passwd")

	debian.Chroot(t, root, "rm", "-r", "/srv/ann")
	apply(t, h, `{"name": "ann", "moveHome": true, "home": "/srv/ann2"}`) // there is nothing to move
	debian.Chroot(t, root, "grep", ":/srv/ann2:", "/etc/passwd")
}

func TestLocked(t *testing.T) {
	root := debian.Root(t)
	h := open(t, root)
	shadow := func() string {
		return strings.Split(debian.Chroot(t, root, "grep", "^ann:", "/etc/shadow"), ":")[1]
	}
	for _, step := range []struct{ manifest, want string }{
		{`{"name": "ann", "locked": true}`, "!"},
		{`{"name": "ann", "locked": true, "password": "$6$salt$hash"}`, "!$6$salt$hash"},
		{`{"name": "ann", "locked": true, "password": "$6$salt$hash2"}`, "!$6$salt$hash2"},
		{`{"name": "ann", "locked": false}`, "$6$salt$hash2"},
		{`{"name": "ann", "locked": true}`, "!$6$salt$hash2"},
		{`{"name": "ann", "locked": false, "password": "$6$salt$hash"}`, "$6$salt$hash"},
	} {
		apply(t, h, step.manifest)
		if is := shadow(); is != step.want {
			t.Errorf("%s: shadow has %s", step.manifest, is)
		}
		r := bind(t, h, step.manifest)
		must(t, r.Read(t.Context(), resourcetest.Reader(h)))
		if left := r.Compare().Changes; len(left) > 0 {
			t.Errorf("%s: still to change are %v", step.manifest, left)
		}
	}
	debian.Chroot(t, root, "useradd", "bob")
	for _, manifest := range []string{`{"name": "bob", "locked": false}`, `{"name": "eve", "locked": false}`} {
		r := bind(t, h, manifest)
		must(t, r.Read(t.Context(), resourcetest.Reader(h)))
		err := r.Write(t.Context(), resourcetest.Writer(h), r.Compare().Changes)
		if err == nil || !strings.Contains(err.Error(), "locked: false requires a password, which the account does not have: set password or passwordFrom") {
			t.Errorf("%s: %v", manifest, err)
		}
	}
}

func TestMinimumMembershipKeepsOtherGroups(t *testing.T) {
	root := debian.Root(t)
	debian.Chroot(t, root, "useradd", "--groups", "adm", "ann")
	h := open(t, root)
	r := bind(t, h, `{"name": "ann", "groups": ["staff"]}`)
	must(t, r.Read(t.Context(), resourcetest.Reader(h)))
	debian.Chroot(t, root, "gpasswd", "--add", "ann", "games") // between the read and the change
	must(t, r.Write(t.Context(), resourcetest.Writer(h), r.Compare().Changes))

	if groups := debian.Chroot(t, root, "id", "--groups", "--name", "ann"); groups != "ann adm staff games\n" {
		t.Errorf("ann is in %s", groups)
	}
}

func TestASystemAccountHasALowNumber(t *testing.T) {
	root := debian.Root(t)
	h := open(t, root)
	apply(t, h, `{"name": "ann", "system": true}`)
	apply(t, h, `{"name": "bob", "ensure": "present"}`)
	got := debian.Chroot(t, root, "awk", "-F:", `/^ann:/ {print "ann", $3 < 1000} /^bob:/ {print "bob", $3 < 1000}`, "/etc/passwd")
	if want := "ann 1\nbob 0\n"; got != want {
		t.Errorf("below 1000 are\n%s", got)
	}
}

func TestGroupsOfTheSameRun(t *testing.T) {
	root := debian.Root(t)
	debian.Chroot(t, root, "useradd", "bob")
	m := enginetest.Machine{Host: open(t, root), Kinds: []resource.Kind{bound.Kind(group.Type()), bound.Kind(user.Type())}}
	all := []string{
		`User/ann {gid: web, groups: [ops]}`, `User/bob {gid: 1600}`,
		`Group/web {gid: 1500}`, `Group/ops {gid: 1600}`,
	}
	want := []string{"Group/web: created", "Group/ops: created", "User/ann: created", "User/bob: gid changed 1000 to 1600"}
	if diff := cmp.Diff(want, m.Apply(t, all...)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if again := m.Apply(t, all...); again != nil {
		t.Errorf("a second run: %v", again)
	}
}
