package fleet

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	reports "github.com/fettle-dev/fettle/api/reports/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/cli/overview"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/text"
)

// print prints a plan for people.
func (c *planCommand) print(p *overview.Plan) {
	if c.output.Is(flags.Markdown) {
		c.printMarkdown(p)
		return
	}
	if rows := planRows(p); len(rows) > 1 {
		c.out.Table(rows)
		c.out.Print("")
	}
	for _, g := range p.Groups {
		for _, d := range diffsOf(g) {
			c.out.Print("%s on %s:", d.ref, someNodes(g.Nodes))
			c.out.Diff(d.diff)
			c.out.Print("")
		}
	}
	for _, problem := range p.Problems {
		c.out.PrintIn(output.Red, "%s", problemLine(problem))
	}
	if p.OmittedProblems > 0 {
		c.out.PrintIn(output.Red, "and %d more problems", p.OmittedProblems)
	}
	c.out.Print("%s", planSummary(p))
	if line := stagesLine(p); line != "" {
		c.out.Print("%s", line)
	}
}

// planSummary is the last line of a plan.
func planSummary(p *overview.Plan) string {
	n := p.Nodes
	if n.Affected == 0 {
		return fmt.Sprintf("no change for %s", text.Count(n.Total, "node")) + countedIf(len(p.Problems)+int(p.OmittedProblems), "withheld")
	}
	line := fmt.Sprintf("%d of %s: %d answered, of which %d would change", n.Affected, text.Count(n.Total, "node"), n.Answered, n.Changing)
	return line + countedIf(n.Failing, "would fail") + countedIf(n.Withheld, "would not get a resource") + countedIf(n.Unknown, "partly unknown") +
		fmt.Sprintf("; %d without an answer, %d not asked", n.NoAnswer, n.NotAsked) +
		countedIf(n.Waiting, text.Plural(n.Waiting, "waits", "wait")+" for a rollout") + countedIf(n.Held, "held") + countedIf(n.Disabled, "disabled") + countedIf(n.Silent, "silent")
}

func problemLine(p reports.PlanProblem) string {
	where := "on all nodes"
	if p.Nodes > 0 {
		where = "on " + text.Count(int(p.Nodes), "node")
	}
	if p.Stays {
		where += ", as now"
	}
	return fmt.Sprintf("%s %s: %s: %s", p.Ref, where, p.Reason, p.Message)
}

// planRows are the rows of a table: for each group its resources, with what happens to them in the catalog and on the host.
func planRows(p *overview.Plan) [][]string {
	rows := [][]string{{"NODES", "EXAMPLE", "RESOURCE", "CATALOG", "HOST"}}
	for _, g := range p.Groups {
		count, example := strconv.Itoa(len(g.Nodes)), g.Nodes[0]
		effects, listed := map[string]string{}, map[string]bool{}
		if g.Report != nil {
			for _, res := range g.Report.Resources {
				effects[res.Ref.String()] = effectOf(res)
			}
		}
		for _, c := range g.Changes {
			rows = append(rows, []string{count, example, string(c.Ref), actionOf(c), hostOf(g, effects[string(c.Ref)])})
			listed[string(c.Ref)] = true
		}
		if g.OmittedChanges > 0 {
			rows = append(rows, []string{count, example, fmt.Sprintf("and %d more", g.OmittedChanges), "", ""})
		}
		if g.Report == nil {
			continue
		}
		for _, res := range g.Report.Resources {
			if ref := res.Ref.String(); !listed[ref] {
				rows = append(rows, []string{count, example, ref, "", effects[ref]})
			}
		}
		if g.Generated > 0 {
			rows = append(rows, []string{count, example, fmt.Sprintf("%d generated", g.Generated), "", "would change or fail"})
		}
	}
	return rows
}

func actionOf(c reports.PlanChange) string {
	action := strings.ToLower(string(c.Action))
	if c.Noop {
		action += " (noop)"
	}
	if c.Reason != "" {
		action += ": " + c.Reason
	}
	return action
}

// hostOf is what happens to a changed resource on the hosts of a group.
func hostOf(g overview.PlanGroup, effect string) string {
	switch {
	case g.Answer == reports.AnswerNotAsked, g.Answer == reports.AnswerWaiting:
		return strings.TrimSuffix("not asked: "+g.Message, ": ")
	case g.Report == nil:
		return "unknown: " + g.Message
	case effect == "":
		return "no change"
	}
	return effect
}

// effectOf is what happens to a resource on a host.
func effectOf(res report.ResourceReport) string {
	switch {
	case overview.IsUnchecked(res):
		return "unknown: " + res.Message
	case res.State == report.Skipped:
		return "skipped: " + strings.TrimPrefix(res.Message, "skipped: ")
	case res.State == report.Failed:
		return strings.TrimSuffix("fails: "+res.Message, ": ")
	case res.State == report.InSync && res.Unknown != "":
		return "unknown: " + res.Unknown
	case res.State == report.InSync:
		return cmp.Or(res.Message, "no longer different")
	}
	return changesOf(res)
}

// changesOf are the changes of a resource that is out of sync.
func changesOf(res report.ResourceReport) string {
	var parts []string
	for _, e := range res.Events {
		parts = append(parts, e.Message)
	}
	if len(parts) == 0 || strings.HasPrefix(res.Message, reports.NotCompared) {
		parts = append(parts, res.Message)
	}
	effect := strings.Join(parts, ", ")
	if res.Unknown != "" {
		effect += " (unknown: " + res.Unknown + ")"
	}
	return effect
}

// A resourceDiff is a diff of a resource.
type resourceDiff struct{ ref, diff string }

func diffsOf(g overview.PlanGroup) (all []resourceDiff) {
	if g.Report == nil {
		return nil
	}
	for _, res := range g.Report.Resources {
		for _, e := range res.Events {
			if e.Diff != "" {
				all = append(all, resourceDiff{res.Ref.String(), e.Diff})
			}
		}
	}
	return all
}

// maxNodes is the number of nodes that a line names.
const maxNodes = 3

// someNodes names the first nodes, and counts the others.
func someNodes(nodes []string) string {
	if len(nodes) <= maxNodes {
		return strings.Join(nodes, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(nodes[:maxNodes], ", "), len(nodes)-maxNodes)
}
