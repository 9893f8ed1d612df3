package glance

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/overview"
)

// CountAlike fails unless the Fleet, the command line and the page count the same nodes and resources in each state, and each resource
// as many nodes as it selects.
func (f *Fleet) CountAlike(ctx context.Context) {
	f.Helper()
	var fleet v1alpha1.Fleet
	f.must(f.admin.Get(ctx, client.ObjectKey{Name: v1alpha1.FleetName}, &fleet))
	out, err := f.Command(ctx, "kubectl fettle status -o json").Output()
	f.must(err)
	var status overview.Status
	f.must(json.Unmarshal(out, &status))
	if diff := cmp.Diff(fleet.Status.Nodes, status.Nodes); diff != "" {
		f.Errorf("kubectl fettle status counts other nodes than the Fleet (-Fleet +status):\n%s", diff)
	}
	n, r := status.Nodes, status.Resources
	shown := f.firstPage(ctx)
	if diff := cmp.Diff(present(map[string]int64{
		"Total": int64(n.Total), "In sync": int64(n.InSync), "Held": int64(n.Held), "Failed": int64(n.Failed), "Withheld": int64(n.Withheld), "Silent": int64(n.Silent),
		"Disabled": int64(n.Disabled), "Out of sync": int64(n.OutOfSync), "Pending": int64(n.Pending),
	}), figures(shown, "Nodes", "Resources on nodes")); diff != "" {
		f.Errorf("the page counts other nodes than kubectl fettle status (-status +page):\n%s", diff)
	}
	if diff := cmp.Diff(present(map[string]int64{
		"Total": r.Total, "In sync": r.InSync, "Failed": r.Failed, "Withheld": r.Withheld, "Skipped": r.Skipped, "Unknown": r.Unknown, "Disabled": r.Disabled, "Noop": r.Noop,
	}), figures(shown, "Resources on nodes", "Problems")); diff != "" {
		f.Errorf("the page counts other resources than kubectl fettle status (-status +page):\n%s", diff)
	}
	f.sumsAre(ctx, r.Total)
}

// sumsAre checks that the states of each resource sum up to the nodes that it selects, and all of them to a total.
func (f *Fleet) sumsAre(ctx context.Context, total int64) {
	f.Helper()
	sum := int64(0)
	for _, r := range f.resources {
		f.must(f.admin.Get(ctx, client.ObjectKeyFromObject(r), r))
		n := r.GetStatus().Nodes
		if states := n.InSync + n.Failed + n.Noop + n.Skipped + n.Pending + n.Disabled + n.Unknown; states != n.Selected {
			f.Errorf("%s selects %d nodes, and has %d in its states", v1alpha1.RefOf(r), n.Selected, states)
		}
		sum += int64(n.Selected)
	}
	if lost := int64(relabelled); sum+lost != total { // held nodes still have what they would lose
		f.Errorf("the resources select %d nodes and %d have one still, but there are %d resources on nodes", sum, lost, total)
	}
}

// present leaves out zeros, as the page does.
func present(all map[string]int64) map[string]int64 {
	for name, n := range all {
		if n == 0 && name != "Total" && name != "In sync" {
			delete(all, name)
		}
	}
	return all
}

// firstPage returns the first page of kubectl fettle ui, once it has read everything.
func (f *Fleet) firstPage(ctx context.Context) string {
	f.Helper()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := f.Command(ctx, "exec kubectl fettle ui")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	out, err := cmd.StdoutPipe()
	f.must(err)
	f.must(cmd.Start())
	defer end(cmd, cancel)
	line, err := bufio.NewReader(out).ReadString('\n')
	f.must(err)
	address := strings.TrimSpace(strings.TrimPrefix(line, "Open "))
	var shown string
	f.until(ctx, "the page shows the fleet", func() (string, bool) {
		response, err := http.Get(address) //nolint:noctx // it answers at once
		f.must(err)
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(response.Body)
		f.must(err)
		shown = string(body)
		return shown, strings.Contains(shown, ">Resources on nodes</h2>") && !strings.Contains(shown, "There is no history yet")
	})
	return shown
}

// end ends a command that has answered, so its exit code does not matter.
func end(cmd *exec.Cmd, cancel func()) {
	cancel()
	_ = cmd.Wait()
}

var figure = regexp.MustCompile(`<dt>(?:<a [^>]*>)?([^<]*)(?:</a>)?</dt><dd>([^<]*)</dd>`)

// figures are the numbers on a page between two headings.
func figures(shown, from, to string) map[string]int64 {
	_, part, _ := strings.Cut(shown, ">"+from+"</h2>")
	part, _, _ = strings.Cut(part, ">"+to+"</h2>")
	all := map[string]int64{}
	for _, m := range figure.FindAllStringSubmatch(part, -1) {
		all[m[1]], _ = strconv.ParseInt(strings.ReplaceAll(m[2], ",", ""), 10, 64) // what is no number differs as 0
	}
	return all
}
