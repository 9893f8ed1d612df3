//go:build e2e

package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// A plugin is kubectl fettle of this checkout, with the page that it serves.
type plugin struct {
	program string
	client  *http.Client
	page    string // its address
}

// startPlugin builds the plugin, and serves the page until the end of the spec.
func startPlugin(ctx context.Context) plugin {
	GinkgoHelper()
	p := plugin{program: filepath.Join(GinkgoT().TempDir(), "kubectl-fettle"), client: &http.Client{}}
	run(ctx, "go", "build", "-o", p.program, "./cmd/kubectl-fettle")
	p.page = serve(ctx, withKubeconfig(ctx, p.program, "ui"), `^Open (\S+)`)
	return p
}

// ask runs a command, and returns its output and its exit code.
func (p plugin) ask(ctx context.Context, args ...string) (out string, code int) {
	GinkgoHelper()
	raw, err := withKubeconfig(ctx, p.program, args...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(raw), exit.ExitCode()
	}
	Expect(err).NotTo(HaveOccurred())
	return string(raw), 0
}

// code is the detailed exit code of a command.
func (p plugin) code(ctx context.Context, args ...string) int {
	GinkgoHelper()
	_, code := p.ask(ctx, append(args, "--detailed-exitcodes")...)
	return code
}

// countsAre expects all who count nodes to count them so: the Fleet, kubectl get, kubectl fettle status and the page.
func (p plugin) countsAre(ctx context.Context, want v1alpha1.FleetNodes) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		var fleet v1alpha1.Fleet
		g.Expect(json.Unmarshal([]byte(kubectl(ctx, "get", "fleet", "fleet", "-o", "json")), &fleet)).To(Succeed())
		g.Expect(fleet.Status.Nodes).To(Equal(want))
		var status struct{ Nodes v1alpha1.FleetNodes }
		out, _ := p.ask(ctx, "status", "-o", "json")
		g.Expect(json.Unmarshal([]byte(out), &status)).To(Succeed())
		g.Expect(status.Nodes).To(Equal(want))
		for name, n := range map[string]int32{"HELD": want.Held, "FAILED": want.Failed, "DISABLED": want.Disabled, "SILENT": want.Silent} {
			g.Expect(column(ctx, "fleet", name)).To(Equal(strconv.Itoa(int(n))), name)
		}
		shown := p.shown(ctx)
		for name, n := range map[string]int32{
			"Total": want.Total, "In sync": want.InSync, "Held": want.Held, "Failed": want.Failed, "Withheld": want.Withheld, "Silent": want.Silent, "Disabled": want.Disabled,
		} {
			g.Expect(shown[name]).To(Equal(int(n)), name)
		}
	}).WithTimeout(3 * soon).WithContext(ctx).Should(Succeed())
}

var pageFigure = regexp.MustCompile(`<dt><a [^>]*>([^<]*)</a></dt><dd>([^<]*)</dd>`)

// shown are the numbers of nodes on the first page. Those that it lacks are 0.
func (p plugin) shown(ctx context.Context) map[string]int {
	GinkgoHelper()
	all := map[string]int{}
	for _, m := range pageFigure.FindAllStringSubmatch(get(ctx, p.client, p.page, ""), -1) {
		n, err := strconv.Atoi(strings.ReplaceAll(m[2], ",", ""))
		Expect(err).NotTo(HaveOccurred())
		all[m[1]] = n
	}
	return all
}

// onlyOn restricts a manifest to a node.
func onlyOn(name, manifest string) string {
	return strings.ReplaceAll(manifest, "nodeSelector: {}", "nodeSelector: {matchLabels: {kubernetes.io/hostname: "+name+"}}")
}

var _ = Describe("What does not get through", Label("blocked"), func() {
	It("is seen everywhere, with the same counts", func(ctx SpecContext) {
		p := startPlugin(ctx)
		apply(ctx, file("e2e-pool", "/etc/e2e-pool", "pool\n", "deletionPolicy: Delete"))
		kubectl(ctx, "patch", "file", "e2e-pool", "--type=merge", `--patch={"spec":{"nodeSelector":{"matchLabels":{"e2e-pool":"a"}}}}`)
		kubectl(ctx, "label", "nodes", "--all", "e2e-pool=a")
		DeferCleanup(func(ctx SpecContext) { kubectl(ctx, "label", "nodes", "--all", "e2e-pool-") }, NodeTimeout(soon))
		apply(ctx, onlyOn("node-1", file("e2e-dir", "/etc/e2e-dir", "a file\n")))
		Eventually(func() string { return column(ctx, "file/e2e-pool", "INSYNC") }).WithContext(ctx).Should(Equal("3"))
		ready(ctx, "file/e2e-dir")
		p.countsAre(ctx, v1alpha1.FleetNodes{Total: 3, InSync: 3})
		Expect(p.code(ctx, "status")).To(Equal(0))

		By("uncorrectable drift, a withheld resource, and a disabled node")
		on(ctx, "node-1", "until rm -f /etc/e2e-dir && mkdir -p /etc/e2e-dir/content; do :; done") // the agent may write the file in between
		DeferCleanup(func(ctx SpecContext) { on(ctx, "node-1", "rm -rf /etc/e2e-dir") }, NodeTimeout(soon))
		apply(ctx, onlyOn("node-2", file("e2e-port", "/etc/e2e-port", "8080\n")))
		apply(ctx, onlyOn("node-2", file("e2e-other-port", "/etc/e2e-port", "8443\n")))
		kubectl(ctx, "patch", "nodecatalog", "node-3", "--type=merge", `--patch={"spec":{"disabled":{"reason":"e2e"}}}`)
		DeferCleanup(func(ctx SpecContext) {
			kubectl(ctx, "patch", "nodecatalog", "node-3", "--type=merge", `--patch={"spec":{"disabled":null}}`)
		}, NodeTimeout(soon))
		p.countsAre(ctx, v1alpha1.FleetNodes{Total: 3, Failed: 1, Withheld: 1, Disabled: 1})
		Expect(column(ctx, "file/e2e-dir", "FAILED")).To(Equal("1"))
		Expect(column(ctx, "file/e2e-pool", "DISABLED")).To(Equal("1"))
		Expect(column(ctx, "nodecatalog/node-2", "REASON")).To(Equal("Withheld"))
		Expect(column(ctx, "nodecatalog/node-3", "REASON")).To(Equal("Disabled"))
		for _, c := range []struct {
			args []string
			text string
			code int
		}{
			{[]string{"status"}, "Disabled  1      node-3", 4},
			{[]string{"why", "File/e2e-port"}, "Withheld  1      node-2", 4},
			{[]string{"why", "File/e2e-dir"}, "Failed  1      node-1", 4},
			{[]string{"why", "File/e2e-pool"}, "Disabled  1      node-3", 4},
			{[]string{"drift", "File/e2e-dir"}, "File/e2e-dir", 6},
			{[]string{"diff", "File/e2e-port"}, "different on 0 of 1 node, 1 withheld", 4},
		} {
			out, code := p.ask(ctx, append(c.args, "--detailed-exitcodes")...)
			Expect(code).To(Equal(c.code), "%s\n%s", c.args, out)
			Expect(out).To(ContainSubstring(c.text), "%s", c.args)
		}

		By("a held node and a silent one")
		kubectl(ctx, "patch", "nodecatalog", "node-3", "--type=merge", `--patch={"spec":{"disabled":null}}`)
		machine("node-3").PowerOff()
		DeferCleanup(func(ctx SpecContext) {
			Expect(machine("node-3").PowerOn(ctx)).To(Succeed())
			kubectl(ctx, "wait", "--for=condition=Ready", "--timeout=2m", "node/node-3")
			rollout(ctx)
		}, NodeTimeout(5*soon))
		p.countsAre(ctx, v1alpha1.FleetNodes{Total: 3, Failed: 1, Withheld: 1, Silent: 1})
		kubectl(ctx, "label", "node", "node-1", "e2e-pool-")
		Eventually(func() string { return on(ctx, "node-1", "cat /etc/e2e-pool 2>&1 || true") }).WithContext(ctx).Should(ContainSubstring("No such file"))
		kubectl(ctx, "label", "node", "node-2", "e2e-pool-")
		p.countsAre(ctx, v1alpha1.FleetNodes{Total: 3, Failed: 1, Held: 1, Silent: 1})
		Expect(on(ctx, "node-2", "cat /etc/e2e-pool")).To(Equal("pool\n"))
		Expect(column(ctx, "nodecatalog/node-2", "REASON")).To(Equal("UpdateHeld"))
		status, code := p.ask(ctx, "status", "--detailed-exitcodes")
		Expect(code).To(Equal(4))
		Expect(status).To(MatchRegexp(`(?s)\nHeld +.*kubectl annotate .*confirm-deselection=.*\nHeld +1 +node-2 .*\nFailed +1 +node-1 .*\nSilent +1 +node-3 `))
		why, code := p.ask(ctx, "why", "File/e2e-pool", "--detailed-exitcodes")
		Expect(code).To(Equal(4))
		Expect(why).To(MatchRegexp(`(?s)Held +1 +node-2 .*Unknown +1 +node-3 `))

		By("confirming what is held, as the Fleet says, once no withheld File may need what it removes")
		kubectl(ctx, "delete", "file", "e2e-other-port")
		token := kubectl(ctx, "get", "fleet", "fleet", "-o", "jsonpath={.status.deselection.token}")
		kubectl(ctx, "annotate", "fleet", "fleet", "fettle.dev/confirm-deselection="+token, "--overwrite")
		Eventually(func() string { return on(ctx, "node-2", "cat /etc/e2e-pool 2>&1 || true") }).WithContext(ctx).Should(ContainSubstring("No such file"))
		p.countsAre(ctx, v1alpha1.FleetNodes{Total: 3, InSync: 1, Failed: 1, Silent: 1})
	}, NodeTimeout(20*soon))
})
