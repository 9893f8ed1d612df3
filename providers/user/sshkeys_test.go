package user_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/engine/enginetest"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/providers/sshauthorizedkey"
	"github.com/fettle-dev/fettle/providers/user"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
	"github.com/fettle-dev/fettle/test/fixtures/rival"
)

const (
	one = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"
	two = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIP/+/fz7+vn49/b19PPy8fDv7u3s6+rp6Ofm5eTj4uHg"
)

const keyOne = " type: ssh-ed25519, key: AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f}"

// withKeys returns a Debian tree in which the user ann has these files, by their paths.
func withKeys(t *testing.T, files map[string]string) (m enginetest.Machine, h *linux.Host) {
	t.Helper()
	m, h, _ = rootWithKeys(t, files)
	return m, h
}

func rootWithKeys(t *testing.T, files map[string]string) (m enginetest.Machine, h *linux.Host, root string) {
	t.Helper()
	root = debian.Root(t)
	debian.Chroot(t, root, "useradd", "--create-home", "ann")
	for path, content := range files {
		file := filepath.Join(root, path)
		must(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must(t, os.WriteFile(file, []byte(content), 0o644))
	}
	debian.Chroot(t, root, "chown", "--recursive", "ann:ann", "/home/ann")
	h = open(t, root)
	return enginetest.Machine{Host: h, Kinds: []resource.Kind{bound.Kind(sshauthorizedkey.Type()), bound.Kind(user.Type())}}, h, root
}

const keys = "/home/ann/.ssh/authorized_keys"

func TestUnmanagedKeysArePurged(t *testing.T) {
	const before = "# mine\n" + one + " kept\n" + two + "\n" + two + " stray\nrestrict " + one + "\n" + two + " stray\n" + two + " of-bob\n" + two + " a\x1b[2Jb\xff\n"
	tests := map[string]struct {
		noop      bool
		resources []string
		want      []string
		left      string
	}{
		"all unmanaged keys are removed, also those without a name": {
			resources: []string{
				`User/ann {purgeSSHKeys: true}`,
				`SSHAuthorizedKey/kept {user: ann,` + keyOne,
				`SSHAuthorizedKey/of-bob {user: bob, ensure: absent}`,
			},
			want: []string{
				"SSHAuthorizedKey/a\x1b[2Jb\uFFFD: removed",
				"SSHAuthorizedKey/of-bob: removed",
				"SSHAuthorizedKey/stray: removed",
				"SSHAuthorizedKey/" + keys + ":unnamed-2: removed",
				"SSHAuthorizedKey/" + keys + ":unnamed-1: removed",
			},
			left: "# mine\n" + one + " kept\n",
		},
		"noop reports them": {
			resources: []string{`User/ann {purgeSSHKeys: true, noop: true}`, `SSHAuthorizedKey/stray {user: ann, ensure: absent, noop: true}`},
			want: []string{
				"SSHAuthorizedKey/a\x1b[2Jb\uFFFD: removed (noop)",
				"SSHAuthorizedKey/of-bob: removed (noop)",
				"SSHAuthorizedKey/" + keys + ":unnamed-2: removed (noop)",
				"SSHAuthorizedKey/" + keys + ":unnamed-1: removed (noop)",
				"SSHAuthorizedKey/kept: removed (noop)",
				"SSHAuthorizedKey/stray: removed (noop)",
			},
			left: before,
		},
		"a key managed by target stays": {
			resources: []string{`User/ann {purgeSSHKeys: true, noop: true}`, `SSHAuthorizedKey/kept {target: ` + keys + `, user: ann, noop: true,` + keyOne},
			want: []string{
				"SSHAuthorizedKey/a\x1b[2Jb\uFFFD: removed (noop)",
				"SSHAuthorizedKey/of-bob: removed (noop)",
				"SSHAuthorizedKey/stray: removed (noop)",
				"SSHAuthorizedKey/" + keys + ":unnamed-2: removed (noop)",
				"SSHAuthorizedKey/" + keys + ":unnamed-1: removed (noop)",
			},
			left: before,
		},
		"no key is removed without purgeSSHKeys": {
			resources: []string{`User/ann {purgeSSHKeys: false}`},
			left:      before,
		},
		"no key is removed while an SSHAuthorizedKey is invalid": {
			resources: []string{`User/ann {purgeSSHKeys: true}`, `SSHAuthorizedKey/bad {user: ann, key: x}`},
			want: []string{
				"User/ann: no key is purged: SSHAuthorizedKey/bad is withheld (type and key are required, unless ensure is absent) and may be a key of ann",
				"SSHAuthorizedKey/bad: type and key are required, unless ensure is absent",
			},
			left: before,
		},
		"a user that does not exist yet has no keys": {
			noop:      true,
			resources: []string{`User/eve {ensure: present, purgeSSHKeys: true}`},
			want:      []string{"User/eve: created (noop)"},
			left:      before,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m, h := withKeys(t, map[string]string{keys: before})
			m.Noop = test.noop
			if diff := cmp.Diff(test.want, m.Apply(t, test.resources...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			left, err := h.ReadFile(keys)
			must(t, err)
			if diff := cmp.Diff(test.left, string(left)); diff != "" {
				t.Errorf("left is (-want +got):\n%s", diff)
			}
		})
	}
}

func TestKeysArePurgedInAllKeyFiles(t *testing.T) {
	m, h := withKeys(t, map[string]string{
		keys: one + " a\n" + one + " stray\n", "/home/ann/.ssh/keys2": one + " a\n" + one + " b\n", "/etc/ssh/keys/ann": one + " a\n", "/home/ann/root": one + " c\n",
	})
	got := m.Apply(t,
		`User/ann {purgeSSHKeys: true, sshKeyFiles: ["%h/.ssh/keys2", ~/.ssh/none, /etc/ssh/keys/ann]}`,
		`SSHAuthorizedKey/a {user: ann,`+keyOne,
	)
	want := []string{"SSHAuthorizedKey/b: removed", "SSHAuthorizedKey/a: removed", "SSHAuthorizedKey/a: removed"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for path, want := range map[string]string{keys: one + " a\n" + one + " stray\n", "/home/ann/.ssh/keys2": "", "/etc/ssh/keys/ann": ""} {
		text, err := h.ReadFile(path)
		must(t, err)
		if string(text) != want {
			t.Errorf("%s is %q", path, text)
		}
	}
	got = m.Apply(t, `User/ann {purgeSSHKeys: true, sshKeyFiles: [/home/ann/root]}`)
	want = []string{"User/ann: cannot generate its resources: cannot read the keys: users other than root can write to /home/ann, " +
		"so it is not safe for root's keys: set the user of target /home/ann/root"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUnreadableKeyFileFails(t *testing.T) {
	m, _, root := rootWithKeys(t, map[string]string{keys: one + " stray\n"})
	must(t, os.Chmod(filepath.Join(root, keys), 0))
	want := []string{"User/ann: cannot generate its resources: cannot read the keys: open " + keys + ": permission denied"}
	if diff := cmp.Diff(want, m.Apply(t, `User/ann {purgeSSHKeys: true}`)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A user exchanges the directory of the keys and a symlink to root's, which root could read.
func TestUsersCannotRedirectAPurge(t *testing.T) {
	const roots, attempts = "/root/.ssh/authorized_keys", 200
	kept := one + " of root\n"
	m, h, root := rootWithKeys(t, map[string]string{keys: "", roots: kept})
	must(t, os.Chmod(filepath.Join(root, "root/.ssh"), 0o700))
	home := filepath.Join(root, "home/ann")
	must(t, os.Symlink("../../root/.ssh", home+"/link"))
	dir, err := unix.Open(home+"/.ssh", unix.O_PATH|unix.O_DIRECTORY, 0)
	must(t, err)
	defer unix.Close(dir)
	ann, err := h.Stat("/home/ann")
	must(t, err)
	rival.Start(t, root, ann.UID, "exchange", "/home/ann/.ssh", "/home/ann/link")
	purged := 0
	for range attempts {
		fd, err := unix.Openat(dir, "authorized_keys", unix.O_CREAT|unix.O_TRUNC|unix.O_WRONLY, 0o644)
		must(t, err)
		_, err = unix.Write(fd, []byte(two+" of root\n"+two+" stray\n"))
		must(t, err)
		must(t, unix.Close(fd))
		for _, line := range m.Apply(t, `User/ann {purgeSSHKeys: true}`) {
			if strings.HasSuffix(line, ": removed") {
				purged++
			}
		}
		if text, err := h.ReadFile(roots); err != nil || string(text) != kept {
			t.Fatalf("root's keys are %q, %v", text, err)
		}
	}
	if purged == 0 {
		t.Error("no key was purged, so that nothing was tried")
	}
}

// A user can add any number of keys. They are removed at once, because each change is one of the whole file.
func TestPurgeOfManyKeys(t *testing.T) {
	var text strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&text, "a AAAA %d\na AAAA\n", i)
	}
	m, h := withKeys(t, map[string]string{keys: "# mine\n" + one + " kept\n" + text.String()})
	specs := []string{`User/ann {purgeSSHKeys: true}`, `SSHAuthorizedKey/kept {user: ann,` + keyOne}
	name := "SSHAuthorizedKey/" + keys + ":unmanaged: "
	want := []string{name + "output: removes 100000 keys that no resource manages", name + "removed"}
	if diff := cmp.Diff(want, m.Apply(t, specs...)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if left, err := h.ReadFile(keys); err != nil || string(left) != "# mine\n"+one+" kept\n" {
		t.Errorf("left is %q, %v", left, err)
	}
	if again := m.Apply(t, specs...); len(again) > 0 {
		t.Errorf("the next run did %q", again)
	}
}
