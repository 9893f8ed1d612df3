package cli_test

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/fettle-dev/fettle/internal/cli"
	"github.com/fettle-dev/fettle/internal/cli/place"
	"github.com/fettle-dev/fettle/internal/cli/program"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/providers"
)

// A watched host keeps what confines the programs that it is asked to run.
type watched struct {
	*linux.Host
	mu       sync.Mutex
	confined []host.Confinement
}

func (w *watched) Query(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	if cmd.Confinement != nil && strings.Contains(cmd.Args[0], "programs") {
		w.mu.Lock()
		w.confined = append(w.confined, *cmd.Confinement)
		w.mu.Unlock()
	}
	return w.Host.Query(ctx, cmd)
}

func TestPlanGivesNoAccessToTypesOfTheManifests(t *testing.T) {
	root, dir := copyOfRoot(t), t.TempDir()
	if got := author(t, dir, root, "type", "new", "Note"); got.code != 0 {
		t.Fatal(got.err)
	}
	built := author(t, dir, root, "type", "build", "note")
	crd, spec, _ := strings.Cut(built.out, "kind: ExternalType\n")
	definition := crd + "kind: ExternalType\n" + strings.Replace(spec, "\nspec:\n", "\nspec:\n  access: {network: true, sockets: [/run/dbus/system_bus_socket]}\n", 1)
	if built.code != 0 || definition == built.out {
		t.Fatalf("cannot give access to %s%s", built.out, built.err)
	}
	note := "---\n{apiVersion: types.fettle.dev/v1alpha1, kind: Note, metadata: {name: hello}, spec: {nodeSelector: {}, properties: {content: one}}}\n"
	put(t, filepath.Join(dir, "all.yaml"), definition+note)
	put(t, filepath.Join(dir, "note.yaml"), note)
	put(t, filepath.Join(dir, "types.d/note.yaml"), definition)
	const warning = "warning: programs have neither a network nor sockets in this run, because the manifests define the types of Note"
	for _, test := range []struct {
		args   string
		access bool
	}{
		{"plan -f all.yaml", false},
		{"apply --noop -f all.yaml", false},
		{"plan -f note.yaml --types-dir types.d", true},
		{"apply --noop -f note.yaml --types-dir types.d", true},
		{"apply -f all.yaml", true},
	} {
		h, err := linux.Open(linux.Options{Root: root})
		if err != nil {
			t.Fatal(err)
		}
		w := &watched{Host: h}
		var out, stderr bytes.Buffer
		err = cli.Run(t.Context(), cli.Options{
			Kinds: providers.Kinds(), Streams: program.Streams{Out: &out, Err: &stderr},
			Hosts: place.Hosts{Root: func(string) (place.Host, error) { return w, nil }},
		}, append(strings.Fields(test.args), "--root", root))
		if err != nil || len(w.confined) == 0 || strings.Contains(stderr.String(), warning) == test.access {
			t.Errorf("%s: %v, %d programs\n%s%s", test.args, err, len(w.confined), out.String(), stderr.String())
		}
		for _, c := range w.confined {
			if c.ReadOnly && (c.Network != test.access || len(c.Sockets) > 0 != test.access) {
				t.Errorf("%s confines the program to %+v", test.args, c)
			}
		}
	}
}

func TestOwnStateIsNoResource(t *testing.T) {
	root := emptyRoot(t)
	if got := fettle(t, file("motd", "path: /etc/motd, content: a"), "apply", "--root", root, "-f", "-"); got.code != 0 {
		t.Fatal(got.err)
	}
	for _, args := range []string{"plan", "apply --noop", "apply"} {
		got := fettle(t, file("state", "path: /var/lib/fettle/state.db, content: x"), append(strings.Fields(args), "--root", root, "-f", "-")...)
		if got.code != 1 || !strings.Contains(got.out+got.err, "is one of Fettle's own files, which resources can neither read nor change: leave it out") {
			t.Errorf("%s: exit %d\n%s%s", args, got.code, got.out, got.err)
		}
		got = fettle(t, file("all", "path: /var/lib, recurse: true, purge: true, force: true, confirm: /var/lib"), append(strings.Fields(args), "--root", root, "-f", "-")...)
		if got.code != 0 || strings.Contains(got.out, "fettle") {
			t.Errorf("%s of a directory above: exit %d\n%s%s", args, got.code, got.out, got.err)
		}
	}
	for _, path := range []string{"/var/lib/fettle", "/var/lib", "/var"} {
		if got := fettle(t, file("gone", "path: "+path+", ensure: absent, force: true, confirm: "+path), "apply", "--root", root, "-f", "-"); got.code != 1 {
			t.Errorf("removing %s: exit %d\n%s%s", path, got.code, got.out, got.err)
		}
	}
	read(t, filepath.Join(root, "var/lib/fettle/state.db"))
}
