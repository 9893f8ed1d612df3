package purge_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine/enginetest"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/providers/file"
	"github.com/fettle-dev/fettle/providers/group"
	"github.com/fettle-dev/fettle/providers/purge"
	"github.com/fettle-dev/fettle/providers/sshauthorizedkey"
	"github.com/fettle-dev/fettle/providers/systemservice"
	"github.com/fettle-dev/fettle/providers/user"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

func kinds() []resource.Kind {
	return []resource.Kind{bound.Kind(file.Type(nil)), bound.Kind(group.Type()), bound.Kind(purge.Type()), bound.Kind(sshauthorizedkey.Type()), bound.Kind(systemservice.Type()), bound.Kind(user.Type())}
}

// run applies resources, as "Kind/name" with their attributes, to a root.
func run(t *testing.T, root string, withheld []resource.Withheld, resources ...[2]string) []string {
	t.Helper()
	h, err := linux.Open(linux.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = h.Close() }()
	var all []string
	for _, r := range resources {
		all = append(all, r[0]+" "+r[1])
	}
	return enginetest.Machine{Host: h, Kinds: kinds(), Withheld: withheld}.Apply(t, all...)
}

func TestUnmanagedInstancesAreRemoved(t *testing.T) {
	root := debian.Root(t)
	for _, name := range []string{"kept", "stray", "spared"} {
		debian.Chroot(t, root, "useradd", name)
	}
	spared := strings.TrimSpace(debian.Chroot(t, root, "id", "-u", "spared"))

	for name, c := range map[string]struct {
		withheld  []resource.Withheld
		resources [][2]string
		want      []string
	}{
		"nothing is purged while a resource of the kind is withheld": {
			withheld:  []resource.Withheld{{Ref: resource.Ref{Kind: "User", Name: "stray"}, Why: "Conflict: of two"}, {Ref: resource.Ref{Kind: "User", Name: "b"}}},
			resources: [][2]string{{"Purge/users", `{"kind":"User"}`}},
			want:      []string{"Purge/users: skipped: User/stray is withheld (Conflict: of two) and may manage what would be removed; and 1 more"},
		},
		"nothing is purged while a resource of the kind is invalid": {
			resources: [][2]string{{"Purge/users", `{"kind":"User"}`}, {"User/bad", `{"uid":"x"}`}},
			want: []string{
				"Purge/users: skipped: User/bad is withheld (cannot read attributes of User/bad: json: cannot unmarshal string into Go struct field UserAttributes.uid of type int64) and may manage what would be removed",
				"User/bad: cannot read attributes of User/bad: json: cannot unmarshal string into Go struct field UserAttributes.uid of type int64",
			},
		},
		"a kind that cannot be listed fails": {
			resources: [][2]string{{"Purge/files", `{"kind":"File","confirm":"File"}`}},
			want:      []string{"Purge/files: cannot generate its resources: cannot list all of kind File: provider posix can't; give a name"},
		},
		"an unknown kind fails": {
			resources: [][2]string{{"Purge/crons", `{"kind":"Cron","confirm":"Cron"}`}},
			want:      []string{"Purge/crons: cannot generate its resources: kind \"Cron\" is unknown: `fettle describe` lists the known ones"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, run(t, root, c.withheld, c.resources...)); diff != "" {
				t.Error(diff)
			}
		})
	}

	all := [][2]string{{"Purge/users", `{"kind":"User","unlessUID":[` + spared + `]}`}, {"User/kept", `{"shell":"/bin/sh"}`}}
	got := run(t, root, []resource.Withheld{{Ref: resource.Ref{Kind: "Group", Name: "stray"}}, {Ref: resource.Ref{Kind: "File", Name: "passwd"}}}, all...)
	if diff := cmp.Diff([]string{"User/stray: removed"}, got); diff != "" {
		t.Error(diff)
	}
	if got := run(t, root, nil, all...); got != nil {
		t.Errorf("a second run: %v", got)
	}
	left := debian.Chroot(t, root, "getent", "passwd", "kept", "spared", "root", "nobody", "daemon", "sys")
	if n := strings.Count(left, "\n"); n != 6 {
		t.Errorf("left are\n%s", left)
	}
}

func TestNoopRemovesNothing(t *testing.T) {
	root := debian.Root(t)
	debian.Chroot(t, root, "useradd", "--no-user-group", "stray")
	debian.Chroot(t, root, "groupadd", "loose")
	all := [][2]string{{"Purge/users", `{"kind":"User","noop":true}`}, {"Purge/groups", `{"kind":"Group","noop":true}`}}
	for range 2 {
		if diff := cmp.Diff([]string{"User/stray: removed (noop)", "Group/loose: removed (noop)"}, run(t, root, nil, all...)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestSystemAccountsAreExcludedByDefault(t *testing.T) {
	root := debian.Root(t)
	debian.Chroot(t, root, "useradd", "--system", "svc")
	debian.Chroot(t, root, "useradd", "--uid", "1200", "early")
	debian.Chroot(t, root, "sed", "--in-place", `s/^UID_MIN.*/UID_MIN 1500/`, "/etc/login.defs")
	if got := run(t, root, nil, [2]string{"Purge/users", `{"kind":"User","noop":true}`}); got != nil {
		t.Errorf("of system accounts would go %q", got)
	}
	got := run(t, root, nil, [2]string{"Purge/users", `{"kind":"User","noop":true,"unlessSystemUser":false,"unlessUID":[9]}`})
	for name, goes := range map[string]bool{"svc": true, "early": true, "games": true, "root": false, "nobody": false, "daemon": false, "bin": false, "sys": false, "news": false} {
		if slices.Contains(got, "User/"+name+": removed (noop)") != goes {
			t.Errorf("%s goes: %v; all that would go are %q", name, !goes, got)
		}
	}
}

func TestSystemAccountLimitsFromLoginDefs(t *testing.T) {
	root := debian.Root(t)
	for _, account := range []string{"1499", "1500"} {
		debian.Chroot(t, root, "useradd", "--no-user-group", "--uid", account, "u"+account)
		debian.Chroot(t, root, "groupadd", "--gid", account, "g"+account)
	}
	debian.Chroot(t, root, "sed", "-i", "-e", "s/^UID_MIN.*/UID_MIN 1500/", "-e", "s/^GID_MIN.*/GID_MIN 1500/", "/etc/login.defs")
	got := run(t, root, nil, [2]string{"Purge/users", `{"kind":"User","noop":true}`}, [2]string{"Purge/groups", `{"kind":"Group","noop":true}`})
	if diff := cmp.Diff([]string{"User/u1500: removed (noop)", "Group/g1500: removed (noop)"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A user must not be able to keep the keys of others.
func TestKeysAreRemovedWhateverOneUserHas(t *testing.T) {
	const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f stray\n"
	root := debian.Root(t)
	for name, text := range map[string]string{"ann": strings.Repeat("#\n", 4<<20), "bob": key} {
		debian.Chroot(t, root, "useradd", "--create-home", name)
		dir := filepath.Join(root, "home", name, ".ssh")
		if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "authorized_keys"), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		debian.Chroot(t, root, "chown", "--recursive", name+":"+name, "/home/"+name)
	}
	got := run(t, root, nil, [2]string{"Purge/keys", `{"kind":"SSHAuthorizedKey","confirm":"SSHAuthorizedKey"}`})
	want := []string{
		"SSHAuthorizedKey/stray: removed",
		"Purge/keys: cannot generate its resources: cannot list SSHAuthorizedKey by provider openssh: cannot read the keys: " +
			"/home/ann/.ssh/authorized_keys is larger than 4194304 bytes: remove other lines by hand",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUnmanagedKeysOfAllUsersAreRemoved(t *testing.T) {
	const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"
	root := debian.Root(t)
	for _, name := range []string{"ann", "bob"} {
		debian.Chroot(t, root, "useradd", "--create-home", name)
		dir := filepath.Join(root, "home", name, ".ssh")
		text := key + " kept\n" + key + " stray-" + name + "\n" + strings.Repeat(key+"\n", 11)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "authorized_keys"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		debian.Chroot(t, root, "chown", "--recursive", name+":"+name, "/home/"+name)
	}
	got := run(t, root, nil, [2]string{"Purge/keys", `{"kind":"SSHAuthorizedKey","confirm":"SSHAuthorizedKey"}`}, [2]string{"SSHAuthorizedKey/kept", `{"user":"ann","ensure":"present","type":"ed25519","key":"` + strings.Fields(key)[1] + `"}`})
	var want []string
	for _, numbers := range [][2]int{{11, 10}, {9, 1}} {
		for _, name := range []string{"bob", "ann"} {
			for n := numbers[0]; n >= numbers[1]; n-- {
				want = append(want, fmt.Sprintf("SSHAuthorizedKey//home/%s/.ssh/authorized_keys:unnamed-%d: removed", name, n))
			}
		}
	}
	want = append(want, "SSHAuthorizedKey/stray-bob: removed", "SSHAuthorizedKey/stray-ann: removed")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, name := range []string{"ann", "bob"} {
		if left, err := os.ReadFile(filepath.Join(root, "home", name, ".ssh/authorized_keys")); string(left) != key+" kept\n" || err != nil {
			t.Errorf("of %s is left %q, %v", name, left, err)
		}
	}
}

func TestPurgeWithoutExceptionRequiresConfirm(t *testing.T) {
	for attributes, want := range map[string]string{
		`{"kind":"SSHAuthorizedKey"}`:                                                "this purges everything of kind SSHAuthorizedKey that no resource manages, without an exception: if that is intended, set confirm: SSHAuthorizedKey",
		`{"kind":"SSHAuthorizedKey","confirm":"User"}`:                               "this purges everything of kind SSHAuthorizedKey that no resource manages, without an exception: if that is intended, set confirm: SSHAuthorizedKey",
		`{"kind":"User","unlessSystemUser":false}`:                                   "this purges every User that no resource manages, without an exception: add one by unlessUID or unlessSystemUser, or, if that is intended, set confirm: User",
		`{"kind":"Group","unlessSystemUser":false,"unlessUID":[]}`:                   "this purges every Group that no resource manages, without an exception: add one by unlessUID or unlessSystemUser, or, if that is intended, set confirm: Group",
		`{"kind":"Group","unlessSystemUser":false,"unlessUID":[],"confirm":"Group"}`: "",
		`{"kind":"User","unlessSystemUser":false,"unlessUID":[7]}`:                   "",
		`{"kind":"SSHAuthorizedKey","confirm":"SSHAuthorizedKey"}`:                   "",
	} {
		_, err := bound.Kind(purge.Type()).Bind(resource.Ref{Kind: "Purge", Name: "all"}, []byte(attributes))
		if got := fmt.Sprint(err); got != want && (want != "" || err != nil) {
			t.Errorf("%s\ngot  %v\nwant %s", attributes, err, want)
		}
	}
}
