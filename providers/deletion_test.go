package providers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/facts"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/state"
	"github.com/fettle-dev/fettle/providers"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// A want is a resource: Kind/name, its attributes as JSON, and its requirements.
type want struct{ ref, attributes, requires string }

// A keeper applies whole catalogs to a Debian root, as an agent does.
type keeper struct {
	t    *testing.T
	root string
	host host.Host
	dir  string // the state directory
}

func newKeeper(t *testing.T) *keeper {
	t.Helper()
	root := debian.Root(t)
	h, err := linux.Open(linux.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return &keeper{t, root, h, t.TempDir()}
}

// apply runs a catalog and returns the resources that are not in sync after it, or were not before.
func (k *keeper) apply(policy resource.DeletionPolicy, wants ...want) []string {
	k.t.Helper()
	store, err := state.Open(k.dir, state.Options{})
	if err != nil {
		k.t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			k.t.Error(err)
		}
	}()
	is, _ := facts.Gather(k.t.Context(), k.host)
	return k.run(k.t.Context(), store, is, policy, wants)
}

func (k *keeper) run(ctx context.Context, store engine.Store, is resource.Facts, policy resource.DeletionPolicy, wants []want) []string {
	k.t.Helper()
	var items []resource.Item
	for _, w := range wants {
		ref, err := resource.ParseRef(w.ref)
		if err != nil {
			k.t.Fatal(err)
		}
		item := resource.Item{Ref: ref, Deletion: policy}
		for _, kind := range providers.Kinds() {
			if kind.Name() == ref.Kind {
				item.Resource, item.Invalid = kind.Bind(ref, json.RawMessage(w.attributes))
			}
		}
		if w.requires != "" {
			other, err := resource.ParseRef(w.requires)
			if err != nil {
				k.t.Fatal(err)
			}
			item.Require = []resource.Ref{other}
		}
		items = append(items, item)
	}
	result, err := engine.Transaction{Host: k.host, Bucket: bucket.New(k.host, bucket.DefaultDir, 0), Facts: is, Kinds: providers.Kinds(), Store: store, Now: time.Now, OwnerUID: "uid"}.Run(ctx, items)
	if err != nil {
		k.t.Fatal(err)
	}
	var said []string
	for _, r := range result.Resources {
		if r.State != report.InSync {
			said = append(said, strings.TrimSpace(fmt.Sprint(r.Ref, " ", r.State, " ", r.Message)))
		}
	}
	return said
}

// looks returns the output of commands about the root, including failures.
func (k *keeper) looks(commands ...string) string {
	k.t.Helper()
	var all strings.Builder
	for _, c := range commands {
		all.WriteString(c + ": " + debian.Chroot(k.t, k.root, "sh", "-c", c+" 2>&1 || true") + "\n")
	}
	return all.String()
}

func (k *keeper) put(name, text string, mode os.FileMode) {
	k.t.Helper()
	name = filepath.Join(k.root, name)
	for _, err := range []error{os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), mode), os.Chmod(name, mode)} {
		if err != nil {
			k.t.Fatal(err)
		}
	}
}

// changes has resources of every kind that supports cleanup, which change a host in
// every way, in the order of their dependencies.
var changes = []want{
	{"Group/web", `{"name":"web","members":["ann","bob"]}`, ""},
	{"Group/new", `{"name":"new","gid":2500}`, ""},
	{"User/ann", `{"name":"ann","shell":"/bin/bash","groups":["new"],"comment":"Zoë"}`, ""},
	{"User/eve", `{"name":"eve","gid":"new","home":"/home/eve","manageHome":true}`, ""},
	{"User/moved", `{"name":"moved","gid":"web"}`, ""},
	{"User/gone", `{"name":"gone","ensure":"absent"}`, ""},
	{"File/replaced", `{"path":"/etc/replaced","content":"ours\n","owner":"ann","mode":"0600"}`, ""},
	{"File/removed", `{"path":"/etc/removed","ensure":"absent"}`, ""},
	{"File/mode", `{"path":"/etc/mode","mode":"0640"}`, ""},
	{"File/dir", `{"path":"/srv/dir","ensure":"directory","owner":"eve"}`, ""},
	{"File/inside", `{"path":"/srv/dir/inside","content":"x"}`, ""},
	{"File/link", `{"path":"/etc/link","target":"/etc/mode"}`, ""},
	{"File/linked", `{"path":"/etc/linked","target":"/etc/mode"}`, ""},
	{"Package/greeter", `{"name":"greeter"}`, ""},
	{"Package/present", `{"name":"present","ensure":"absent"}`, ""},
	{"Package/kept", `{"name":"kept"}`, ""},
	{"SystemService/greeter", `{"name":"greeter","enable":true}`, "Package/greeter"},
	{"SSHAuthorizedKey/laptop", `{"name":"laptop","user":"ann","type":"ssh-ed25519","key":"AAAAC3NzaC1lZDI1NTE5AAAAIKuBpx1FjsSbI0HD3ryjZHL2jpWA3kxsM8x30PgGCp1N"}`, ""},
	{"SSHAuthorizedKey/desk", `{"name":"desk","user":"ann","type":"ssh-ed25519","key":"AAAAC3NzaC1lZDI1NTE5AAAAIKuBpx1FjsSbI0HD3ryjZHL2jpWA3kxsM8x30PgGCp1N"}`, ""},
}

// changed returns a host that these resources change.
func changed(t *testing.T) *keeper {
	t.Helper()
	k := newKeeper(t)
	debian.Repository(t, k.root,
		debian.Deb{Name: "greeter", Version: "1.0", Files: map[string]string{
			"/lib/systemd/system/greeter.service": "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n",
		}},
		debian.Deb{Name: "present", Version: "1.0"}, debian.Deb{Name: "kept", Version: "1.0"})
	debian.UpdateIndex(t, k.root)
	debian.Chroot(t, k.root, "apt-get", "install", "--yes", "--quiet", "present", "kept")
	for _, command := range []string{
		"groupadd --gid 1700 web", "useradd --create-home --shell /bin/sh ann", "useradd bob", "useradd moved", "useradd gone", "gpasswd --add bob web",
		"install -d -o ann -g ann -m 700 /home/ann/.ssh",
	} {
		debian.Chroot(t, k.root, strings.Fields(command)...)
	}
	k.put("etc/replaced", "theirs\n", 0o604)
	k.put("etc/removed", "precious\n", 0o600)
	k.put("etc/mode", "m\n", 0o600)
	if err := os.Symlink("/etc/hosts", filepath.Join(k.root, "etc/linked")); err != nil {
		t.Fatal(err)
	}
	k.put("home/ann/.ssh/authorized_keys", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIyEPrHZ3EB3Z8sE9kmYTGw5uuN4AyW4QFZ2tD0mGSM1 desk\n", 0o600)
	debian.Chroot(t, k.root, "chown", "ann:ann", "/home/ann/.ssh/authorized_keys")
	return k
}

var looks = []string{
	"getent group web new", "getent passwd ann eve gone moved", "id -nG ann", "ls -d /home/eve",
	"stat -c '%n %F %U %G %a' /etc/replaced /etc/removed /etc/mode /srv/dir /srv/dir/inside /etc/link", "readlink /etc/link /etc/linked",
	"cat /etc/replaced /etc/removed", "dpkg-query -W -f '${Package} ${db:Status-Status}\\n' greeter present kept",
	"systemctl is-enabled greeter", "cut -d' ' -f2- /home/ann/.ssh/authorized_keys",
}

func TestRestorePutsEverythingBack(t *testing.T) {
	k := changed(t)
	before := k.looks(looks...)
	if said := k.apply(resource.Restore, changes...); len(said) != len(changes)-1 || strings.Contains(strings.Join(said, " "), "Failed") {
		t.Fatalf("all but Package/kept should be changed: %s", strings.Join(said, "\n"))
	}
	if said := k.apply(resource.Restore, changes...); len(said) > 0 {
		t.Fatalf("a second run changed %s", said)
	}
	if k.looks(looks...) == before {
		t.Fatal("nothing was changed")
	}
	for _, line := range k.apply(resource.Restore) {
		if !strings.HasSuffix(line, " Changed") {
			t.Error(line)
		}
	}
	if d := cmp.Diff(before, k.looks(looks...)); d != "" {
		t.Errorf("the state before (-) and now (+):\n%s", d)
	}
	if said := k.apply(resource.Restore); len(said) > 0 {
		t.Errorf("there was still something to do: %s", said)
	}
}

func TestDeleteRemovesEverything(t *testing.T) {
	k := changed(t)
	k.apply(resource.Delete, changes...)
	k.put("srv/dir/theirs", "precious\n", 0o600)
	const stays = "File/dir Failed change of ensure from directory to absent failed: " +
		"cannot remove directory /srv/dir: it contains files that its resource did not manage, such as \"theirs\": move them away"
	var failed []string
	for _, line := range k.apply(resource.Delete) {
		if !strings.HasSuffix(line, " Changed") {
			failed = append(failed, line)
		}
	}
	want := []string{stays, "User/eve Skipped skipped because of failed dependencies: File/dir", "Group/new Skipped skipped because of failed dependencies: User/eve"}
	if d := cmp.Diff(want, failed); d != "" {
		t.Errorf("failures (-want +got):\n%s", d)
	}
	debian.Chroot(t, k.root, "rm", "/srv/dir/theirs")
	if d := cmp.Diff([]string{"File/dir Changed", "User/eve Changed", "Group/new Changed"}, k.apply(resource.Delete)); d != "" {
		t.Errorf("failures with an empty directory (-want +got):\n%s", d)
	}
	left := strings.Fields(debian.Chroot(t, k.root, "sh", "-c", `
		for f in /etc/replaced /etc/removed /etc/mode /srv/dir /etc/link /etc/linked /home/eve; do ls -d $f; done 2>/dev/null
		getent group web new; getent passwd ann eve gone moved
		dpkg-query -W -f '${Package}=${db:Status-Status}\n' greeter present kept 2>/dev/null | grep =installed
		systemctl is-enabled greeter 2>/dev/null; true`))
	if len(left) > 0 {
		t.Errorf("left is %s", left)
	}
	if precious := k.looks("ls /home/ann/.ssh/authorized_keys"); strings.Contains(precious, "No such") {
		t.Errorf("the file of keys is not ours: %s", precious)
	}
}

func TestDamagedPackageIsRestoredIntact(t *testing.T) {
	k := changed(t)
	status, err := os.ReadFile(filepath.Join(k.root, "var/lib/dpkg/status"))
	if err != nil {
		t.Fatal(err)
	}
	k.put("var/lib/dpkg/status", strings.Replace(string(status),
		"Package: present\nStatus: install ok installed", "Package: present\nStatus: install reinstreq half-installed", 1), 0o644)

	absent := want{"Package/present", `{"name":"present","ensure":"absent"}`, ""}
	for _, wants := range [][]want{{absent}, nil} {
		if said := k.apply(resource.Restore, wants...); !slices.Equal(said, []string{"Package/present Changed"}) {
			t.Fatalf("with %v: %s", wants, said)
		}
	}
	const look = "dpkg-query -W -f '${Status}' present"
	if is := k.looks(look); is != look+": install ok installed\n" {
		t.Error(is)
	}
}
