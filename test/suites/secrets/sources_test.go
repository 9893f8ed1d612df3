package secrets_test

import (
	"context"
	"errors"
	"io"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/cli/place"
	"github.com/fettle-dev/fettle/internal/cli/program"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/providers"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// An agent at debug level handles every kind of secret, with servers, tools and commands that repeat their input. Some
// of them fail.
func TestSecretsOfSourcesAndCommandsStayHidden(t *testing.T) {
	server := newServer(t, headerValue)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	cfg, readEtcd := controlplane.StartOpen(t)
	f := newFixture(t, cfg, readEtcd)
	log.SetOutput(&f.logs) // used by libraries
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
	f.startManager()
	front := f.newMachineIn(debian.Root(t), "front-1", "front")
	front.write("etc/replaced", "old\n")
	front.start()

	objects, succeed, fail := secretResources(server)
	for _, o := range slices.Concat(objects, succeed, fail) {
		must(t, f.admin.Create(t.Context(), o))
	}
	front.eventually("each is in sync, or failed", func(g Gomega) {
		for _, o := range succeed {
			g.Expect(f.readyConditionOf(o.(v1alpha1.Resource))).To(HavePrefix("True "), o.GetName())
		}
		for _, o := range fail {
			g.Expect(f.readyConditionOf(o.(v1alpha1.Resource))).To(Or(Equal("False Failed"), Equal("False InvalidSpec")), o.GetName())
		}
	})
	g := NewWithT(t)
	g.Expect(front.file("/etc/licence")).To(Equal(licence))
	g.Expect(front.file("/etc/public-ca")).To(Equal(licence))
	g.Expect(front.file("/etc/token")).To(Equal(marked + " content\n"))
	g.Expect(front.file("/etc/shadow")).To(ContainSubstring("ann:$6$salt$" + marked + ":"))
	f.checkEtcd()

	t.Log("a ConfigMap gets other certificates")
	authority := configMapOf("authority", otherAuthority)
	followed := downloadOf("followed", server.URL+"/licence", v1alpha1.ValueSource{ConfigMapKeyRef: new(ref("authority"))})
	must(t, f.admin.Create(t.Context(), authority))
	must(t, f.admin.Create(t.Context(), followed))
	front.eventually("the server is not trusted", func(g Gomega) { g.Expect(f.readyConditionOf(followed)).To(Equal("False Failed")) })
	authority.Data["text"] = certificatesOf(server)
	must(t, f.admin.Update(t.Context(), authority))
	front.eventually("the server is trusted", func(g Gomega) { g.Expect(f.readyConditionOf(followed)).To(Equal("True InSync")) })

	t.Log("a command runs")
	waits := execOf("waits", "touch /srv/running; while test ! -e /srv/go; do sleep 0.1; done", func(s *v1alpha1.ExecSpec) { s.Creates = []string{"/srv/go"} })
	must(t, f.admin.Create(t.Context(), waits))
	front.eventually("it runs", func(g Gomega) { g.Expect(filepath.Join(front.root, "srv/running")).To(BeAnExistingFile()) })
	checkNoSecret(t, arguments(t, front.root))
	front.write("srv/go", "")
	front.eventually("it has ended", func(g Gomega) { g.Expect(f.readyConditionOf(waits)).To(HavePrefix("True ")) })

	f.checkEtcd()
	front.stop()
	f.stopManager()
	f.checkOutput(front)
	for _, want := range []string{
		"the server responded with 403 Forbidden", "the server responded with 404 Not Found", "signed by unknown authority", "details omitted: they contain the value of header Authorization",
		"its output is not shown, because the content is a secret", "ran /bin/sh -c 'env; env >&2; exit 3': exit 3", "output: TOKEN=[redacted]", "ran chpasswd --encrypted: exit 0",
		"File/token: content: current [redacted], target [redacted]", "User/ann: password: current [redacted], target [redacted]",
	} {
		g.Expect(front.logs.String()).To(ContainSubstring(want))
	}
}

// arguments returns the arguments of the processes in a root.
func arguments(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	processes, err := filepath.Glob("/proc/[0-9]*")
	must(t, err)
	for _, p := range processes {
		if at, err := os.Readlink(p + "/root"); err != nil || at != root {
			continue
		}
		if line, err := os.ReadFile(p + "/cmdline"); err == nil && len(line) > 0 {
			all["the command line of "+p] = string(line)
		}
	}
	if len(all) == 0 {
		t.Error("no process is in the root: no arguments were searched")
	}
	return all
}

// fettle runs the command in process and returns its output.
func fettle(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	var said strings.Builder
	o := cli.Options{
		Kinds: providers.Kinds(), Streams: program.Streams{In: strings.NewReader(stdin), Out: &said, Err: &said},
		Hosts: place.Hosts{Root: func(root string) (place.Host, error) { return linux.Open(linux.Options{Root: root}) }},
	}
	var exit output.Exit
	if err := cli.Run(context.WithoutCancel(t.Context()), o, args); err != nil && !errors.As(err, &exit) {
		said.WriteString(program.Message(err))
	}
	return said.String()
}

func TestDebugCommandHidesSecrets(t *testing.T) {
	server := newServer(t, headerValue)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	objects, succeed, fail := secretResources(server)
	var manifests strings.Builder
	for _, o := range slices.Concat(objects, succeed, fail) {
		raw, err := yaml.Marshal(o)
		must(t, err)
		manifests.WriteString("---\n" + string(raw))
	}
	root := debian.Root(t)
	must(t, os.WriteFile(filepath.Join(root, "etc/replaced"), []byte("old\n"), 0o600))
	outputs := map[string]string{}
	for _, args := range []string{
		"validate -f -", "plan -f - --debug", "apply -f - --debug --noop", "apply -f - --debug", "apply -f - --debug -o json", "plan -f - --debug -o yaml", "graph -f -",
		"resource user ann --debug", "resource file /etc/token --debug", "resource user --debug -o json", "resource user ann comment=x --debug", "bucket list --debug",
	} {
		words := strings.Fields(args)
		if !slices.Contains([]string{"validate", "graph"}, words[0]) {
			words = append(words, "--root", root)
		}
		outputs["fettle "+args] = fettle(t, manifests.String(), words...)
	}
	maps.Copy(outputs, filesIn(t, filepath.Join(root, "var/lib/fettle")))
	delete(outputs, filepath.Join(root, "var/lib/fettle/lock")) // empty
	checkNoSecret(t, outputs)
	g := NewWithT(t)
	for _, want := range []string{
		"debug: ran /bin/sh -c 'env; env >&2; exit 3': exit 3", "debug: output: TOKEN=[redacted]", "debug: ran chpasswd --encrypted: exit 0",
		"debug: File/token: content: current [redacted], target [redacted]", "debug: User/ann: password: current [redacted], target [redacted]",
		"the server responded with 403 Forbidden", "details omitted", "its output is not shown", "File/licence: created", "File/replaced: content changed", "User/ann: created",
	} {
		g.Expect(outputs["fettle apply -f - --debug"]).To(ContainSubstring(want))
	}
}
