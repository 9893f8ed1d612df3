package fleet

import (
	"strings"

	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/cli/overview"
	"github.com/fettle-dev/fettle/internal/text"
)

// printMarkdown prints a plan for a pull request. Texts of hosts and authors are code, so that none becomes a link, a mention or HTML.
func (c *planCommand) printMarkdown(p *overview.Plan) {
	c.out.Print("### Plan: %s", planSummary(p))
	if rows := planRows(p); len(rows) > 1 {
		c.out.Print("")
		c.out.Print("| Nodes | Example | Resource | Catalog | Host |")
		c.out.Print("|--:|---|---|---|---|")
		for _, row := range rows[1:] {
			cells := []string{row[0]}
			for _, cell := range row[1:] {
				cells = append(cells, code(cell))
			}
			c.out.Print("%s", "| "+strings.Join(cells, " | ")+" |")
		}
	}
	for _, g := range p.Groups {
		for _, d := range diffsOf(g) {
			diff := text.Block(strings.TrimRight(d.diff, "\n"))
			fence := strings.Repeat("`", max(3, ticks(diff)+1))
			c.out.Print("")
			c.out.Print("%s on %s:", code(d.ref), code(someNodes(g.Nodes)))
			c.out.Print("")
			c.out.Print("%s", output.Block(fence+"diff\n"+diff+"\n"+fence))
		}
	}
	if line := stagesLine(p); line != "" {
		c.out.Print("")
		c.out.Print("%s", code(line))
	}
	if len(p.Problems) > 0 {
		c.out.Print("")
	}
	for _, problem := range p.Problems {
		c.out.Print("- %s", code(problemLine(problem)))
	}
	if p.OmittedProblems > 0 {
		c.out.Print("- and %d more problems", p.OmittedProblems)
	}
}

// code is a text as code in a cell of a table; "" is empty.
func code(s string) string {
	s = strings.ReplaceAll(text.Line(s), "|", `\|`)
	if s == "" {
		return ""
	}
	fence := strings.Repeat("`", ticks(s)+1)
	if len(fence) > 1 {
		return fence + " " + s + " " + fence
	}
	return fence + s + fence
}

// ticks is the length of the longest run of backticks.
func ticks(s string) int {
	longest, run := 0, 0
	for _, c := range s {
		run++
		if c != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}
