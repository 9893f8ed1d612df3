package providers_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine/enginetest"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/providers"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

const removal = "User/ann {ensure: absent, manageHome: true}"

// keptHome is the plan of a removal that is refused.
func keptHome(why string) []string {
	return []string{"User/ann Failed: cannot be applied: cannot remove user ann with its home /home/ann: " + why}
}

// homes has the homes that a removal of their user must not touch, or can't remove.
func homes() map[string]promised {
	return map[string]promised{
		"a file system is mounted below a home": {
			given:   "useradd --create-home ann; mkdir -p /srv/data /home/ann/a/b; touch /srv/data/precious; mount --bind /srv/data /home/ann/a/b",
			catalog: []string{removal},
			plan:    keptHome("/home/ann/a/b is a mount point, and userdel would remove what is mounted: unmount it first, or remove manageHome"),
			left:    "id ann; test -e /srv/data/precious -a -e /home/ann/.profile",
		},
		"a file is mounted below a home": {
			given:   "useradd --create-home ann; touch /srv/f /home/ann/f; mount --bind /srv/f /home/ann/f",
			catalog: []string{removal},
			plan:    keptHome("/home/ann/f is a mount point, and userdel would remove what is mounted: unmount it first, or remove manageHome"),
			left:    "id ann; test -e /home/ann/.profile",
		},
		"a home is a mount point": {
			given:   "mkdir /home/ann; mount -t tmpfs none /home/ann; useradd --create-home ann; chown ann /home/ann; touch /home/ann/f",
			catalog: []string{removal},
			plan:    keptHome("/home/ann is a mount point, and userdel would remove what is mounted: unmount it first, or remove manageHome"),
			left:    "id ann; test -e /home/ann/f",
		},
		"a home is the root directory": {
			given:   "useradd --home-dir / ann; chown ann /",
			catalog: []string{removal},
			plan: []string{"User/ann Failed: cannot be applied: cannot remove user ann with its home /: " +
				"that is or has the home of user root: remove manageHome"},
			left: "id ann; test -e /etc/hostname",
		},
		"a home has another's by another path": {
			given:   "useradd --create-home ann; mkdir /home/ann/shared; ln -s /home/ann/shared /data; useradd --create-home --home-dir /data/bob bob",
			catalog: []string{removal},
			plan:    keptHome("that is or has the home of user bob: remove manageHome"),
			left:    "id ann; test -e /data/bob/.profile",
		},
		"a home is a symlink": {
			given:   "useradd --create-home --home-dir /srv/ann ann; ln -s /srv/ann /home/ann; usermod --home /home/ann ann",
			catalog: []string{removal},
			plan:    keptHome("that is no directory, so userdel would leave it: remove manageHome, or remove it first"),
			left:    "id ann; test -e /home/ann/.profile",
		},
		"a home is a file": {
			given:   "useradd ann; touch /home/ann; chown ann /home/ann",
			catalog: []string{removal},
			plan:    keptHome("that is no directory, so userdel would leave it: remove manageHome, or remove it first"),
			left:    "id ann",
		},
		"a home is immutable": {
			given:   "useradd --create-home ann; chattr +i /home/ann",
			catalog: []string{removal},
			plan:    keptHome("/home/ann is immutable: change that with chattr -i, or remove manageHome"),
			left:    "id ann; test -e /home/ann/.profile",
		},
		"a file in a home is append-only": {
			given:   "useradd --create-home ann; mkdir /home/ann/d; touch /home/ann/d/log; chattr +a /home/ann/d/log",
			catalog: []string{removal},
			plan:    keptHome("/home/ann/d/log is append-only: change that with chattr -a, or remove manageHome"),
			left:    "id ann; test -e /home/ann/.profile",
		},
		"the directory of a home is immutable": {
			given:   "useradd --create-home ann; chattr +i /home",
			catalog: []string{removal},
			plan:    keptHome("/home is immutable: change that with chattr -i, or remove manageHome"),
			left:    "id ann; test -e /home/ann/.profile",
		},
		"homes are on a read-only file system": {
			given:   "useradd --create-home ann; mount --bind /home /home; mount -o remount,bind,ro /home",
			catalog: []string{removal},
			plan:    keptHome("/home is on a read-only file system: mount that read-write, or remove manageHome"),
			left:    "id ann; test -e /home/ann/.profile",
		},
		"a home is missing": {
			given: "useradd ann", catalog: []string{removal}, plan: []string{"User/ann Noop"},
		},
		"a home has links, directories and other users' files": {
			given:   "useradd --create-home ann; mkdir -p /home/ann/a/b; touch /home/ann/a/b/c; ln -s /etc /home/ann/etc; ln -s . /home/ann/a/loop; chown 4:4 /home/ann/a/b/c",
			catalog: []string{removal},
			plan:    []string{"User/ann Noop"},
			left:    "test ! -e /home/ann; test -e /etc/passwd",
		},
	}
}

// files has account files that the tools can't change, or only in part.
func files() map[string]promised {
	return map[string]promised{
		"passwd is immutable": {
			given:   "useradd ann; useradd bob; useradd cy; groupadd web; chattr +i /etc/passwd",
			catalog: []string{"User/ann {comment: Ann}", "User/bob {ensure: absent}", "User/cy {passwordMaxAge: 90}", "User/new {ensure: present}", "Group/web {gid: 1600}", "Group/ops {}"},
			plan: []string{
				"User/ann Failed: cannot be applied: cannot set comment: /etc/passwd is immutable: change that with chattr -i",
				"User/bob Failed: cannot be applied: /etc/passwd is immutable: change that with chattr -i",
				"User/cy Failed: cannot be applied: cannot set passwordMaxAge: /etc/passwd is immutable: change that with chattr -i",
				"User/new Failed: cannot be applied: /etc/passwd is immutable: change that with chattr -i",
				"Group/web Failed: cannot be applied: cannot set gid: /etc/passwd is immutable: change that with chattr -i",
				"Group/ops Noop",
			},
		},
		"group is immutable": {
			given:   "useradd ann; groupadd web; groupadd old; chattr +i /etc/group",
			catalog: []string{"User/ann {comment: Ann, groups: [web]}", "User/new {gid: web}", "Group/ops {}", "Group/old {ensure: absent}"},
			plan: []string{
				"User/ann Failed: cannot be applied: cannot set groups: /etc/group is immutable: change that with chattr -i",
				"User/new Failed: cannot be applied: /etc/group is immutable: change that with chattr -i",
				"Group/ops Failed: cannot be applied: /etc/group is immutable: change that with chattr -i",
				"Group/old Failed: cannot be applied: /etc/group is immutable: change that with chattr -i",
			},
		},
		"shadow is append-only": {
			given:   "useradd ann; useradd bob; groupadd web; chattr +a /etc/shadow",
			catalog: []string{"User/ann {shell: /bin/bash}", "Group/web {members: [bob]}"},
			plan: []string{
				"User/ann Failed: cannot be applied: cannot set shell: /etc/shadow is append-only: change that with chattr -a",
				"Group/web Noop",
			},
		},
		"the directory of the files is immutable": {
			given:   "useradd ann; chattr +i /etc",
			catalog: []string{"User/ann {comment: Ann}", "Group/new {}"},
			plan: []string{
				"User/ann Failed: cannot be applied: cannot set comment: /etc is immutable: change that with chattr -i",
				"Group/new Failed: cannot be applied: /etc is immutable: change that with chattr -i",
			},
		},
		"passwd is a symlink": {
			given:   "useradd ann; mv /etc/passwd /etc/real; ln -s real /etc/passwd",
			catalog: []string{"User/ann {comment: Ann}"},
			plan: []string{"User/ann Failed: cannot be applied: cannot set comment: /etc/passwd is a symlink, " +
				"through which the tools change no accounts: replace it by its target"},
		},
		"a name is in the files twice": {
			given: "useradd ann; useradd bob; useradd cy; groupadd web; " +
				"grep -e ^ann: -e ^bob: /etc/passwd >> /etc/passwd.new; cat /etc/passwd.new >> /etc/passwd; grep ^cy: /etc/shadow > /root/s; cat /root/s >> /etc/shadow; echo web:x:4321: >> /etc/group",
			catalog: []string{"User/ann {comment: Ann, passwordMaxAge: 90}", "User/bob {ensure: absent}", "User/cy {comment: Cy, locked: true, expiry: '2090-01-01'}", "User/new {groups: [web]}", "Group/web {gid: 1700}"},
			plan: []string{
				"User/ann Failed: cannot be applied: cannot set comment: /etc/passwd has 2 lines of ann, which the tools refuse to change: remove all but one",
				"User/bob Failed: cannot be applied: /etc/passwd has 2 lines of bob, which the tools refuse to change: remove all but one",
				"User/cy Failed: cannot be applied: cannot set expiry: /etc/shadow has 2 lines of cy, which the tools refuse to change: remove all but one",
				"Group/web Failed: cannot be applied: cannot set gid: /etc/group has 2 lines of web, which the tools refuse to change: remove all but one",
				"User/new Skipped: skipped because of failed dependencies: Group/web",
			},
		},
		"a group of a user is in the file twice": {
			given:   "groupadd web; echo web:x:4321: >> /etc/group",
			catalog: []string{"User/new {groups: [web]}"},
			plan:    []string{"User/new Failed: cannot be applied: /etc/group has 2 lines of web, which the tools refuse to change: remove all but one"},
		},
		"there is no shadow file": {
			given:   "useradd ann; useradd bob; pwunconv",
			catalog: []string{"User/ann {comment: Ann, locked: true}", "User/bob {shell: /bin/bash}", "User/new {passwordMaxAge: 90}"},
			plan: []string{
				"User/ann Failed: cannot be applied: cannot set locked: the host has no /etc/shadow: create it with pwconv",
				"User/bob Noop", "User/new Failed: cannot be applied: the host has no /etc/shadow: create it with pwconv",
			},
		},
		"there is no line in shadow": {
			given:   "useradd ann; useradd bob; sed -i -e /^ann:/d -e /^bob:/d /etc/shadow",
			catalog: []string{"User/ann {locked: true}", "User/bob {locked: true, password: $6$abc$def}"},
			plan: []string{
				"User/ann Failed: cannot be applied: cannot set locked: " +
					"locked: true requires a line in /etc/shadow, which the account does not have: set password or passwordFrom, or run pwconv",
				"User/bob Noop",
			},
		},
		"a password has several locks": {
			given: "for u in ann bob cy; do useradd $u; done; " +
				`sed -i -e 's/^ann:[^:]*/ann:!!!$6$abc$def/' -e 's/^bob:[^:]*/bob:!!*/' -e 's/^cy:[^:]*/cy:!!/' /etc/shadow`,
			catalog: []string{"User/ann {locked: false}", "User/bob {locked: false}", "User/cy {locked: false}"},
			plan: []string{
				"User/ann Noop", "User/bob Noop",
				"User/cy Failed: cannot be applied: cannot set locked: locked: false requires a password, which the account does not have: set password or passwordFrom",
			}, left: `grep -q '^ann:$6$abc$def:' /etc/shadow`,
		},
	}
}

// hostDefaults has hosts with other defaults than Debian's.
func hostDefaults() map[string]promised {
	const own = "sed -i 's/^USERGROUPS_ENAB.*/USERGROUPS_ENAB no/' /etc/login.defs; "
	return map[string]promised{
		"homes are elsewhere": {
			given: "echo HOME=/srv/homes >> /etc/default/useradd",
			catalog: []string{
				"User/ann {manageHome: true}", "File/x {path: /srv/homes/ann/x, content: x, owner: ann, require: [User/ann]}", "SSHAuthorizedKey/k {user: ann, " + key + "}",
				"User/bob {manageHome: true, home: /home/bob}", "File/y {path: /home/bob/x, content: x, require: [User/bob]}",
			},
			plan: []string{"User/ann Noop", "File/x Noop", "SSHAuthorizedKey/k Noop", "User/bob Noop", "File/y Noop"},
		},
		"homes are where none can be": {
			given:   "echo HOME=/etc/hostname >> /etc/default/useradd",
			catalog: []string{"User/ann {manageHome: true}"},
			plan: []string{"User/ann Failed: cannot be applied: cannot make home /etc/hostname/ann: " +
				"/etc/hostname is no directory: use another path, or declare a File with ensure: directory"},
		},
		"users have no groups of their own": {
			given:   own,
			catalog: []string{"User/ann {ensure: present}", "User/bob {groups: [ann], require: [User/ann]}", "File/x {path: /srv/x, content: x, owner: ann, group: ann}"},
			plan: []string{
				"User/ann Noop", "User/bob Failed: cannot be applied: groups has ann, which does not exist on the host: declare Group/ann",
				`File/x Failed: cannot be applied: the host has no group "ann": create it first, or use a number`,
			},
		},
		"users have a common group": {
			given:   own + "groupadd all; echo GROUP=all >> /etc/default/useradd",
			catalog: []string{"User/ann {ensure: present}", "Group/all {ensure: absent, require: [User/ann]}"},
			plan: []string{"User/ann Noop", "Group/all Failed: cannot be applied: it is the primary group of user ann: " +
				"before this Group, make that User absent or give it another gid"},
		},
		"a user's group stays": {
			given:   "useradd ann; useradd bob; " + own,
			catalog: []string{"User/ann {ensure: absent}", "User/bob {groups: [ann], require: [User/ann]}"},
			plan:    []string{"User/ann Noop", "User/bob Noop"},
		},
	}
}

// later has resources that read what an earlier User or Group changes.
func later() map[string]promised {
	return map[string]promised{
		"an owner is renumbered before": {
			given: "useradd --uid 1500 --create-home ann; touch /srv/a /srv/b; chown ann /srv/a",
			catalog: []string{
				"User/ann {uid: 1600}", "File/a {path: /srv/a, owner: ann}", "File/b {path: /srv/b, owner: ann}",
				"File/c {path: /srv/c, content: c, owner: ann}", "File/d {path: /home/ann/.profile, owner: ann}", "File/e {path: /home/ann/.bashrc, owner: 1500, require: [User/ann]}",
			},
			plan: []string{
				"User/ann Noop", "File/a InSync (unknown: comes after a change of its owner)", "File/b Noop", "File/c Noop", "File/d InSync",
				"File/e InSync (unknown: comes after a change of its owner)",
			},
		},
		"a file gets the number of a new owner": {
			given:   "touch /srv/a /srv/b; chown 1500 /srv/a; chown 770000 /srv/b",
			catalog: []string{"User/ann {uid: 1500}", "File/a {path: /srv/a, owner: ann}", "User/bob {ensure: present}", "File/b {path: /srv/b, owner: bob}"},
			plan: []string{
				"User/ann Noop", "File/a Noop (unknown: comes after a change of its owner)", "User/bob Noop", "File/b Noop (unknown: comes after a change of its owner)",
			},
		},
		"a file that gets another owner is another's before": {
			given:   "useradd --uid 1500 ann; touch /srv/a; chown ann /srv/a",
			catalog: []string{"User/ann {uid: 1600}", "File/a {path: /srv/a, owner: root, require: [User/ann]}"},
			plan:    []string{"User/ann Noop", "File/a Noop (unknown: comes after a change of its owner)"},
		},
		"a key's user is renumbered or removed before": {
			given:   "useradd --uid 1500 --create-home ann; useradd --create-home bob; mkdir /home/bob/.ssh; echo ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f l > /home/bob/.ssh/authorized_keys; chown -R bob /home/bob",
			catalog: []string{"User/ann {uid: 1600}", "SSHAuthorizedKey/k {user: ann, " + key + "}", "User/bob {ensure: absent, manageHome: true}", "SSHAuthorizedKey/l {user: bob, ensure: absent, " + key + "}"},
			plan:    []string{"User/ann Noop", "SSHAuthorizedKey/k Noop", "User/bob Noop", "SSHAuthorizedKey/l Noop (unknown: comes after a change of user bob)"},
		},
		"a home is removed before, and made again as a File": {
			given:   "useradd --create-home ann",
			catalog: []string{removal, "File/h {path: /home/ann, ensure: directory, require: [User/ann]}", "File/x {path: /home/ann/x, content: x, require: [File/h]}"},
			plan: []string{
				"User/ann Noop", "File/h InSync (unknown: comes after a change of the home of user ann)", "File/x Noop (unknown: comes after File/h)",
			},
		},
		"a group is renumbered before": {
			given: "groupadd --gid 1500 web; useradd --gid web --create-home ann; touch /srv/a; chgrp web /srv/a",
			catalog: []string{
				"Group/web {gid: 1600}", "File/a {path: /srv/a, group: web}", "User/ann {gid: 1500, require: [Group/web]}",
			},
			plan: []string{
				"Group/web Noop", "File/a InSync (unknown: comes after a change of its group)", "User/ann InSync (unknown: comes after a change of the groups of ann)",
			},
		},
		"a user's group is removed before": {
			given:   "groupadd web; useradd --groups web ann",
			catalog: []string{"Group/web {ensure: absent}", "User/ann {groups: [web], require: [Group/web]}"},
			plan:    []string{"Group/web Noop", "User/ann InSync (unknown: comes after a change of the groups of ann)"},
		},
		"a member joins or leaves before": {
			given:   "groupadd web; groupadd ops; useradd ann; useradd --groups ops bob",
			catalog: []string{"User/ann {groups: [web]}", "Group/web {members: [ann]}", "User/bob {ensure: absent}", "Group/ops {members: [bob], require: [User/bob]}"},
			plan: []string{
				"User/ann Noop", "Group/web Noop (unknown: comes after a change of its members)",
				"User/bob Noop", "Group/ops InSync (unknown: comes after a change of its members)",
			},
		},
		"a home is moved before": {
			given: "useradd --create-home ann; mkdir /home/ann/d; touch /home/ann/d/a",
			catalog: []string{
				"User/ann {home: /srv/ann, moveHome: true}", "File/a {path: /home/ann/d/a, require: [User/ann]}", "File/b {path: /srv/ann/d/a, content: a, require: [User/ann]}",
				"File/c {path: /srv/ann/c, content: c, require: [User/ann]}", "File/d {path: /home/ann/d/d, content: d, require: [User/ann]}", "SSHAuthorizedKey/k {user: ann, " + key + "}",
			},
			plan: []string{
				"User/ann Noop", "File/a InSync (unknown: comes after a change of the home of user ann)", "File/b Noop (unknown: comes after a change of the home of user ann)",
				"File/c Noop (unknown: comes after a change of the home of user ann)",
				"File/d Failed: cannot be applied: cannot create /home/ann/d/d: its parent directory /home/ann/d does not exist: create it first, with a File that has ensure: directory",
				"SSHAuthorizedKey/k Noop",
			},
		},
		"a home changes before, but is not moved": {
			given:   "useradd --create-home ann; mkdir /srv/ann /home/ann/.ssh; chown ann /srv/ann /home/ann/.ssh; echo ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f k > /home/ann/.ssh/authorized_keys; chown ann /home/ann/.ssh/*",
			catalog: []string{"User/ann {home: /srv/ann}", "File/a {path: /home/ann/.profile, owner: ann}", "SSHAuthorizedKey/k {user: ann, " + key + "}"},
			plan:    []string{"User/ann Noop", "File/a InSync", "SSHAuthorizedKey/k InSync (unknown: comes after a change of user ann)"},
		},
		"a home is removed before": {
			given:   "useradd --create-home ann; mkdir /home/ann/d",
			catalog: []string{removal, "File/a {path: /home/ann/.profile, require: [User/ann]}", "File/b {path: /home/ann/d/b, content: b, require: [User/ann]}"},
			plan: []string{
				"User/ann Noop", "File/a InSync (unknown: comes after a change of the home of user ann)",
				"File/b Failed: cannot be applied: cannot create /home/ann/d/b: its parent directory /home/ann/d does not exist: create it first, with a File that has ensure: directory",
			},
		},
		"a home is made before": {
			catalog: []string{"User/ann {manageHome: true}", "File/h {path: /home/ann, ensure: directory, mode: '0700', require: [User/ann]}"},
			plan:    []string{"User/ann Noop", "File/h Noop (unknown: comes after a change of the home of user ann)"},
		},
		"files come into a new home": {
			given: "mkdir /etc/skel/d",
			catalog: []string{
				"User/ann {manageHome: true}", "File/a {path: /home/ann/.profile, content: a, owner: ann}", "File/b {path: /home/ann/b, content: b, owner: ann}",
				"File/d {path: /home/ann/d/d, content: d, owner: ann}",
			},
			plan: []string{"User/ann Noop", "File/a Noop (unknown: comes after a change of the home of user ann)", "File/b Noop", "File/d Noop"},
		},
	}
}

// newHomes has homes that can't be made or moved.
func newHomes() map[string]promised {
	const moved = "User/ann {home: /srv/ann, moveHome: true}"
	stays := func(why string) []string {
		return []string{"User/ann Failed: cannot be applied: cannot set home: cannot move the home directory /home/ann: " + why}
	}
	return map[string]promised{
		"a home with a mount point is moved": {
			given:   "useradd --create-home ann; mkdir /mnt/d /home/ann/d; touch /mnt/d/precious; mount --bind /mnt/d /home/ann/d; mount -t tmpfs none /srv",
			catalog: []string{moved},
			plan:    stays("/home/ann/d is a mount point, and usermod would remove what is mounted: unmount it first, or remove moveHome"),
			left:    "test -e /mnt/d/precious -a -e /home/ann/.profile; grep -q :/home/ann: /etc/passwd",
		},
		"an immutable file is moved to another file system": {
			given:   "useradd --create-home ann; chattr +i /home/ann/.profile; mount -t tmpfs none /srv",
			catalog: []string{moved}, plan: stays("/home/ann/.profile is immutable: change that with chattr -i, or remove moveHome"),
			left: "test ! -e /srv/ann",
		},
		"an immutable file is moved within a file system": {
			given:   "useradd --create-home ann; chattr +i /home/ann/.profile",
			catalog: []string{"User/ann {home: /home/bob, moveHome: true}"}, plan: []string{"User/ann Noop"},
			left: "chattr -i /home/bob/.profile",
		},
		"an immutable home is moved": {
			given:   "useradd --create-home ann; chattr +i /home/ann",
			catalog: []string{moved}, plan: stays("/home/ann is immutable: change that with chattr -i, or remove moveHome"),
		},
		"a home is moved to a read-only file system": {
			given:   "useradd --create-home ann; mount -t tmpfs -o ro none /srv",
			catalog: []string{moved}, plan: stays("/srv is on a read-only file system: mount that read-write, or remove moveHome"),
		},
		"a home is made where nothing can be": {
			given:   "chattr +i /home; mount -t tmpfs -o ro none /srv",
			catalog: []string{"User/ann {manageHome: true}", "User/bob {manageHome: true, home: /srv/a/b}"},
			plan: []string{
				"User/ann Failed: cannot be applied: cannot make home /home/ann: /home is immutable: change that with chattr -i, or remove manageHome",
				"User/bob Failed: cannot be applied: cannot make home /srv/a/b: /srv is on a read-only file system: mount that read-write, or remove manageHome",
			},
			left: "! id ann; ! id bob",
		},
		"a home ends in a slash": {
			given:   "useradd ann; useradd --home-dir /home/b/ bob",
			catalog: []string{"User/ann {home: /srv/ann/}", "User/bob {home: /home/b/}", "User/cy {home: /home/c/}"},
			plan:    []string{"User/ann Noop", "User/bob InSync", "User/cy Noop"},
		},
	}
}

func TestAPlanOfAccountsIsAPromise(t *testing.T) {
	for _, cases := range []map[string]promised{homes(), files(), hostDefaults(), later(), newHomes()} {
		for name, c := range cases {
			t.Run(name, func(t *testing.T) { c.keepOnRoot(t) })
		}
	}
}

func TestAPlanOfAUserWhoMayNotReadAHomeSaysSo(t *testing.T) {
	root := debian.Root(t)
	debian.Chroot(t, root, "sh", "-c", "useradd --uid 770000 --create-home ann; useradd --uid 770001 --create-home bob; chmod 700 /home/*")
	h, err := linux.Open(linux.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	m := enginetest.Machine{Host: h.ActAs(host.Credentials{UID: 65534, GID: 65534}), Noop: true, Kinds: providers.Kinds()}
	want := []string{
		"User/ann: removed (noop) (unknown: the home can't be read)",
		"User/bob: home changed /home/bob to /home/b (noop) (unknown: the home can't be read)",
	}
	if diff := cmp.Diff(want, m.Apply(t, removal, "User/bob {home: /home/b, moveHome: true}")); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}
