package providers_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// A recorder keeps the commands that reach a host.
type recorder struct {
	host.Host
	mu       sync.Mutex
	commands []host.Cmd
	changes  []string
}

func (r *recorder) Query(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	r.mu.Lock()
	r.commands = append(r.commands, cmd)
	r.mu.Unlock()
	return r.Host.Query(ctx, cmd)
}

func (r *recorder) Run(_ context.Context, cmd host.Cmd) (host.Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes = append(r.changes, strings.Join(cmd.Args, " "))
	return host.Result{}, nil
}

// hostileResources have commands, options and variables that would create /owned on the host or make an author's code run.
func hostileResources() []string {
	const attack = `"touch /owned"`
	options := `["-o", "APT::Get::Simulate=false", "-oDPkg::Pre-Invoke::=touch /owned", "-c/owned.conf"]`
	environment := `["LD_PRELOAD=/owned.so", "APT_CONFIG=/owned.conf", "BASH_ENV=/owned.sh", "PATH=/owned", "http_proxy=http://owned"]`
	return []string{
		`Package/a {name: tree, installOptions: ` + options + `, environment: ` + environment + `}`,
		`Package/b {name: tree-b, ensure: latest, environment: ` + environment + `}`,
		`Package/c {name: dpkg, ensure: purged, uninstallOptions: ` + options + `, environment: ` + environment + `}`,
		`Package/d {name: mount, ensure: absent, environment: ` + environment + `, responseFile: /owned.answers}`,
		`Package/e {name: own, source: /srv/owned.deb}`,
		`Package/f {name: "-oDPkg::Pre-Invoke::=touch /owned"}`,
		`Package/g {name: "?owned", allowVirtual: true}`,
		`Exec/a {command: ` + attack + `, unless: ["/bin/false"], environment: ` + environment + `}`,
		`Exec/b {command: ` + attack + `, onlyIf: [` + attack + `], shell: true}`,
		`Exec/c {command: ` + attack + `, unless: ["touch /owned; touch /tmp/owned; exit 1"], shell: true, user: root}`,
		`Exec/e {command: ` + attack + `, onlyIf: [` + attack + `]}`,
		`Exec/d {command: ` + attack + `, onlyIf: ["sh -c 'systemctl stop cron || touch /owned'"], refresh: ` + attack + `}`,
		`File/a {path: /srv/a, content: x, validateCmd: "sh -c 'touch /owned; cp /srv/owned.deb /owned' sh %", backup: false}`,
		`File/b {path: /srv/b, source: /etc/hostname, validateCmd: "touch /owned %"}`,
		`File/c {path: /etc, recurse: true, owner: root, mode: "0777"}`,
		`SystemService/a {name: cron, provider: sysvinit, ensure: running, status: ` + attack + `, start: ` + attack + `}`,
		`SystemService/b {name: "-Howned", enable: true}`,
		`SystemService/c {name: "../../srv/owned", ensure: running}`,
		`SystemService/d {name: script, provider: sysvinit, ensure: running, restart: ` + attack + `}`,
		`SystemService/e {name: own, enable: true}`,
		`User/a {name: owned, home: /owned, shell: /owned, managehome: true}`,
		`User/b {name: "-Rowned"}`,
		`Group/a {name: owned}`,
		`SSHAuthorizedKey/a {name: owned, user: root, type: ssh-ed25519, key: AAAAC3NzaC1lZDI1NTE5AAAAIGFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFh, options: ['command="touch /owned"']}`,
		`Tidy/a {path: /var/log, recurse: true, ageSeconds: 0}`,
		`Notify/a {message: touch /owned}`,
		`Purge/a {kind: User}`,
	}
}

// authored are the commands that an author may name in a manifest. They run only in the sandbox.
var authored = regexp.MustCompile(`^(/usr)?/bin/(false|sh|touch)$`)

func TestNothingOfAnAuthorRunsOutsideTheSandboxInNoop(t *testing.T) {
	root := debian.Root(t)
	must(t, os.WriteFile(filepath.Join(root, "srv/owned"), []byte("#!/bin/sh\ntouch /owned\n"), 0o755))
	must(t, os.WriteFile(filepath.Join(root, "srv/owned.deb"), []byte("not a package"), 0o644))
	must(t, os.WriteFile(filepath.Join(root, "etc/init.d/script"), []byte("#!/bin/sh\ntouch /owned\n"), 0o755))
	must(t, os.WriteFile(filepath.Join(root, "lib/systemd/system/own.service"), []byte("[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"), 0o644))
	debian.Repository(t, root, debian.Deb{Name: "tree", Version: "1.0"}, debian.Deb{Name: "tree-b", Version: "1.0"})
	debian.UpdateIndex(t, root)
	before := debian.Chroot(t, root, "find", "/", "-xdev", "-printf", `%p %s %m %U %G %T@ %C@\n`)
	m := machine(t, root)
	h := &recorder{Host: m.Host}
	m.Host, m.Noop = h, true
	kinds := map[string]bool{}
	var resources []string
	for _, r := range hostileResources() {
		kind, _, _ := strings.Cut(r, "/")
		if slices.ContainsFunc(m.Kinds, func(k resource.Kind) bool { return k.Name() == kind }) {
			kinds[kind] = true
			resources = append(resources, r)
		} else {
			t.Errorf("there is no kind %s", kind)
		}
	}
	for _, k := range m.Kinds {
		if !kinds[k.Name()] {
			resources = append(resources, k.Name()+`/a {name: "$(touch /owned)"}`)
		}
	}
	m.Apply(t, resources...)

	if len(h.changes) > 0 {
		t.Errorf("ran %q", h.changes)
	}
	ran := map[string]bool{}
	for _, c := range h.commands {
		ran[filepath.Base(c.Args[0])] = true
		line := strings.Join(c.Args, " ")
		switch {
		case c.Confinement == nil || !c.Confinement.ReadOnly || c.Confinement.Network || len(c.Confinement.Sockets) > 0:
			t.Errorf("not in the sandbox: %s (%+v)", line, c.Confinement)
		case authored.MatchString(c.Args[0]) || authored.MatchString("/bin/"+c.Args[0]):
			if c.Confinement.Services {
				t.Errorf("reaches services: %s", line)
			}
		default:
			requireNothingOfAnAuthor(t, c)
		}
	}
	for _, name := range []string{"apt-cache", "apt-get", "dpkg-deb", "systemctl", "script", "touch", "sh"} {
		if !ran[name] {
			t.Errorf("%s did not run: the test shows nothing about it", name)
		}
	}
	if after := debian.Chroot(t, root, "find", "/", "-xdev", "-printf", `%p %s %m %U %G %T@ %C@\n`); after != before {
		t.Error("the host changed")
	}
}

// requireNothingOfAnAuthor fails the test if a provider's own command has other words of a resource than names, versions and
// paths of files to read, or any variable of one.
func requireNothingOfAnAuthor(t *testing.T, c host.Cmd) {
	t.Helper()
	names := regexp.MustCompile(`^(tree|tree-b|dpkg|mount|own|owned(\.service)?|cron(\.service)?|/srv/owned\.deb)-?$`)
	for _, arg := range c.Args[1:] {
		if !names.MatchString(arg) && (strings.Contains(arg, "owned") || strings.Contains(arg, "Simulate=") || strings.Contains(arg, "Invoke")) {
			t.Errorf("%s has the argument %q of an author", c.Args[0], arg)
		}
	}
	for _, variable := range c.Env {
		if strings.Contains(variable, "owned") || strings.HasPrefix(variable, "LD_") || strings.HasPrefix(variable, "PATH=") {
			t.Errorf("%s has the variable %q of an author", c.Args[0], variable)
		}
	}
	if c.As != nil || c.Dir != "" || len(c.Stdin) > 0 {
		t.Errorf("%s has a user, a directory or an input of an author: %+v", c.Args[0], c)
	}
}
