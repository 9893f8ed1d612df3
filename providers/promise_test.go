package providers_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fettle-dev/fettle/internal/engine/enginetest"
	"github.com/fettle-dev/fettle/internal/engine/enginetest/promise"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// key is the key of an SSHAuthorizedKey.
const key = "type: ssh-ed25519, key: AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"

// A promised is a host's state, as a shell script, a catalog, and what its plan says.
type promised struct {
	given   string
	catalog []string
	plan    []string
	bucket  int64
	left    string // a script that succeeds if the apply has spared what it must
}

// corpus has the cases of each kind in which an apply fails for reasons of the host, and those in which an earlier resource of the same
// catalog removes or makes such a reason.
func corpus() map[string]promised {
	return map[string]promised{
		"a uid is in use": {
			given:   "useradd --uid 1500 bob",
			catalog: []string{"User/ann {uid: 1500}"},
			plan:    []string{"User/ann Failed: cannot be applied: uid 1500 belongs to user bob: use another uid, or set allowDupe: true"},
		},
		"a uid is given up before": {
			given:   "useradd --uid 1500 bob",
			catalog: []string{"User/bob {uid: 1600}", "User/ann {uid: 1500, require: [User/bob]}"},
			plan:    []string{"User/bob Noop", "User/ann Noop"},
		},
		"a uid is taken before": {
			catalog: []string{"User/bob {uid: 1500}", "User/ann {uid: 1500, require: [User/bob]}"},
			plan:    []string{"User/bob Noop", "User/ann Failed: cannot be applied: uid 1500 belongs to user bob: use another uid, or set allowDupe: true"},
		},
		"the host chooses another uid before": {
			catalog: []string{"User/bob {ensure: present}", "User/ann {uid: 1000, require: [User/bob]}"},
			plan:    []string{"User/bob Noop", "User/ann Noop (unknown: the host chooses the uid of bob)"},
		},
		"a name is none": {
			catalog: []string{`User/x {name: "Ann Lee", ensure: present}`, `Group/x {name: "-x"}`},
			plan: []string{
				`User/x Failed: cannot be applied: "Ann Lee" is no name of an account: use at most 32 letters, digits, dots, underscores and hyphens, and begin with a letter`,
				`Group/x Failed: cannot be applied: "-x" is no name of an account: use at most 32 letters, digits, dots, underscores and hyphens, and begin with a letter`,
			},
		},
		"groups and a shell are unknown": {
			catalog: []string{"User/ann {gid: web, groups: [ops], shell: /bin/zsh}"},
			plan: []string{"User/ann Failed: cannot be applied: gid web does not exist on the host: declare a Group with that name or gid; " +
				"groups has ops, which does not exist on the host: declare Group/ops; " +
				"shell /bin/zsh does not exist on the host: require the Package that installs it, or use another"},
		},
		"groups and a shell come before": {
			catalog: []string{
				"Group/web {gid: 1600}", "Group/ops {ensure: present}", "File/zsh {path: /bin/zsh, content: x, mode: '0755'}",
				"User/ann {gid: 1600, groups: [ops], shell: /bin/zsh, require: [File/zsh]}",
			},
			plan: []string{"Group/web Noop", "Group/ops Noop", "File/zsh Noop", "User/ann Noop"},
		},
		"a group is removed before": {
			given:   "groupadd web",
			catalog: []string{"Group/web {ensure: absent}", "User/ann {groups: [web], require: [Group/web]}"},
			plan:    []string{"Group/web Noop", "User/ann Failed: cannot be applied: groups has web, which does not exist on the host: declare Group/web"},
		},
		"the superuser has processes": {
			catalog: []string{"User/root {uid: 1500}"},
			plan:    []string{"User/root Failed: cannot be applied: cannot set uid: uid of root can't change while the superuser has processes: remove the attribute"},
		},
		"a group is the primary one of a user": {
			given:   "useradd ann",
			catalog: []string{"Group/ann {ensure: absent}"},
			plan: []string{"Group/ann Failed: cannot be applied: it is the primary group of user ann: " +
				"before this Group, make that User absent or give it another gid"},
		},
		"the user of a group is removed before": {
			given:   "groupadd web; useradd --gid web ann",
			catalog: []string{"User/ann {ensure: absent}", "Group/web {ensure: absent, require: [User/ann]}"},
			plan:    []string{"User/ann Noop", "Group/web Noop"},
		},
		"a user is removed, and with it the group of its name": {
			given:   "useradd ann",
			catalog: []string{"User/ann {ensure: absent}", "Group/ann {ensure: absent}"},
			plan:    []string{"User/ann Noop", "Group/ann Noop (unknown: comes after a change of its members, userdel may remove it with its user)"},
		},
		"a home is below a file": {
			catalog: []string{"User/ann {manageHome: true, home: /etc/hostname/ann}"},
			plan: []string{"User/ann Failed: cannot be applied: cannot make home /etc/hostname/ann: " +
				"/etc/hostname is no directory: use another path, or declare a File with ensure: directory"},
		},
		"a home is a link to nowhere": {
			given:   "ln -s /nowhere /home/ann",
			catalog: []string{"User/ann {manageHome: true}"},
			plan: []string{"User/ann Failed: cannot be applied: cannot make home /home/ann: " +
				"/home/ann is no directory: use another path, or declare a File with ensure: directory"},
		},
		"a home is moved to where there is no directory": {
			given:   "useradd --create-home ann",
			catalog: []string{"User/ann {moveHome: true, home: /srv/x/ann}"},
			plan: []string{"User/ann Failed: cannot be applied: cannot set home: cannot move the home directory to /srv/x/ann: " +
				"/srv/x is no directory: use another path, or declare a File with ensure: directory"},
		},
		"a home is moved to a directory that comes before": {
			given:   "useradd --create-home ann",
			catalog: []string{"File/x {path: /srv/x, ensure: directory}", "User/ann {moveHome: true, home: /srv/x/ann, require: [File/x]}"},
			plan:    []string{"File/x Noop", "User/ann Noop"},
		},
		"a home is moved into itself": {
			given:   "useradd --create-home ann",
			catalog: []string{"User/ann {moveHome: true, home: /home/ann/sub}"},
			plan: []string{"User/ann Failed: cannot be applied: cannot set home: " +
				"cannot move the home directory /home/ann to /home/ann/sub, which is below it: use another path, or remove moveHome"},
		},
		"a home has another user's home": {
			given:   "useradd --create-home ann; useradd --create-home --home-dir /home/ann/bob bob",
			catalog: []string{"User/ann {ensure: absent, manageHome: true}"},
			plan: []string{"User/ann Failed: cannot be applied: cannot remove user ann with its home /home/ann: " +
				"that is or has the home of user bob: remove manageHome"},
		},
		"a home is another user's, too": {
			given:   "useradd --create-home ann; useradd --home-dir /home/ann bob",
			catalog: []string{"User/bob {ensure: absent}", "User/ann {ensure: absent, manageHome: true, require: [User/bob]}"},
			plan:    []string{"User/bob Noop", "User/ann Noop"},
		},
		"a gid is in use, and a member is unknown": {
			catalog: []string{"Group/web {gid: 0, members: [ann]}"},
			plan: []string{"Group/web Failed: cannot be applied: gid 0 belongs to group root: use another gid, or set allowDupe: true; " +
				"user ann does not exist on the host: declare a User for each name in members, or remove members if the Users name this group in groups"},
		},
		"a member comes before": {
			catalog: []string{"User/ann {ensure: present}", "Group/web {members: [ann]}"},
			plan:    []string{"User/ann Noop", "Group/web Noop"},
		},
		"a key's user is unknown": {
			catalog: []string{"SSHAuthorizedKey/k {user: ann, " + key + "}"},
			plan: []string{`SSHAuthorizedKey/k Failed: cannot be applied: cannot manage key "k": ` +
				"user ann does not exist on the host: declare User/ann"},
		},
		"a key's user has no home": {
			given:   "useradd --no-create-home ann",
			catalog: []string{"SSHAuthorizedKey/k {user: ann, " + key + "}"},
			plan: []string{`SSHAuthorizedKey/k Failed: cannot be applied: cannot manage key "k": cannot create the directory of the keys as user ann: ` +
				"stat /home/ann: no such file or directory; create its home first, for example by manageHome of User/ann"},
		},
		"a key's user comes before": {
			catalog: []string{"User/ann {manageHome: true}", "SSHAuthorizedKey/k {user: ann, " + key + "}"},
			plan:    []string{"User/ann Noop", "SSHAuthorizedKey/k Noop"},
		},
		"a key's user is removed before": {
			given:   "useradd --create-home ann",
			catalog: []string{"User/ann {ensure: absent}", "SSHAuthorizedKey/k {user: ann, " + key + "}"},
			plan: []string{"User/ann Noop", `SSHAuthorizedKey/k Failed: cannot be applied: cannot manage key "k": ` +
				"user ann does not exist on the host: declare User/ann"},
		},
		"a file is a mount point": {
			given:   "echo a > /srv/a; mount --bind /srv/a /srv/a",
			catalog: []string{"File/a {path: /srv/a, content: b}"},
			plan:    []string{"File/a Failed: cannot be applied: /srv/a is a mount point: unmount it first"},
		},
		"a directory to remove is a mount point": {
			given:   "mkdir /srv/a; mount -t tmpfs none /srv/a",
			catalog: []string{"File/a {path: /srv/a, ensure: absent, force: true, backup: None}"},
			plan:    []string{"File/a Failed: cannot be applied: /srv/a is a mount point: unmount it first"},
		},
		"a file's parent and owner are missing": {
			catalog: []string{"File/a {path: /srv/x/a, content: a, owner: ann}"},
			plan: []string{"File/a Failed: cannot be applied: cannot create /srv/x/a: its parent directory /srv/x does not exist: " +
				`create it first, with a File that has ensure: directory; the host has no user "ann": create it first, or use a number`},
		},
		"a file's parent and owner come before": {
			catalog: []string{"File/x {path: /srv/x, ensure: directory}", "User/ann {ensure: present}", "File/a {path: /srv/x/a, content: a, owner: ann}"},
			plan:    []string{"File/x Noop", "User/ann Noop", "File/a Noop"},
		},
		"a file's parent is removed before": {
			given:   "mkdir /srv/x",
			catalog: []string{"File/x {path: /srv/x, ensure: absent, force: true}", "File/a {path: /srv/x/a, content: a}"},
			plan: []string{"File/x Noop", "File/a Failed: cannot be applied: cannot create /srv/x/a: its parent directory /srv/x does not exist: " +
				"create it first, with a File that has ensure: directory"},
		},
		"a file's owner is removed before": {
			given:   "useradd ann",
			catalog: []string{"User/ann {ensure: absent}", "File/a {path: /srv/a, content: a, owner: ann, require: [User/ann]}"},
			plan:    []string{"User/ann Noop", `File/a Failed: cannot be applied: the host has no user "ann": create it first, or use a number`},
		},
		"a backup is larger than the bucket": {
			given:   "head -c 100000 /dev/zero > /srv/a",
			catalog: []string{"File/a {path: /srv/a, content: a}"},
			bucket:  1000,
			plan: []string{"File/a Failed: cannot be applied: cannot back up /srv/a; will not replace it: " +
				"/srv/a needs 104096 bytes in the bucket, but its limit is 1000: raise the limit, or set backup: None"},
		},
		"a directory can't have content": {
			given:   "mkdir /srv/a",
			catalog: []string{"File/a {path: /srv/a, ensure: present, content: a}"},
			plan: []string{"File/a Failed: cannot be applied: cannot set content: /srv/a is a directory, which has no content: " +
				"set ensure: file to replace it, or remove content"},
		},
		"a unit does not exist": {
			catalog: []string{"SystemService/nosuch {enable: true}"},
			plan: []string{"SystemService/nosuch Failed: cannot be applied: service nosuch.service does not exist on the host: " +
				"install its package first, for example with require: [Package/...]"},
		},
		"a unit comes before": {
			catalog: []string{
				`File/u {path: /etc/systemd/system/own.service, content: "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"}`,
				"SystemService/own {enable: true, require: [File/u]}",
			},
			plan: []string{"File/u Noop", "SystemService/own Noop (unknown: loads a new unit)"},
		},
		"a package may bring a unit": {
			given:   "apt-get -qq update",
			catalog: []string{"Package/daemon {}", "SystemService/daemon {enable: true, require: [Package/daemon]}"},
			plan: []string{
				"Package/daemon Noop (unknown: runs maintainer scripts)", "SystemService/daemon Noop (unknown: comes after Package/daemon)",
			},
		},
		"a package's script fails": {
			given:   "apt-get -qq update",
			catalog: []string{"Package/fails {}", "File/a {path: /srv/a, content: a, require: [Package/fails]}"},
			plan:    []string{"Package/fails Noop (unknown: runs maintainer scripts)", "File/a Noop (unknown: comes after Package/fails)"},
		},
		"dpkg is missing": {
			given:   "rm /usr/bin/dpkg",
			catalog: []string{"Package/daemon {}"},
			plan: []string{"Package/daemon Failed: cannot find a suitable provider for Package: apt: the command dpkg is not installed; " +
				"only Debian and its derivatives have them"},
		},
		"a command and its directory are missing": {
			catalog: []string{"Exec/a {command: /bin/nosuch, cwd: /srv/x}"},
			plan: []string{"Exec/a Failed: cannot be applied: cwd /srv/x does not exist on the host: create it first, with a File that has ensure: directory; " +
				"cannot find command: stat /bin/nosuch: no such file or directory"},
		},
		"a command decides": {
			catalog: []string{"Exec/a {command: /bin/false}", "File/a {path: /srv/a, content: a, require: [Exec/a]}"},
			plan:    []string{"Exec/a Noop (unknown: runs a command)", "File/a Noop (unknown: comes after Exec/a)"},
		},
		"a key's directory takes the place of a file": {
			given:   "useradd ann; touch /srv/keys",
			catalog: []string{"File/f {path: /srv/keys, ensure: absent}", "SSHAuthorizedKey/k {user: ann, target: /srv/keys/ann, " + key + "}"},
			plan:    []string{"File/f Noop", "SSHAuthorizedKey/k Noop (unknown: comes after File/f)"},
		},
		"a command undoes what came before": {
			catalog: []string{"File/a {path: /srv/a, content: a}", "Exec/x {command: /bin/rm /srv/a, require: [File/a]}"},
			plan:    []string{"File/a Noop", "Exec/x Noop (unknown: runs a command)"},
		},
		"a purge spares the group of a user that comes before": {
			catalog: []string{"User/ann {ensure: present}", "Purge/g {kind: Group}"},
			plan:    []string{"User/ann Noop", "Purge/g InSync"},
		},
		"a purge leaves to userdel the group that goes with its user": {
			given:   "useradd ann; useradd --gid ann bob",
			catalog: []string{"User/ann {ensure: absent}", "User/bob {ensure: absent}", "Purge/g {kind: Group, require: [User/ann, User/bob]}"},
			plan:    []string{"User/ann Noop", "User/bob Noop", "Group/ann Noop", "Purge/g InSync"},
		},
		"a tidy and a purge remove what they list": {
			given:   "mkdir /srv/t; touch /srv/t/a /srv/t/b; groupadd --gid 1600 old",
			catalog: []string{"Tidy/t {path: /srv/t, recurse: true, ageSeconds: 0}", "Purge/g {kind: Group}"},
			plan:    []string{"File//srv/t/a Noop", "File//srv/t/b Noop", "Tidy/t InSync", "Group/old Noop", "Purge/g InSync"},
		},
	}
}

func TestAPlanIsAPromise(t *testing.T) {
	for name, c := range corpus() {
		t.Run(name, func(t *testing.T) {
			c.keepOnRoot(t,
				debian.Deb{Name: "daemon", Version: "1.0", Files: map[string]string{"/lib/systemd/system/daemon.service": "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"}},
				debian.Deb{Name: "fails", Version: "1.0", Scripts: map[string]string{"postinst": "#!/bin/sh\nexit 1\n"}},
			)
		})
	}
}

// keepOnRoot keeps the promise on a Debian root of its own, with a repository if there are packages.
func (c promised) keepOnRoot(t *testing.T, packages ...debian.Deb) {
	t.Helper()
	root := debian.Root(t)
	defer debian.Chroot(t, root, "sh", "-c", "chattr -R -f -i -a /home /etc || true") // the root is removed
	// Processes of the machine may have the first numbers.
	debian.Chroot(t, root, "sed", "--in-place", "s/^UID_MIN.*/UID_MIN 770000/; s/^UID_MAX.*/UID_MAX 770099/", "/etc/login.defs")
	if len(packages) > 0 {
		debian.Repository(t, root, packages...)
	}
	run := func(script string) {
		if err := os.WriteFile(filepath.Join(root, "root/script"), []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
		debian.Chroot(t, root, "sh", "-e", "/root/script")
	}
	run(c.given)
	h, err := linux.Open(linux.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	c.keep(t, h)
	run(c.left)
}

func (c promised) keep(t *testing.T, h host.Host) {
	t.Helper()
	m := enginetest.Machine{Kinds: providers.Kinds()}
	promise.Case{Plan: c.plan, Host: promise.Host{
		Host: h, Kinds: m.Kinds, BucketLimit: c.bucket, Bind: func() ([]resource.Item, error) { return m.Items(c.catalog...) },
	}}.Keep(t)
}
