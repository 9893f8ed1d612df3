package localuser_test

import (
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/providers/file"
	"github.com/fettle-dev/fettle/providers/sshauthorizedkey"
	"github.com/fettle-dev/fettle/providers/tidy"
	"github.com/fettle-dev/fettle/providers/user"
)

func kinds() []resource.Kind {
	return []resource.Kind{bound.Kind(file.Type(nil)), bound.Kind(tidy.Type(time.Now)), bound.Kind(sshauthorizedkey.Type()), bound.Kind(user.Type())}
}

// paths are the files and directories that resources manage and that the user acts on.
var paths = []string{
	"/home/zed/a", "/home/zed/a/b", "/home/zed/a/b/f", "/home/zed/.ssh", "/home/zed/.ssh/authorized_keys", "/home/zed/f",
	"/srv/app", "/srv/app/data", "/srv/app/data/f", "/srv/app/data/d", "/srv/app/data/cron.d", "/srv/app/lnk", "/srv/app/f", "/tmp/a", "/tmp/a/f", "/srv/copy/data/f", "/srv/copy/a/f",
}

// linkTargets are the targets of the user's symlinks.
var linkTargets = []string{"/etc", "/etc/f", "/etc/shadow", "../../etc", "/root", "/root/.ssh", "/usr/bin", "/srv/src", "/home/zed", "data", "/etc/alternative", "/srv/app"}

// specs are resources. PATH is one of the paths, FROM another one. No resource or source is a symlink that another one manages, or below
// it, since that would be root's own way.
var specs = []string{
	`File {path: PATH, owner: root}`,
	`File {path: PATH, owner: zed}`,
	`File {path: PATH, owner: root, group: root, mode: "0644"}`,
	`File {path: PATH, owner: zed, group: zed, mode: "4755"}`,
	`File {path: PATH, mode: "0755"}`,
	`File {path: PATH, ensure: directory, owner: root}`,
	`File {path: PATH, ensure: directory, owner: zed, mode: "0700", force: true}`,
	`File {path: PATH, content: "managed\n", owner: root, force: true}`,
	`File {path: PATH, content: "other\n", backup: .bak}`,
	`File {path: PATH, ensure: absent, force: true}`,
	`File {path: PATH, ensure: absent, backup: None}`,
	`File {path: PATH, links: follow, owner: zed, mode: "0666"}`,
	`File {path: PATH, links: follow, content: "followed\n"}`,
	`File {path: PATH, recurse: true, owner: root}`,
	`File {path: PATH, recurse: true, owner: zed, mode: "u+rwX"}`,
	`File {path: PATH, recurse: true, owner: root, mode: "0777"}`,
	`File {path: PATH, recurse: true, purge: true, force: true}`,
	`File {path: PATH, recurse: true, purge: true, force: true, source: /srv/src, owner: zed}`,
	`File {path: PATH, recurse: true, source: FROM}`,
	`File {path: /srv/copy, recurse: true, source: FROM}`,
	`File {path: PATH, recurse: true, source: FROM, owner: zed, links: follow}`,
	`File {path: PATH, source: FROM, owner: zed, mode: "0644"}`,
	`File {path: PATH, source: FROM, force: true}`,
	`File {path: /srv/app/lnk, target: /etc, owner: root, force: true}`,
	`Tidy {path: PATH, recurse: true, rmdirs: true}`,
	`Tidy {path: PATH, recurse: true, backup: Bucket}`,
	`SSHAuthorizedKey {user: zed, type: ssh-ed25519, key: AAAAC3NzaC1lZDI1NTE5AAAAIJwB3jhZt6g0m0zzGnKjXbEXAMPLEKEYEXAMPLEKEYEX}`,
	`User {name: zed, purgeSSHKeys: true}`,
}

// catalog takes the next catalog from the input.
func (f *fixture) catalog() (items []resource.Item) {
	f.t.Helper()
	f.logf("run:")
	managed := map[string]bool{}
	for range 1 + f.nextByte()%5 {
		spec := specs[int(f.nextByte())%len(specs)]
		place, from := paths[int(f.nextByte())%len(paths)], paths[int(f.nextByte())%len(paths)]
		if place == "/srv/app/lnk" || from == "/srv/app/lnk" {
			continue
		}
		kind, attributes, _ := strings.Cut(strings.NewReplacer("PATH", place, "FROM", from).Replace(spec), " ")
		if managed[kind+place] {
			continue
		}
		managed[kind+place] = true
		f.logf("  %s %s", kind, attributes)
		items = append(items, f.item(kind, "r"+strconv.Itoa(len(items)), attributes))
	}
	return items
}

func (f *fixture) item(kind, name, attributes string) resource.Item {
	f.t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(attributes))
	must(f.t, err)
	item := resource.Item{Ref: resource.Ref{Kind: kind, Name: name}}
	for _, k := range f.kinds {
		if k.Name() == kind {
			item.Resource, item.Invalid = k.Bind(item.Ref, raw)
		}
	}
	return item
}
