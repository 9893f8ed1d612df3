package glance

import (
	"context"
	"fmt"
	"regexp"
	"strings"
)

// Commands are what the user types, in this order.
func Commands() []string {
	return []string{
		"kubectl fettle status",
		"kubectl fettle drift",
		"kubectl fettle drift --by node --top 2",
		"kubectl fettle drift --since 1h --by both User/deploy SystemService/site",
		"kubectl fettle diff web-3",
		"kubectl fettle diff User/deploy",
		"kubectl fettle why User/deploy",
		"kubectl fettle why File/site --node web-1",
		"kubectl fettle why File/ntp --node " + failing,
		"kubectl fettle plan -f ntp.yaml",
	}
}

// Transcript runs the commands, and returns them with their output. Ages and durations are the same each time.
func (f *Fleet) Transcript(ctx context.Context) string {
	f.Helper()
	var b strings.Builder
	for _, line := range Commands() {
		out, err := f.Command(ctx, line).CombinedOutput()
		if err != nil {
			f.Fatalf("%s: %v\n%s", line, err, out)
		}
		fmt.Fprintf(&b, "$ %s\n%s", line, Steady(string(out)))
	}
	return b.String()
}

// age is an age in a cell of a table, and took the duration of a run.
var (
	age  = regexp.MustCompile(`^\d+(s|m|m\d+s)$`)
	took = regexp.MustCompile(` in [0-9.]+m?s\b`)
)

// Steady returns output with one minute for each age in a table, and no durations of runs.
func Steady(output string) string {
	var all []string
	lines := strings.Split(output, "\n")
	for i := 0; i < len(lines); {
		end := i
		if isHeader(lines[i]) {
			for end < len(lines) && lines[end] != "" {
				end++
			}
			all, i = append(all, table(lines[i:end])...), end
			continue
		}
		all, i = append(all, took.ReplaceAllString(lines[i], " in 0.01s")), i+1
	}
	return strings.Join(all, "\n")
}

var header = regexp.MustCompile(`^[A-Z]+(  +[A-Z]+)+ *$`)

func isHeader(line string) bool { return header.MatchString(line) }

var word = regexp.MustCompile(`[A-Z]+ *`)

// table returns the rows of a table with steady ages, in columns as wide as they need to be.
func table(rows []string) []string {
	starts := word.FindAllStringIndex(rows[0], -1)
	cells, widths := make([][]string, len(rows)), make([]int, len(starts))
	for i, row := range rows {
		for j, at := range starts {
			end := len(row)
			if j+1 < len(starts) {
				end = min(len(row), starts[j+1][0])
			}
			cell := strings.TrimRight(row[min(at[0], len(row)):end], " ")
			if age.MatchString(cell) {
				cell = "1m"
			}
			cells[i] = append(cells[i], cell)
			widths[j] = max(widths[j], len(cell))
		}
	}
	all := make([]string, len(rows))
	for i, row := range cells {
		var b strings.Builder
		for j, cell := range row {
			fmt.Fprintf(&b, "%-*s  ", widths[j], cell)
		}
		all[i] = strings.TrimRight(b.String(), " ")
	}
	return all
}
