package sshauthorizedkey_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine/enginetest"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
	"github.com/fettle-dev/fettle/providers/file"
	"github.com/fettle-dev/fettle/providers/sshauthorizedkey"
	"github.com/fettle-dev/fettle/providers/user"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

const (
	one = "AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"
	two = "AAAAC3NzaC1lZDI1NTE5AAAAIP/+/fz7+vn49/b19PPy8fDv7u3s6+rp6Ofm5eTj4uHg"
)

// open returns a Debian tree with the users ann and bob.
func open(t *testing.T) (h *linux.Host, root string) {
	t.Helper()
	root = debian.Root(t)
	for _, name := range []string{"ann", "bob"} {
		debian.Chroot(t, root, "useradd", "--create-home", name)
	}
	h, err := linux.Open(linux.Options{Root: root})
	must(t, err)
	t.Cleanup(func() { must(t, h.Close()) })
	return h, root
}

func machine(h host.Host) enginetest.Machine {
	return enginetest.Machine{Host: h, Kinds: []resource.Kind{bound.Kind(file.Type(nil)), bound.Kind(sshauthorizedkey.Type()), bound.Kind(user.Type())}}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

const keys = "/home/ann/.ssh/authorized_keys"

// put creates a file of ann's, and the directory above it.
func put(t *testing.T, root, path, content string) {
	t.Helper()
	file := filepath.Join(root, path)
	must(t, os.MkdirAll(filepath.Dir(file), 0o755))
	must(t, os.WriteFile(file, []byte(content), 0o644))
	debian.Chroot(t, root, "chown", "--recursive", "ann:ann", "/home/ann")
}

func read(t *testing.T, h host.Reader, path string) string {
	t.Helper()
	text, err := h.ReadFile(path)
	must(t, err)
	return string(text)
}

func TestLaws(t *testing.T) {
	h, root := open(t)
	put(t, root, keys, "# mine\nssh-ed25519 "+two+"\n")
	must(t, os.Chmod(root+keys, 0o600))
	resourcetest.Run(t, sshauthorizedkey.Type(), resourcetest.Case{
		Host:    h,
		Name:    "ann@laptop",
		Absent:  "{ensure: absent, user: ann}",
		Present: "{user: ann, type: ed25519, key: " + one + `, options: [no-pty, 'command="a \"b\", c"']}`,
		Changed: []string{
			"{user: ann, type: ssh-ed25519, key: " + two + "}",
			"{user: ann, type: ssh-ed25519, key: " + two + ", options: []}",
			"{user: ann, type: ssh-ed25519, key: " + one + ", options: [restrict]}",
		},
		Snapshot: resourcetest.Files(h, "/home/ann", "/home/bob", "/root"),
	})
}

func TestFileIsCreatedWithModesForSSH(t *testing.T) {
	h, _ := open(t)
	m := machine(h)
	ann := `SSHAuthorizedKey/ann@laptop {user: ann, type: ssh-ed25519, key: ` + one + `}`
	same(t, m.Apply(t, ann), "SSHAuthorizedKey/ann@laptop: created")
	same(t, m.Apply(t, ann))
	want := fmt.Sprintf("%s d 0700 ann:ann\n%s - 0600 ann:ann\n  ssh-ed25519 %s ann@laptop\n  \n", "/home/ann/.ssh", keys, one)
	got := strings.NewReplacer("1000:1000", "ann:ann", "d---------", "d", "----------", "-").Replace(resourcetest.Files(h, "/home/ann/.ssh")(t))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestKeysAreIdentifiedByComment(t *testing.T) {
	h, root := open(t)
	put(t, root, keys, "ssh-ed25519 "+two+" bob@laptop\n ssh-ed25519 "+one+" ann@laptop \r\nrestrict ssh-ed25519 "+two+" ann@laptop\nunknown line")
	m := machine(h)
	ann := `SSHAuthorizedKey/a {name: ann@laptop, user: ann, type: ssh-ed25519, key: ` + one + `}`
	same(t, m.Apply(t, ann),
		"SSHAuthorizedKey/a: key changed SHA256:LIHRKjP8oeafKrX0BHkvTYI/ZcB3tRHZHr9uyEhysws to SHA256:ZkAslGjFiUHdGf/WUL8rQvkib4PTvQatUV0OUQSncCA")
	if got, want := read(t, h, keys), "ssh-ed25519 "+two+" bob@laptop\nssh-ed25519 "+one+" ann@laptop\nunknown line"; got != want {
		t.Errorf("the file is\n%s\nwant\n%s", got, want)
	}
	same(t, m.Apply(t, ann))
	same(t, m.Apply(t, `SSHAuthorizedKey/a {name: ann@laptop, user: ann, ensure: absent}`), "SSHAuthorizedKey/a: removed")
	if got, want := read(t, h, keys), "ssh-ed25519 "+two+" bob@laptop\nunknown line"; got != want {
		t.Errorf("the file is\n%s\nwant\n%s", got, want)
	}
}

func TestWrongTypeIsCorrected(t *testing.T) {
	h, root := open(t)
	put(t, root, keys, "ssh-rsa "+one+" ann@laptop\n")
	same(t, machine(h).Apply(t, `SSHAuthorizedKey/ann@laptop {user: ann, type: ed25519, key: `+one+`}`),
		"SSHAuthorizedKey/ann@laptop: type changed ssh-rsa to ssh-ed25519")
	if got, want := read(t, h, keys), "ssh-ed25519 "+one+" ann@laptop\n"; got != want {
		t.Errorf("the file is\n%s", got)
	}
}

// counting is a host that counts the files that are written.
type counting struct {
	host.Host
	writes *int
}

func (c counting) ActAs(who host.Credentials) host.Host {
	*c.writes++
	return c.Host.ActAs(who)
}

func TestKeysOfOneFileAreWrittenOnce(t *testing.T) {
	h, _ := open(t)
	writes := 0
	var all []string
	for i := range 20 {
		all = append(all, fmt.Sprintf(`SSHAuthorizedKey/k%02d {user: %s, type: ssh-ed25519, key: %s}`, i, []string{"ann", "bob"}[i%2], one))
	}
	if got := machine(counting{h, &writes}).Apply(t, all...); len(got) != 20 {
		t.Errorf("of 20 keys:\n%s", strings.Join(got, "\n"))
	}
	if writes != 2 || strings.Count(read(t, h, keys), "\n") != 10 {
		t.Errorf("%d writes, the file is\n%s", writes, read(t, h, keys))
	}
}

func TestFileWithTwoPathsLosesNoKeys(t *testing.T) {
	h, root := open(t)
	must(t, os.MkdirAll(filepath.Join(root, "etc/ssh/keys"), 0o755))
	same(t, machine(h).Apply(t,
		`SSHAuthorizedKey/a {target: /etc/ssh/keys/ops, user: root, type: ssh-ed25519, key: `+one+`}`,
		`SSHAuthorizedKey/b {target: /etc/ssh/keys/ops, type: ssh-ed25519, key: `+two+`}`,
	), "SSHAuthorizedKey/a: created", "SSHAuthorizedKey/b: created")
	if got, want := read(t, h, "/etc/ssh/keys/ops"), "ssh-ed25519 "+one+" a\nssh-ed25519 "+two+" b\n"; got != want {
		t.Errorf("the file is\n%s", got)
	}
}

func TestUsersCannotRedirectWrites(t *testing.T) {
	ann := `SSHAuthorizedKey/ann@laptop {user: ann, type: ssh-ed25519, key: ` + one + `}`
	tests := map[string]struct {
		link, to string // in ann's home
		want     []string
		kept     string // a file that must not change
	}{
		"a symlink to root's file is not read": {
			".ssh/authorized_keys", "/etc/shadow",
			[]string{"SSHAuthorizedKey/ann@laptop: cannot read the present state: cannot read the keys: open " + keys + ": permission denied"},
			"/etc/shadow",
		},
		"no file is created in root's directory": {
			".ssh", "/etc/cron.d",
			[]string{"SSHAuthorizedKey/ann@laptop: change of ensure from absent to present failed: cannot manage key \"ann@laptop\": cannot write the keys: user ann can't create files in /home/ann/.ssh: correct its owner or mode"},
			"/etc/cron.d/authorized_keys",
		},
		"a symlink to the user's own directory is followed": {
			".ssh", "dotfiles",
			[]string{"SSHAuthorizedKey/ann@laptop: created"},
			"/etc/shadow",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h, root := open(t)
			put(t, root, "/home/ann/dotfiles/x", "")
			put(t, root, "/home/ann/"+filepath.Dir(test.link)+"/x", "")
			must(t, os.MkdirAll(filepath.Join(root, "etc/cron.d"), 0o755))
			must(t, os.Symlink(test.to, filepath.Join(root, "home/ann", test.link)))
			before := resourcetest.Files(h, test.kept)(t)
			same(t, machine(h).Apply(t, ann), test.want...)
			if diff := cmp.Diff(before, resourcetest.Files(h, test.kept)(t)); diff != "" {
				t.Errorf("%s is changed:\n%s", test.kept, diff)
			}
		})
	}
}

func TestUnreadableFileIsNotWrittenAndBlocksNoOther(t *testing.T) {
	h, root := open(t)
	put(t, root, keys+"/x", "")
	same(t, machine(h).Apply(t,
		`SSHAuthorizedKey/ann@laptop {user: ann, type: ssh-ed25519, key: `+one+`}`,
		`SSHAuthorizedKey/ann@desk {user: ann, ensure: absent}`,
		`SSHAuthorizedKey/bob@laptop {user: bob, type: ssh-ed25519, key: `+two+`}`,
	),
		"SSHAuthorizedKey/ann@laptop: cannot read the present state: cannot read the keys: open "+keys+": is a directory, not a regular file",
		"SSHAuthorizedKey/ann@desk: cannot read the present state: cannot read the keys: open "+keys+": is a directory, not a regular file",
		"SSHAuthorizedKey/bob@laptop: created",
	)
}

func TestRootsFileRequiresDirectoriesOfRoot(t *testing.T) {
	h, root := open(t)
	must(t, os.MkdirAll(filepath.Join(root, "etc/ssh/authorized_keys.d"), 0o755))
	put(t, root, "/home/ann/x", "")
	must(t, os.MkdirAll(filepath.Join(root, "srv/open"), 0o777))
	must(t, os.Chmod(filepath.Join(root, "srv/open"), 0o1777))
	must(t, os.Symlink("/etc/ssh", filepath.Join(root, "srv/link")))
	const spec = ` type: ssh-ed25519, key: ` + one + `}`
	no := func(dir, file string) string {
		return "cannot read the keys: users other than root can write to " + dir + ", so it is not safe for root's keys: set the user of target " + file
	}
	same(t, machine(h).Apply(t,
		`SSHAuthorizedKey/a {target: /etc/ssh/authorized_keys.d/ann, `+spec,
		`SSHAuthorizedKey/b {target: /home/ann/keys, `+spec,
		`SSHAuthorizedKey/c {target: /srv/open/keys, user: root, `+spec,
		`SSHAuthorizedKey/d {target: /srv/link/keys, `+spec,
	),
		"SSHAuthorizedKey/a: created",
		"SSHAuthorizedKey/b: cannot read the present state: "+no("/home/ann", "/home/ann/keys"),
		"SSHAuthorizedKey/c: cannot read the present state: "+no("/srv/open", "/srv/open/keys"),
		"SSHAuthorizedKey/d: created", // root made the symlink
	)
	want := "/etc/ssh/authorized_keys.d/ann ---------- 0644 0:0\n  ssh-ed25519 " + one + " a\n  \n"
	if diff := cmp.Diff(want, resourcetest.Files(h, "/etc/ssh/authorized_keys.d/ann")(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUserCreatedOrRemovedInTheSameRun(t *testing.T) {
	h, _ := open(t)
	same(t, machine(h).Apply(t,
		`SSHAuthorizedKey/eve@laptop {user: eve, type: ssh-ed25519, key: `+one+`}`,
		`SSHAuthorizedKey/bob@laptop {user: bob, ensure: absent}`,
		`SSHAuthorizedKey/zoe@laptop {user: zoe, type: ssh-ed25519, key: `+one+`}`,
		`User/eve {home: /home/eve, manageHome: true}`,
		`User/bob {ensure: absent}`,
	),
		`SSHAuthorizedKey/zoe@laptop: change of ensure from absent to present failed: cannot manage key "zoe@laptop": user zoe does not exist on the host: declare User/zoe`,
		"User/eve: created", "SSHAuthorizedKey/eve@laptop: created", "User/bob: removed")
}

func TestMissingHomeIsReported(t *testing.T) {
	h, root := open(t)
	must(t, os.RemoveAll(filepath.Join(root, "home/ann")))
	same(t, machine(h).Apply(t, `SSHAuthorizedKey/a {user: ann, type: ssh-ed25519, key: `+one+`}`),
		`SSHAuthorizedKey/a: change of ensure from absent to present failed: cannot manage key "a": cannot create the directory of the keys as user ann: `+
			`stat /home/ann: no such file or directory; create its home first, for example by manageHome of User/ann`)
}

func TestTheKeysOfAllUsersAreListed(t *testing.T) {
	h, root := open(t)
	put(t, root, keys, "restrict ssh-ed25519 "+one+" ann@laptop\nssh-ed25519 "+two+"\n")
	must(t, os.Mkdir(filepath.Join(root, "home/bob/.ssh"), 0o700)) // root's own: bob can't look into it
	must(t, os.WriteFile(filepath.Join(root, "home/bob/.ssh/authorized_keys"), []byte("ssh-ed25519 "+two+" bob\n"), 0o600))
	must(t, os.MkdirAll(filepath.Join(root, "root/.ssh"), 0o700))
	must(t, os.WriteFile(filepath.Join(root, "root/.ssh/authorized_keys"), []byte("ssh-ed25519 "+two+" root@desk\n"), 0o600))
	got, err := bound.Kind(sshauthorizedkey.Type()).Instances(t.Context(), nil, resourcetest.Reader(h), "")
	must(t, err)
	want := []resource.Instance{
		{Namevar: keys + ":unnamed-1", CanonicalName: keys + ":unnamed-1", Provider: "openssh", Exists: true, Attributes: json.RawMessage(
			`{"name":"` + keys + `:unnamed-1","ensure":"present","user":"ann","type":"ssh-ed25519","key":"` + two + `","options":[]}`)},
		{Namevar: "ann@laptop", CanonicalName: "ann@laptop", Provider: "openssh", Exists: true, Attributes: json.RawMessage(
			`{"name":"ann@laptop","ensure":"present","user":"ann","type":"ssh-ed25519","key":"` + one + `","options":["restrict"]}`)},
		{Namevar: "root@desk", CanonicalName: "root@desk", Provider: "openssh", Exists: true, Attributes: json.RawMessage(
			`{"name":"root@desk","ensure":"present","user":"root","type":"ssh-ed25519","key":"` + two + `","options":[]}`)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestInvalidAttributes(t *testing.T) {
	const spec = `"type": "ssh-ed25519", "key": "` + one + `"`
	tests := map[string]struct{ manifest, err string }{
		"no key":                         {`{"user": "ann"}`, "type and key are required, unless ensure is absent"},
		"a key of another type":          {`{"user": "ann", "type": "rsa", "key": "` + one + `"}`, `key has the type "ssh-ed25519", but type is "ssh-rsa": make them equal`},
		"a name of two lines":            {`{"user": "ann", "name": "a\nb", ` + spec + `}`, `name "a\nb" is not a single line without surrounding spaces: use the comment of the key`},
		"two options in one":             {`{"user": "ann", "options": ["a,b"], ` + spec + `}`, `options has "a,b": its name may only contain letters, digits and -; use a word, or a word, = and a value in double quotes`},
		"an unclosed quote in an option": {`{"user": "ann", "options": ["a=\"b\\\""], ` + spec + `}`, `options has "a=\"b\\\"": a quote inside its value is not escaped as \"; use a word, or a word, = and a value in double quotes`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := bound.Kind(sshauthorizedkey.Type()).Bind(resource.Ref{Kind: "SSHAuthorizedKey", Name: "a"}, json.RawMessage(test.manifest))
			if err == nil || err.Error() != test.err {
				t.Errorf("got  %v\nwant %s", err, test.err)
			}
		})
	}
}

// A key of another type is rejected with the full name of its type.
func TestShortTypeNames(t *testing.T) {
	for short, full := range map[string]string{
		"rsa": "ssh-rsa", "dsa": "ssh-dss", "ecdsa-sk": "sk-ecdsa-sha2-nistp256@openssh.com", "ed25519-sk": "sk-ssh-ed25519@openssh.com",
		"ecdsa-sha2-nistp256": "ecdsa-sha2-nistp256",
	} {
		manifest := `{"user": "ann", "type": "` + short + `", "key": "` + one + `"}`
		_, err := bound.Kind(sshauthorizedkey.Type()).Bind(resource.Ref{Kind: "SSHAuthorizedKey", Name: "a"}, json.RawMessage(manifest))
		if want := `key has the type "ssh-ed25519", but type is "` + full + `": make them equal`; err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
