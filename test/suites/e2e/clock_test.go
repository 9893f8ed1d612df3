//go:build e2e

package e2e_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// The kernel has one wall clock for all machines: a time namespace shifts only monotonic clocks. So this agent has a wall clock
// of its own: its package time adds seconds to what time.Now reads. Monotonic readings stay, as when somebody sets the clock.
// Programs that the agent runs, and the times of files, have the machine's clock.
const (
	clockFile   = "/run/e2e-clock" // on the host: the seconds to add; the agent has read them once it wrote them to clockFile.read
	clockImage  = "localhost/fettle-nodeagent:e2e-clock"
	clockRead   = "\tsec, nsec, mono := runtimeNow()\n"
	clockShift  = clockRead + "\tsec += Shift.Load()\n"
	clockPoller = `package main

import (
	"os"
	"strconv"
	"strings"
	"time"
)

func init() {
	shift := func() {
		const file = "/proc/1/root` + clockFile + `"
		text, _ := os.ReadFile(file) // without it there is nothing to add
		seconds, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if time.Shift.Swap(seconds) != seconds {
			_ = os.WriteFile(file+".read", text, 0o600)
		}
	}
	shift()
	go func() {
		for {
			time.Sleep(200 * time.Millisecond)
			shift()
		}
	}()
}
`
)

// clockOverlay returns a file for go build -overlay. It is in the cache, under the same path for the same content, so that Go
// builds everything only once.
func clockOverlay(ctx context.Context) string {
	GinkgoHelper()
	original := filepath.Join(strings.TrimSpace(run(ctx, "go", "env", "GOROOT")), "src/time/time.go")
	text, err := os.ReadFile(original)
	Expect(err).NotTo(HaveOccurred())
	changed := string(text)
	for from, to := range map[string]string{clockRead: clockShift, "import (\n": "import (\n\t\"sync/atomic\"\n"} {
		Expect(strings.Count(changed, from)).To(Equal(1), "this version of Go reads the clock in another way: %q", from)
		changed = strings.Replace(changed, from, to, 1)
	}
	changed += "\n// Shift is what Now adds, in seconds.\nvar Shift atomic.Int64\n"

	cache, err := os.UserCacheDir()
	Expect(err).NotTo(HaveOccurred())
	dir := filepath.Join(cache, "fettle", "clock", fmt.Sprintf("%x", sha256.Sum256([]byte(changed+clockPoller)))[:16])
	Expect(os.MkdirAll(dir, 0o755)).To(Succeed())
	replace := map[string]string{}
	for path, content := range map[string]string{original: changed, filepath.Join(checkout, "cmd/nodeagent/e2e_clock.go"): clockPoller} {
		replace[path] = filepath.Join(dir, filepath.Base(path))
		Expect(os.WriteFile(replace[path], []byte(content), 0o644)).To(Succeed())
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(GinkgoT().TempDir(), "overlay.json")
	Expect(os.WriteFile(file, overlay, 0o600)).To(Succeed())
	return file
}

// loadClockImage loads an image of the agent whose clock setClock sets.
func loadClockImage(ctx context.Context) {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	run(ctx, "env", "CGO_ENABLED=0", "go", "build", "-trimpath", "-ldflags=-s -w", "-overlay", clockOverlay(ctx), "-o", dir+"/nodeagent", "./cmd/nodeagent")
	run(ctx, "env", "CGO_ENABLED=0", "go", "build", "-trimpath", "-ldflags=-s -w", "-o", dir+"/fettle", "./cmd/fettle")
	run(ctx, "make", "bin/image")
	run(ctx, "bin/image", "-name", clockImage, "-entrypoint", "/nodeagent", "-user", "0:0", "-out", dir+"/agent.tar", dir+"/nodeagent", dir+"/fettle")
	Expect(c.LoadImage(ctx, dir+"/agent.tar")).To(Succeed())
}

// replaceAgent replaces the agent of one node until the end of the spec. It has a run every five seconds.
func replaceAgent(ctx context.Context, name, image string) {
	GinkgoHelper()
	DeferCleanup(func(ctx SpecContext) { restoreInstallation(ctx) }, NodeTimeout(4*soon))
	const daemonSet = "daemonset/fettle-nodeagent"
	kubectl(ctx, "-n", "fettle-nodes", "patch", daemonSet, "--type=json", `--patch=[
		{"op": "replace", "path": "/spec/updateStrategy", "value": {"type": "OnDelete"}},
		{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "`+image+`"},
		{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--interval=5s"}]`)
	kubectl(ctx, "-n", "fettle-nodes", "wait", daemonSet, "--timeout=1m",
		"--for=jsonpath={.status.observedGeneration}="+kubectl(ctx, "-n", "fettle-nodes", "get", daemonSet, "-o", "jsonpath={.metadata.generation}"))
	restartAgent(ctx, name)
}

// setClock sets the clock of the agent on a node, relative to the machine's.
func setClock(ctx context.Context, name string, shift time.Duration) {
	GinkgoHelper()
	seconds := fmt.Sprintln(int64(shift.Seconds()))
	on(ctx, name, fmt.Sprintf("echo %s > %s.new && mv %s.new %s", strings.TrimSpace(seconds), clockFile, clockFile, clockFile))
	Eventually(func() string { return on(ctx, name, "cat "+clockFile+".read || true") }).WithContext(ctx).Should(Equal(seconds))
}

// clocked returns the resources of the spec: Files that change and that don't, one that drifts in each step, and commands that
// run when notified, once in all, once an hour, and when a run at the interval finds it necessary: they are not watched.
func clocked(steps int) string {
	all := clockedOnce
	for step := range steps {
		all += file(fmt.Sprintf("e2e-clock-%d", step), fmt.Sprintf("/etc/e2e-clock-%d", step), "still\n") + "---\n"
	}
	return strings.NewReplacer("NODE", onNode, "nodeSelector: {}", onNode).Replace(all)
}

const onNode = "nodeSelector: {matchLabels: {kubernetes.io/hostname: " + node + "}}"

const clockedOnce = `
apiVersion: fettle.dev/v1alpha1
kind: File
metadata: {name: e2e-clock}
spec: {NODE, path: /etc/e2e-clock, content: "0\n", notify: [Exec/e2e-clock-notified]}
---
apiVersion: fettle.dev/v1alpha1
kind: File
metadata: {name: e2e-clock-still}
spec: {NODE, path: /etc/e2e-clock-still, content: "still\n"}
---
apiVersion: fettle.dev/v1alpha1
kind: Exec
metadata: {name: e2e-clock-notified}
spec: {NODE, shell: true, command: echo ran >> /var/e2e-clock-notified, refreshOnly: true}
---
apiVersion: fettle.dev/v1alpha1
kind: Exec
metadata: {name: e2e-clock-created}
spec: {NODE, shell: true, command: echo ran >> /var/e2e-clock-created, creates: [/var/e2e-clock-created]}
---
apiVersion: fettle.dev/v1alpha1
kind: Exec
metadata: {name: e2e-clock-hourly}
spec: {NODE, shell: true, command: echo ran >> /var/e2e-clock-hourly, schedule: {period: hourly}}
---
apiVersion: fettle.dev/v1alpha1
kind: Exec
metadata: {name: e2e-clock-interval}
spec: {NODE, shell: true, command: touch /var/e2e-clock-interval, unless: [test -e /var/e2e-clock-interval]}
---
`

// long keeps the agent busy while its clock is set.
const long = `{apiVersion: fettle.dev/v1alpha1, kind: Exec, metadata: {name: e2e-clock-long}, spec: {NODE, shell: true,
	command: "echo ran >> /var/e2e-clock-long; until [ -e /var/e2e-clock-go ]; do sleep 0.2; done", creates: [/var/e2e-clock-long]}}`

var _ = Describe("The clock of a node", Label("clock"), func() {
	It("is set back and forward, and nothing stops, is repeated or counts as silent", func(ctx SpecContext) {
		const jump, steps = 2 * time.Hour, 8
		loadClockImage(ctx)
		DeferCleanup(func(ctx SpecContext) { on(ctx, node, "touch /var/e2e-clock-go; rm -f /var/e2e-clock-* "+clockFile+"*") }, NodeTimeout(soon))
		replaceAgent(ctx, node, clockImage)
		apply(ctx, clocked(steps))
		ready(ctx, "file/e2e-clock", "file/e2e-clock-still", "exec/e2e-clock-created", "exec/e2e-clock-hourly", "exec/e2e-clock-interval")
		before := steady(ctx)
		Expect(before).To(HavePrefix("True"))
		step, triggers := 0, map[string]int{}
		follows := func() {
			GinkgoHelper()
			triggers[correct(ctx, step)]++
			Expect(steady(ctx)).To(Equal(before))
			step++
			change(ctx, step)
		}
		isSet := func(shift time.Duration) {
			GinkgoHelper()
			setClock(ctx, node, shift)
			on(ctx, node, "rm /var/e2e-clock-interval")
			Eventually(func() string { return on(ctx, node, "ls /var") }).WithTimeout(soon).WithContext(ctx).Should(ContainSubstring("e2e-clock-interval"))
			follows()
		}

		By("setting it back")
		isSet(-jump)
		expectLease(ctx, -jump)

		By("starting other managers and another agent meanwhile")
		kubectl(ctx, "-n", "fettle-system", "delete", "pods", "-l", "app.kubernetes.io/component=manager")
		killAgent(ctx, node, syscall.SIGKILL)
		elsewhere := strings.ReplaceAll(file("e2e-clock-elsewhere", "/etc/e2e-clock-elsewhere", "x"), "nodeSelector: {}", strings.ReplaceAll(onNode, node, "node-2"))
		apply(ctx, elsewhere)
		ready(ctx, "file/e2e-clock-elsewhere") // by a new manager, which knows all Leases
		follows()

		By("setting it right, and forward")
		isSet(0)
		apply(ctx, strings.ReplaceAll(long, "NODE", onNode))
		Eventually(func() string { return on(ctx, node, "ls /var") }).WithContext(ctx).Should(ContainSubstring("e2e-clock-long"))
		setClock(ctx, node, jump)
		kubectl(ctx, "-n", "fettle-nodes", "exec", agentOn(ctx, node), "--", "/nodeagent", "probe", "live")
		on(ctx, node, "touch /var/e2e-clock-go")
		isSet(jump)
		killAgent(ctx, node, syscall.SIGKILL)
		follows()
		expectLease(ctx, jump)

		By("setting it right again")
		isSet(0)
		Expect(steady(ctx)).To(Equal(before), "it was ready all the time")
		Expect(triggers["Drift"]).To(BeNumerically(">=", step/2), "runs at the interval may be quicker: %v", triggers)
		Expect(ran(ctx, "created")).To(Equal(1))
		Expect(ran(ctx, "notified")).To(Equal(1+step), "at first, and after each change")
		Expect(ran(ctx, "long")).To(Equal(1))
		Expect(ran(ctx, "hourly")).To(Equal(5), "at first, and after each time that the clock was set")
	}, NodeTimeout(8*soon))
})

// ran returns how often a command ran.
func ran(ctx context.Context, name string) int {
	GinkgoHelper()
	return strings.Count(on(ctx, node, "cat /var/e2e-clock-"+name), "ran\n")
}

// steady returns whether the File that nothing changes is ready, and since when. A silent node would have changed that.
func steady(ctx context.Context) string {
	GinkgoHelper()
	return kubectl(ctx, "get", "file", "e2e-clock-still", "-o", `jsonpath={range .status.conditions[?(@.type=="Ready")]}{.status} since {.lastTransitionTime}{end}`)
}

// correct causes drift and returns the trigger of the run that corrected it. Each step has its own File, as drift of the same
// path is corrected ever later.
func correct(ctx context.Context, step int) (trigger string) {
	GinkgoHelper()
	last := func() string {
		return kubectl(ctx, "get", "nodecatalog", node, "-o", "jsonpath={.status.lastRun.trigger} {.status.lastRun.ended}") // several may start in the same second
	}
	before := last()
	drift(ctx, node, fmt.Sprintf("/etc/e2e-clock-%d", step), "still\n")
	Eventually(last).WithContext(ctx).ShouldNot(Equal(before))
	trigger, _, _ = strings.Cut(last(), " ")
	return trigger
}

// change changes the content of a File to a number, and waits for it and for the command that the File notifies.
func change(ctx context.Context, number int) {
	GinkgoHelper()
	content := fmt.Sprintln(number)
	kubectl(ctx, "patch", "file", "e2e-clock", "--type=merge", fmt.Sprintf(`--patch={"spec":{"content":%q}}`, content))
	Eventually(func() string { return on(ctx, node, "cat /etc/e2e-clock") }).WithContext(ctx).Should(Equal(content))
	Eventually(func() int { return ran(ctx, "notified") }).WithContext(ctx).Should(Equal(1 + number))
	ready(ctx, "file/e2e-clock")
}

// expectLease waits until the agent has renewed its Lease, which says the agent's time.
func expectLease(ctx context.Context, shift time.Duration) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		renewed, err := time.Parse(time.RFC3339Nano, kubectl(ctx, "-n", "fettle-nodes", "get", "lease", node, "-o", "jsonpath={.spec.renewTime}"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(renewed).To(BeTemporally("~", time.Now().Add(shift), time.Hour))
	}).WithContext(ctx).Should(Succeed())
}
