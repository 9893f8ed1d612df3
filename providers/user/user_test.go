package user_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
	"github.com/fettle-dev/fettle/providers/user"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

func TestLaws(t *testing.T) {
	root := debian.Root(t)
	debian.Chroot(t, root, "groupadd", "--gid", "1500", "web")
	debian.Chroot(t, root, "groupadd", "wheel")
	h := open(t, root)
	snapshot := resourcetest.Files(h, "/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow", "/home", "/var/mail")

	t.Run("with all attributes", func(t *testing.T) {
		resourcetest.Run(t, user.Type(), resourcetest.Case{
			Host:   h,
			Absent: "{name: ann, ensure: absent, home: /home/ann, manageHome: true}",
			Present: `{name: ann, uid: 1500, gid: web, groups: [wheel, adm], home: /home/ann, manageHome: true, comment: Änne Müller,
				shell: /bin/bash, password: $6$salt$Pm4rk3r1,
				passwordMinAge: 1, passwordMaxAge: 90, passwordWarnDays: 14, expiry: 2099-12-31}`,
			Changed: []string{
				`{name: ann, uid: 1501, gid: "100", groups: [web], home: /home/anne, comment: "", shell: /bin/sh, password: "!$6$salt$Pm4rk3r1",
					passwordMinAge: 0, passwordMaxAge: -1, passwordWarnDays: 0, expiry: absent}`,
				"{name: ann, groups: [], membership: inclusive, expiry: 1970-01-01, passwordMinAge: -1}",
				"{name: ann, uid: 8, allowDupe: true, groups: [adm], password: $6$salt$Pm4rk3r3, expiry: 2024-02-29, passwordWarnDays: -1, passwordMaxAge: 2147483647}",
				"{name: ann, uid: 1501, home: /home/ann}",
			},
			Snapshot: snapshot,
			Secret:   "Pm4rk3r",
		})
	})
	t.Run("with only a name", func(t *testing.T) {
		resourcetest.Run(t, user.Type(), resourcetest.Case{
			Host:     h,
			Absent:   "{ensure: absent}",
			Present:  "{ensure: present}",
			Snapshot: snapshot,
		})
	})
	t.Run("as a system account", func(t *testing.T) {
		resourcetest.Run(t, user.Type(), resourcetest.Case{
			Host:     h,
			Absent:   "{ensure: absent}",
			Present:  "{system: true, gid: 1500, shell: /usr/sbin/nologin, expiry: 2099-12-31, passwordMaxAge: -1}",
			Changed:  []string{"{gid: users}", "{gid: 1500}"},
			Snapshot: snapshot,
		})
	})
}

func TestEnsureDefaultsToPresent(t *testing.T) {
	tests := map[string]struct {
		manifest string
		changes  int // on a host without the user
	}{
		"only a name manages nothing":              {`{"name": "ann"}`, 0},
		"a property implies present":               {`{"comment": ""}`, 1},
		"an empty list of groups implies present":  {`{"groups": []}`, 1},
		"a parameter implies present":              {`{"system": true}`, 1},
		"the ageing of a password implies present": {`{"passwordMaxAge": -1}`, 1},
		"an absent expiry implies present":         {`{"expiry": "absent"}`, 1},
		"absent stays absent":                      {`{"ensure": "absent", "uid": 7}`, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := newFake(t, nil)
			r := bind(t, h, test.manifest)
			must(t, r.Read(t.Context(), resourcetest.Reader(h.ReadOnly())))
			if got := r.Compare().Changes; len(got) != test.changes {
				t.Errorf("changes are %+v, want %d", got, test.changes)
			}
		})
	}
}

const noHash = "password is not a hash as in /etc/shadow: make one with openssl passwd -6, or use ! for no password"

func TestPasswordHashes(t *testing.T) {
	for _, hash := range []string{
		"!", "!!", "*", "!*", "*LK*", "ab1./ZyxWvuTs", "_J9..rasmBYk8r9AiWNc", "!ab1./ZyxWvuTs", "$1$salt$qJH7.N4xYta3aEG/dfqo/0",
		"$2b$12$abcdefghijklmnopqrstuuWQ3vGvQ3vGvQ3vGvQ3vGvQ3vGvQ3vG", "$5$rounds=5000$salt$hash", "!$6$salt$hash", "$y$j9T$salt$hash", "$7$CU..../....salt$hash",
		"$argon2id$v=19$m=65536,t=3,p=4$c2FsdA$aGFzaA",
	} {
		raw, err := json.Marshal(map[string]string{"password": hash})
		must(t, err)
		if _, err := bound.Kind(user.Type()).Bind(resource.Ref{Kind: "User", Name: "ann"}, raw); err != nil {
			t.Errorf("%s: %v", hash, err)
		}
	}
}

func TestRemovingTheSuperuserRequiresConfirm(t *testing.T) {
	for manifest, did := range map[string][]string{
		`{"name": "toor", "ensure": "absent"}`:                    nil,
		`{"name": "toor", "ensure": "absent", "confirm": "root"}`: nil,
		`{"name": "toor", "ensure": "absent", "confirm": "toor"}`: {"! userdel -- toor"},
	} {
		h := newFake(t, map[string]string{"/etc/passwd": "root:x:0:0::/root:/bin/sh\ntoor:x:0:0::/root:/bin/sh\n"})
		r := bind(t, h, manifest)
		must(t, r.Read(t.Context(), resourcetest.Reader(h.ReadOnly())))
		err := r.Write(t.Context(), resourcetest.Writer(h), r.Compare().Changes)
		if (err == nil) != (did != nil) || err != nil && err.Error() != "toor is the superuser, without which the host does not work: to remove the account anyway, set confirm: toor" {
			t.Errorf("%s: %v", manifest, err)
		}
		if diff := cmp.Diff(did, h.Transcript()); diff != "" {
			t.Errorf("%s: done (-want +got):\n%s", manifest, diff)
		}
	}
}

func TestInvalidAttributes(t *testing.T) {
	tests := map[string]struct{ manifest, err string }{
		"a name of two fields":                {`{"name": "ann:x"}`, `name "ann:x" must not contain a colon, a line break or another control character: remove it`},
		"a comment of two fields":             {`{"comment": "a:b"}`, `comment "a:b" must not contain a colon, a line break or another control character: remove it`},
		"a comment of two lines":              {`{"comment": "a\nb"}`, `comment "a\nb" must not contain a colon, a line break or another control character: remove it`},
		"a comment with a tab":                {`{"comment": "a\tb"}`, `comment "a\tb" must not contain a colon, a line break or another control character: remove it`},
		"a home of two fields":                {`{"home": "/a:b"}`, `home "/a:b" must not contain a colon, a line break or another control character: remove it`},
		"a relative home":                     {`{"home": "ann"}`, `home "ann" must be an absolute path: begin it with /`},
		"a relative shell":                    {`{"shell": "bash"}`, `shell "bash" must be an absolute path: begin it with /`},
		"a password of two lines":             {`{"password": "$6$x\nroot:y"}`, noHash},
		"a password in plain text":            {`{"password": "hunter2"}`, noHash},
		"a locked password in plain text":     {`{"password": "!hunter2"}`, noHash},
		"an empty password":                   {`{"password": ""}`, "password is empty, so anybody could log in: use a hash as in /etc/shadow, made with openssl passwd -6, or ! for no password"},
		"a password locked twice":             {`{"password": "!$6$salt$hash", "locked": false}`, "password begins with !, which locks it by itself: remove the !, or remove locked"},
		"root absent without confirm":         {`{"name": "root", "ensure": "absent"}`, "root is the superuser, without which the host does not work: to remove the account anyway, set confirm: root"},
		"the number 0 absent without confirm": {`{"name": "toor", "uid": 0, "ensure": "absent", "confirm": "root"}`, "toor is the superuser, without which the host does not work: to remove the account anyway, set confirm: toor"},
		"an expiry that is not a date": {
			`{"expiry": "2023-02-29"}`, `expiry "2023-02-29" is not a day from 1970-01-01 on: use YYYY-MM-DD, or absent for none`,
		},
		"an expiry before 1970": {
			`{"expiry": "1969-12-31"}`, `expiry "1969-12-31" is not a day from 1970-01-01 on: use YYYY-MM-DD, or absent for none`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := bound.Kind(user.Type()).Bind(resource.Ref{Kind: "User", Name: "ann"}, json.RawMessage(test.manifest))
			if err == nil || err.Error() != test.err {
				t.Errorf("got  %v\nwant %s", err, test.err)
			}
		})
	}
}

func TestRelations(t *testing.T) {
	tests := map[string]struct {
		manifest string
		want     []resource.Relation
	}{
		"a user comes after its groups": {
			`{"gid": "web", "groups": ["wheel"]}`,
			[]resource.Relation{{Relation: resource.Require, Kind: "Group", Names: []string{"web", "wheel"}}},
		},
		"a group is identified by its number": {
			`{"gid": "1500"}`,
			[]resource.Relation{{Relation: resource.Require, Kind: "Group", Names: []string{"1500"}}},
		},
		"without a gid a user comes after the group of its name": {
			`{"uid": 7}`,
			[]resource.Relation{{Relation: resource.Require, Kind: "Group", Names: []string{"ann"}}},
		},
		"an absent user comes before its group": {
			`{"ensure": "absent"}`,
			[]resource.Relation{{Relation: resource.Before, Kind: "Group", Names: []string{"ann"}}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := bound.Kind(user.Type()).Bind(resource.Ref{Kind: "User", Name: "ann"}, json.RawMessage(test.manifest))
			must(t, err)
			if diff := cmp.Diff(test.want, r.Relations()); diff != "" {
				t.Errorf("relations (-want +got):\n%s", diff)
			}
		})
	}
}
