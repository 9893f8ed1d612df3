package glance

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// A Command is what the user types.
type Command struct {
	Line   string
	Target time.Duration // to answer
	Every  bool          // it asks every node
}

// Targets of commands.
const (
	Soon  = 2 * time.Second
	Later = 2 * time.Minute
)

// Commands are those of the transcript, in their order.
func Commands() []Command {
	all := []Command{}
	for _, line := range []string{
		"status",
		"drift",
		"drift --by node --top 2",
		"drift --since 1h --by both User/deploy SystemService/site",
		"diff web-3",
		"diff User/deploy",
		"why User/deploy",
		"why File/site --node web-3",
		"why File/ntp --node " + failing,
	} {
		all = append(all, Command{Line: "kubectl fettle " + line, Target: Soon})
	}
	return append(all, Command{Line: "kubectl fettle plan -f ntp.yaml", Target: Later, Every: true})
}

// Transcript runs the commands, and returns them with their output. Ages and durations are the same each time.
func (f *Fleet) Transcript(ctx context.Context) string {
	f.Helper()
	var b strings.Builder
	for _, c := range Commands() {
		out, err := f.Command(ctx, c.Line).CombinedOutput()
		if err != nil {
			f.Fatalf("%s: %v\n%s", c.Line, err, out)
		}
		fmt.Fprintf(&b, "$ %s\n%s", c.Line, Steady(string(out)))
	}
	return b.String()
}

// age and version are cells of a table, took the duration of a run, and token that of a hold.
var (
	age     = regexp.MustCompile(`^\d+(s|m|m\d+s)$`)
	version = regexp.MustCompile(`^v\d+\.\d+\.\d+\S*$`)
	took    = regexp.MustCompile(` in [0-9.]+m?s\b`)
	token   = regexp.MustCompile(`(confirm-deselection=)[0-9a-f]{8}\b`)
)

// Steady returns output with one minute for each age in a table, one version for each agent, one token, and no durations of runs.
func Steady(output string) string {
	output = token.ReplaceAllString(output, "${1}5ca1ab1e")
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

// The names of columns may be two words, as LAST RUN.
var (
	header = regexp.MustCompile(`^[A-Z]+( [A-Z]+)*(  +[A-Z]+( [A-Z]+)*)+ *$`)
	word   = regexp.MustCompile(`[A-Z]+( [A-Z]+)* *`)
)

func isHeader(line string) bool { return header.MatchString(line) }

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
			switch {
			case age.MatchString(cell):
				cell = "1m"
			case version.MatchString(cell):
				cell = "devel"
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
