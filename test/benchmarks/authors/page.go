package main

import (
	"fmt"
	"strings"
)

// A row has the counts of a command on a machine that is otherwise idle, and on a busy one.
type row struct {
	name         string
	idle, loaded counts
}

const intro = `## Authors of drift

This chapter measures how often the agent finds out [which process](drift.md#author) changed a file, if that process ends at once. A shell runs each
command %d times and waits for it, as an ssh session does. "Program" means that the path of the program is known, "name" that the process had
ended, and that little more than its name and its user is known. On the busy machine, each of its %d CPUs also runs an endless loop. A process that lives for more than a few milliseconds is always known. To
reproduce the chapter, run ` + "`make bench-authors`" + `.

| command | program | name | unknown | busy: program | name | unknown |
|---|--:|--:|--:|--:|--:|--:|
`

func page(all []row, runs, processors int) string {
	var b strings.Builder
	fmt.Fprintf(&b, intro, runs, processors)
	var sum row
	for _, r := range all {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.name, shares(r.idle), shares(r.loaded))
		sum.idle.add(r.idle)
		sum.loaded.add(r.loaded)
	}
	fmt.Fprintf(&b, "| all | %s | %s |\n", shares(sum.idle), shares(sum.loaded))
	return b.String()
}

func (c *counts) add(other counts) {
	c.program += other.program
	c.name += other.name
	c.unknown += other.unknown
}

func shares(c counts) string {
	total := float64(c.program+c.name+c.unknown) / 100
	return fmt.Sprintf("%.1f %% | %.1f %% | %.1f %%", float64(c.program)/total, float64(c.name)/total, float64(c.unknown)/total)
}
