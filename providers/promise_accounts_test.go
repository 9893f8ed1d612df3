package providers_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fettle-dev/fettle/internal/engine/enginetest"
	"github.com/fettle-dev/fettle/internal/engine/enginetest/promise"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// An accountCase is a [promised] of accounts.
type accountCase struct {
	promised
	// left is a script that succeeds if the apply has spared what it must.
	left string
}

const removal = "User/ann {ensure: absent, manageHome: true}"

// keptHome is the plan of a removal that is refused.
func keptHome(why string) []string {
	return []string{"User/ann Failed: cannot be applied: cannot remove user ann with its home /home/ann: " + why}
}

// homes has the homes that a removal of their user must not touch, or can't remove.
func homes() map[string]accountCase {
	return map[string]accountCase{
		"a file system is mounted below a home": {
			promised: promised{
				given:   "useradd --create-home ann; mkdir -p /srv/data /home/ann/a/b; touch /srv/data/precious; mount --bind /srv/data /home/ann/a/b",
				catalog: []string{removal},
				plan:    keptHome("/home/ann/a/b is a mount point, and userdel would remove what is mounted: unmount it first, or remove manageHome"),
			},
			left: "id ann; test -e /srv/data/precious -a -e /home/ann/.profile",
		},
		"a file is mounted below a home": {
			promised: promised{
				given:   "useradd --create-home ann; touch /srv/f /home/ann/f; mount --bind /srv/f /home/ann/f",
				catalog: []string{removal},
				plan:    keptHome("/home/ann/f is a mount point, and userdel would remove what is mounted: unmount it first, or remove manageHome"),
			},
			left: "id ann; test -e /home/ann/.profile",
		},
		"a home is a mount point": {
			promised: promised{
				given:   "mkdir /home/ann; mount -t tmpfs none /home/ann; useradd --create-home ann; chown ann /home/ann; touch /home/ann/f",
				catalog: []string{removal},
				plan:    keptHome("/home/ann is a mount point, and userdel would remove what is mounted: unmount it first, or remove manageHome"),
			},
			left: "id ann; test -e /home/ann/f",
		},
		"a home is the root directory": {
			promised: promised{
				given:   "useradd --home-dir / ann; chown ann /",
				catalog: []string{removal},
				plan: []string{"User/ann Failed: cannot be applied: cannot remove user ann with its home /: " +
					"that is or has the home of user root: remove manageHome"},
			},
			left: "id ann; test -e /etc/hostname",
		},
		"a home has another's by another path": {
			promised: promised{
				given:   "useradd --create-home ann; mkdir /home/ann/shared; ln -s /home/ann/shared /data; useradd --create-home --home-dir /data/bob bob",
				catalog: []string{removal},
				plan:    keptHome("that is or has the home of user bob: remove manageHome"),
			},
			left: "id ann; test -e /data/bob/.profile",
		},
		"a home is a symlink": {
			promised: promised{
				given:   "useradd --create-home --home-dir /srv/ann ann; ln -s /srv/ann /home/ann; usermod --home /home/ann ann",
				catalog: []string{removal},
				plan:    keptHome("that is no directory, so userdel would leave it: remove manageHome, or remove it first"),
			},
			left: "id ann; test -e /home/ann/.profile",
		},
		"a home is a file": {
			promised: promised{
				given:   "useradd ann; touch /home/ann; chown ann /home/ann",
				catalog: []string{removal},
				plan:    keptHome("that is no directory, so userdel would leave it: remove manageHome, or remove it first"),
			},
			left: "id ann",
		},
		"a home is immutable": {
			promised: promised{
				given:   "useradd --create-home ann; chattr +i /home/ann",
				catalog: []string{removal},
				plan:    keptHome("/home/ann is immutable: change that with chattr -i, or remove manageHome"),
			},
			left: "id ann; test -e /home/ann/.profile",
		},
		"a file in a home is append-only": {
			promised: promised{
				given:   "useradd --create-home ann; mkdir /home/ann/d; touch /home/ann/d/log; chattr +a /home/ann/d/log",
				catalog: []string{removal},
				plan:    keptHome("/home/ann/d/log is append-only: change that with chattr -a, or remove manageHome"),
			},
			left: "id ann; test -e /home/ann/.profile",
		},
		"the directory of a home is immutable": {
			promised: promised{
				given:   "useradd --create-home ann; chattr +i /home",
				catalog: []string{removal},
				plan:    keptHome("/home is immutable: change that with chattr -i, or remove manageHome"),
			},
			left: "id ann; test -e /home/ann/.profile",
		},
		"homes are on a read-only file system": {
			promised: promised{
				given:   "useradd --create-home ann; mount --bind /home /home; mount -o remount,bind,ro /home",
				catalog: []string{removal},
				plan:    keptHome("/home is on a read-only file system: mount that read-write, or remove manageHome"),
			},
			left: "id ann; test -e /home/ann/.profile",
		},
		"a home is missing": {
			promised: promised{given: "useradd ann", catalog: []string{removal}, plan: []string{"User/ann Noop"}},
		},
		"a home has links, directories and other users' files": {
			promised: promised{
				given:   "useradd --create-home ann; mkdir -p /home/ann/a/b; touch /home/ann/a/b/c; ln -s /etc /home/ann/etc; ln -s . /home/ann/a/loop; chown 4:4 /home/ann/a/b/c",
				catalog: []string{removal},
				plan:    []string{"User/ann Noop"},
			},
			left: "test ! -e /home/ann; test -e /etc/passwd",
		},
	}
}

func TestAPlanOfAccountsIsAPromise(t *testing.T) {
	for _, cases := range []map[string]accountCase{homes()} {
		for name, c := range cases {
			t.Run(name, func(t *testing.T) { c.keep(t) })
		}
	}
}

func (c accountCase) keep(t *testing.T) {
	root := debian.Root(t)
	defer debian.Chroot(t, root, "sh", "-c", "chattr -R -f -i -a /home /etc || true") // the root is removed
	// Processes of the machine may have the first numbers.
	debian.Chroot(t, root, "sed", "--in-place", "s/^UID_MIN.*/UID_MIN 770000/; s/^UID_MAX.*/UID_MAX 770099/", "/etc/login.defs")
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
	m := enginetest.Machine{Kinds: providers.Kinds()}
	promise.Case{Plan: c.plan, Host: promise.Host{
		Host: h, Kinds: m.Kinds, Bind: func() ([]resource.Item, error) { return m.Items(c.catalog...) },
	}}.Keep(t)
	run(c.left)
}
