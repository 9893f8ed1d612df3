package cli_test

import (
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// five has a resource of every kind. Only their relations put them in the right order.
const five = `apiVersion: fettle.dev/v1alpha1
kind: SystemService
metadata: {name: greeter}
spec: {nodeSelector: {}, enable: true, require: [Package/greeter]}
---
apiVersion: fettle.dev/v1alpha1
kind: File
metadata: {name: config}
spec: {nodeSelector: {}, path: /etc/greeter/config, content: "hello\n", mode: "0640", owner: deploy, group: web, require: [Package/greeter], notify: [SystemService/greeter]}
---
apiVersion: fettle.dev/v1alpha1
kind: User
metadata: {name: deploy}
spec: {nodeSelector: {}, uid: 1500, gid: web, home: /srv/deploy, manageHome: true, shell: /bin/bash, comment: Zoë, password: "$6$saltsalt$s3cr3t"}
---
apiVersion: fettle.dev/v1alpha1
kind: Group
metadata: {name: web}
spec: {nodeSelector: {}, gid: 1500}
---
apiVersion: fettle.dev/v1alpha1
kind: Package
metadata: {name: greeter}
spec: {nodeSelector: {}}
`

// snapshot returns the inode and change time of every file in a root.
func snapshot(t *testing.T, root string) map[string][2]int64 {
	t.Helper()
	all := map[string][2]int64{}
	for _, dir := range []string{"etc", "var", "srv", "usr", "root", "home"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := e.Info()
			if err != nil {
				return err
			}
			st := info.Sys().(*syscall.Stat_t)
			all[path] = [2]int64{int64(st.Ino), st.Mtim.Nano()}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func TestFiveKindsOnDebianRoot(t *testing.T) {
	root := debian.Root(t)
	debian.Repository(t, root, debian.Deb{
		Name: "greeter", Version: "1.0",
		Files: map[string]string{
			"/etc/greeter/README":                 "see config\n",
			"/lib/systemd/system/greeter.service": "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n",
		},
	})
	apply := func(args ...string) outcome {
		t.Helper()
		return fettle(t, five, append([]string{"apply", "-f", "-", "--root", root, "--detailed-exitcodes"}, args...)...)
	}
	check := func(what string, got outcome, code int, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, lines(got.out)); diff != "" || got.code != code || got.err != "" {
			t.Errorf("%s: exit %d, want %d\n%s%s", what, got.code, code, diff, got.err)
		}
	}

	check("first", apply(), 2,
		"Group/web: created", "User/deploy: created", "Package/greeter: output: installed version 1.0", "Package/greeter: created",
		"File/config: created", "SystemService/greeter: enable changed false to true",
		"5 resources: 0 in sync, 5 changed, 0 refreshed, 0 noop, 0 skipped, 0 failed in N")
	for command, want := range map[string]string{
		"stat -c %U:%G:%a /etc/greeter/config": "deploy:web:640\n",
		"getent passwd deploy":                 "deploy:x:1500:1500:Zoë:/srv/deploy:/bin/bash\n",
		"stat -c %U /srv/deploy":               "deploy\n",
		"systemctl is-enabled greeter":         "enabled\n",
		"dpkg-query -W -f ${Status} greeter":   "install ok installed",
		"grep -c s3cr3t /etc/shadow":           "1\n",
	} {
		if got := debian.Chroot(t, root, strings.Fields(command)...); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}

	if strings.Contains(read(t, filepath.Join(root, "var/lib/fettle/state.db")), "s3cr3t") {
		t.Error("the state contains the password hash")
	}

	before := snapshot(t, root)
	check("again", apply(), 0, "5 resources: 5 in sync, 0 changed, 0 refreshed, 0 noop, 0 skipped, 0 failed in N")
	if diff := cmp.Diff(before, snapshot(t, root)); diff != "" {
		t.Errorf("a run in sync changed:\n%s", diff)
	}

	put(t, filepath.Join(root, "etc/greeter/config"), "hello\n\n")
	debian.Chroot(t, root, "userdel", "deploy")
	before = snapshot(t, root)
	check("noop after edits by hand", apply("--noop"), 0,
		"User/deploy: created (noop) (corrective)",
		"File/config: content changed {sha256}50adea61fa4e77ab111b814716097abfd05f83a207b47eb4529bbd4f54e111e0 to "+helloSum+" (noop) (corrective)",
		"File/config: owner changed 1500 to deploy (noop) (corrective) (unknown: comes after a change of its owner)",
		"5 resources: 3 in sync, 0 changed, 0 refreshed, 2 noop, 0 skipped, 0 failed, 2 unknown in N")
	if diff := cmp.Diff(before, snapshot(t, root)); diff != "" {
		t.Errorf("a noop run changed:\n%s", diff)
	}
}

func TestListedResourcesNameNonDefaultProvider(t *testing.T) {
	root := debian.Root(t)
	put(t, filepath.Join(root, "etc/init.d/lamp"), "#!/bin/sh\n[ \"$1\" != status ] || exit 3\n")
	debian.Chroot(t, root, "chmod", "755", "/etc/init.d/lamp")
	const lamp = "metadata:\n  name: lamp\nspec:\n  enable: false\n  ensure: stopped\n  name: lamp\n  nodeSelector: {}\n  provider: sysvinit\n"
	if got := fettle(t, "", "resource", "systemservice", "--root", root); !strings.Contains(got.out, lamp) {
		t.Errorf("%q is not in\n%s%s", lamp, got.out, got.err)
	}
	if got := fettle(t, "", "resource", "group", "root", "--root", root); strings.Contains(got.out, "provider:") {
		t.Errorf("the host's default provider is named:\n%s", got.out)
	}
}
