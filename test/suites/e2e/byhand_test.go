//go:build e2e

package e2e_test

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os/exec"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// A handChange is something that a person changes on a node.
type handChange struct {
	ref    string // of the resource
	change string // a script
	state  string // a script that prints what the resource manages
	within string // what drifts, if the resource generated it
}

func handChanges() []handChange {
	return []handChange{
		{"File/hand-content", "echo changed > /etc/hand-content", "cat /etc/hand-content", ""},
		{"File/hand-mode", "chmod 600 /etc/hand-mode", "stat --format %a /etc/hand-mode", ""},
		{"User/hand", "usermod --shell /bin/sh hand", "getent passwd hand", ""},
		{"Package/e2e-hand", "dpkg --purge e2e-hand", "dpkg-query --show --showformat '${db:Status-Status}' e2e-hand 2>/dev/null || true", ""},
		{"SystemService/hand", "systemctl stop hand", "systemctl is-active hand || true", ""},
		{"SystemService/hand-masked", "systemctl unmask hand-masked", "systemctl is-enabled hand-masked || true", ""},
		{"File/hand-directory", "touch /srv/hand-directory/extra", "ls /srv/hand-directory", "File//srv/hand-directory/extra"},
	}
}

// handResources are the manifests of what the changes concern, on the node.
func handResources() string {
	var all []string
	add := func(kind, name, spec string) {
		all = append(all, fmt.Sprintf("{apiVersion: fettle.dev/v1alpha1, kind: %s, metadata: {name: %s}, spec: {nodeSelector: {matchLabels: {kubernetes.io/hostname: %s}}, %s}}\n", kind, name, node, spec))
	}
	add("File", "hand-content", `path: /etc/hand-content, content: "desired\n", deletionPolicy: Delete`)
	add("File", "hand-mode", `path: /etc/hand-mode, content: "", mode: "0644", deletionPolicy: Delete`)
	add("User", "hand", `shell: /bin/bash, deletionPolicy: Delete`)
	add("SystemService", "hand", `ensure: running`)
	add("SystemService", "hand-masked", `mask: true`)
	add("File", "hand-directory", `path: /srv/hand-directory, ensure: directory, recurse: true, purge: true, deletionPolicy: Delete`)
	return strings.Join(append(all, fromFile("e2e-hand", "1")+"\n"), "---\n")
}

// handUnits creates the units of the services.
func handUnits(ctx context.Context) {
	GinkgoHelper()
	const units = "/usr/local/lib/systemd/system"
	on(ctx, node, fmt.Sprintf(`mkdir -p %[1]s; for unit in hand hand-masked; do printf '[Service]\nExecStart=/bin/sleep infinity\n' > %[1]s/$unit.service; done; systemctl daemon-reload`, units))
	DeferCleanup(func(ctx SpecContext) {
		on(ctx, node, "systemctl stop hand; systemctl unmask hand-masked; rm "+units+"/hand.service "+units+"/hand-masked.service; systemctl daemon-reload")
	}, NodeTimeout(soon))
}

// A driftRow is a row of kubectl fettle drift.
type driftRow struct {
	Resource    string
	Count       int
	Uncorrected int
	Author      *struct{ Executable string }
}

// drifts returns the rows of drift, by resource.
func drifts(ctx context.Context, program string) map[string]driftRow {
	GinkgoHelper()
	out, err := withKubeconfig(ctx, program, "drift", "--by", "both", "-o", "json").Output()
	Expect(err).NotTo(HaveOccurred())
	var rows []driftRow
	Expect(json.Unmarshal(out, &rows)).To(Succeed())
	byRef := map[string]driftRow{}
	for _, row := range rows {
		row.Uncorrected += byRef[row.Resource].Uncorrected // on another node
		byRef[row.Resource] = row
	}
	return byRef
}

// serve starts a command until the end of the spec, and returns the first submatch of an expression in its output.
func serve(ctx context.Context, cmd *exec.Cmd, line string) string {
	GinkgoHelper()
	out, err := cmd.StdoutPipe()
	Expect(err).NotTo(HaveOccurred())
	Expect(cmd.Start()).To(Succeed())
	DeferCleanup(func() {
		_ = cmd.Cancel()
		_ = cmd.Wait()
	})
	wanted := regexp.MustCompile(line)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if found := wanted.FindStringSubmatch(lines.Text()); found != nil {
			return found[1]
		}
	}
	Fail("it does not print " + line)
	return ""
}

// get returns the body of a page.
func get(ctx context.Context, client *http.Client, url, token string) string {
	GinkgoHelper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	Expect(err).NotTo(HaveOccurred())
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	Expect(err).NotTo(HaveOccurred())
	Expect(response.StatusCode).To(Equal(http.StatusOK), string(body))
	return string(body)
}

// driftEvents returns the events of drift, one a line: the reason, the object and the note.
func driftEvents(ctx context.Context) string {
	GinkgoHelper()
	return kubectl(ctx, "get", "events.events.k8s.io", "--all-namespaces", "-o", `jsonpath={range .items[*]}{.reason} {.regarding.kind}/{.regarding.name} {.note}{"\n"}{end}`)
}

var _ = Describe("What is changed by hand", Label("drift", "byhand"), func() {
	It("is corrected or, with noop, reported, and shows in drift, events, metrics and on the page", func(ctx SpecContext) {
		program := buildProgram(ctx, "kubectl-fettle")
		deb(ctx, "e2e-hand", "1", "true")
		handUnits(ctx)
		apply(ctx, handResources())
		changes := handChanges()
		var refs, drifting, themselves []string
		for _, h := range changes {
			refs, drifting = append(refs, h.ref), append(drifting, cmp.Or(h.within, h.ref))
			if h.within == "" {
				themselves = append(themselves, h.ref)
			}
		}
		ready(ctx, refs...)
		desired := map[string]string{}
		for _, h := range changes {
			desired[h.ref] = on(ctx, node, h.state)
		}
		metrics := managerMetrics(ctx)
		page, address := openPage(ctx, program)

		By("correcting it")
		for _, h := range changes {
			on(ctx, node, h.change)
		}
		for _, h := range changes {
			Eventually(func() string { return on(ctx, node, h.state) }).WithContext(ctx).Should(Equal(desired[h.ref]), h.ref)
		}
		shows(ctx, program, drifting, 0)
		Eventually(func() string { return driftEvents(ctx) }).WithContext(ctx).Should(And(mention(drifting, "DriftCorrected NodeCatalog/"+node+" %s"), mention(themselves, "DriftCorrected %s")))
		Expect(driftEvents(ctx)).To(ContainSubstring("; author: "))
		Eventually(func(g Gomega) { // other specs may have left some
			g.Expect(metrics()).To(ContainSubstring(fmt.Sprintf("\nfettle_fleet_drifted_resources %d\n", len(drifts(ctx, program)))))
		}).WithContext(ctx).Should(Succeed())
		Eventually(func() string { return get(ctx, page, address+"nodes/"+node, "") }).WithContext(ctx).Should(mention(drifting, ">%s</a>"))

		By("only reporting it")
		kubectl(ctx, append([]string{"patch", "--type=merge", `--patch={"spec":{"noop":true}}`}, refs...)...)
		ready(ctx, refs...)
		Eventually(func(g Gomega) { // the node has what the resources say
			generations := strings.Fields(kubectl(ctx, "get", "nodecatalog", node, "-o", "jsonpath={.status.appliedGeneration} {.metadata.generation}"))
			g.Expect(generations).To(HaveLen(2))
			g.Expect(generations[0]).To(Equal(generations[1]))
		}).WithContext(ctx).Should(Succeed())
		changed := map[string]string{}
		for _, h := range changes {
			on(ctx, node, h.change)
			changed[h.ref] = on(ctx, node, h.state)
			Expect(changed[h.ref]).NotTo(Equal(desired[h.ref]), h.ref)
		}
		shows(ctx, program, drifting, 1)
		Eventually(func() string { return driftEvents(ctx) }).WithContext(ctx).Should(And(mention(drifting, "DriftDetected NodeCatalog/"+node+" %s"), mention(themselves, "DriftDetected %s")))
		Eventually(func(g Gomega) {
			uncorrected := 0
			for _, row := range drifts(ctx, program) {
				uncorrected += row.Uncorrected
			}
			g.Expect(metrics()).To(ContainSubstring(fmt.Sprintf("\nfettle_fleet_uncorrected_drift %d\n", uncorrected)))
		}).WithContext(ctx).Should(Succeed())
		Eventually(func() int {
			return strings.Count(get(ctx, page, address+"drift?corrected=no&by=both", ""), `/nodes/`+node+`">`)
		}).WithContext(ctx).Should(Equal(len(refs)))
		for _, h := range changes {
			Expect(on(ctx, node, h.state)).To(Equal(changed[h.ref]), h.ref)
		}
	}, NodeTimeout(10*soon))
})

// mention matches a text that has a format with each of the references.
func mention(refs []string, format string) OmegaMatcher {
	var all []OmegaMatcher
	for _, ref := range refs {
		all = append(all, ContainSubstring(format, ref))
	}
	return And(all...)
}

// shows waits until kubectl fettle drift has all references, with an author or without, and this number of them on a node is
// not corrected.
func shows(ctx context.Context, program string, refs []string, uncorrected int) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		rows := drifts(ctx, program)
		known := 0
		for _, ref := range refs {
			g.Expect(rows).To(HaveKey(ref))
			g.Expect(rows[ref].Uncorrected).To(Equal(uncorrected), ref)
			g.Expect(rows[ref].Count).To(BeNumerically(">", 0), ref)
			if rows[ref].Author != nil {
				known++
				g.Expect(rows[ref].Author.Executable).NotTo(BeEmpty(), ref)
			}
		}
		AddReportEntry("authors known", fmt.Sprintf("%d of %d", known, len(refs)))
	}).WithContext(ctx).Should(Succeed())
}

// managerMetrics returns a function that returns the metrics of the manager that leads.
func managerMetrics(ctx context.Context) func() string {
	GinkgoHelper()
	apply(ctx, `{apiVersion: v1, kind: ServiceAccount, metadata: {name: e2e-metrics, namespace: default}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: e2e-metrics}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: fettle-metrics-reader}
subjects: [{kind: ServiceAccount, name: e2e-metrics, namespace: default}]
`)
	// The certificate is the manager's own.
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	token := strings.TrimSpace(kubectl(ctx, "-n", "default", "create", "token", "e2e-metrics"))
	leader, _, _ := strings.Cut(kubectl(ctx, "-n", "fettle-system", "get", "lease", "fettle-manager", "-o", "jsonpath={.spec.holderIdentity}"), "_")
	forward := withKubeconfig(ctx, c.Programs().Path("kubectl"), "-n", "fettle-system", "port-forward", "pod/"+leader, ":8443")
	port := serve(ctx, forward, `^Forwarding from 127\.0\.0\.1:(\d+)`)
	return func() string { return get(ctx, client, "https://127.0.0.1:"+port+"/metrics", token) }
}

// openPage serves the page about the fleet, and returns a client that it lets in, and its address.
func openPage(ctx context.Context, program string) (*http.Client, string) {
	GinkgoHelper()
	jar, err := cookiejar.New(nil)
	Expect(err).NotTo(HaveOccurred())
	client := &http.Client{Jar: jar}
	address := serve(ctx, withKubeconfig(ctx, program, "ui"), `^Open (\S+)`)
	get(ctx, client, address, "")
	before, _, _ := strings.Cut(address, "?")
	return client, before
}
