package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/test/benchmarks/bench"
)

// A line compares a measurement of fettle with another one, of the floor unless it says so.
type line struct {
	what         string
	fettle, with string
	ratio        float64
}

func times(what string, fettle, with time.Duration) line {
	return line{what, bench.Milliseconds(fettle), bench.Milliseconds(with), bench.Ratio(fettle, with)}
}

func memory(what string, fettle, with int64) line {
	return line{what, bench.MB(fettle), bench.MB(with), bench.Ratio(fettle, with)}
}

// summary compares the measurements of one size with the floor.
func (t table) summary() []line {
	fettle, floor := t.inSync["fettle"].median(), t.inSync["floor"].median()
	first, firstFloor := t.first["fettle"].median(), t.first["floor"].median()
	all := []line{
		times("start (`fettle --version`)", t.start.Wall, floor.Wall),
		times("start, processor time", t.start.CPU, floor.CPU),
		times("in sync", fettle.Wall, floor.Wall),
		times("in sync, processor time", fettle.CPU, floor.CPU),
		memory("in sync, peak memory", fettle.PeakKB<<10, floor.PeakKB<<10),
		times("first run", first.Wall, firstFloor.Wall),
		memory("first run, peak memory", first.PeakKB<<10, firstFloor.PeakKB<<10),
		times("the agent's run, processor time", t.agent.perRun, floor.CPU),
		memory("the agent, peak memory", t.agent.peak, floor.PeakKB<<10),
	}
	if puppet := t.inSync["puppet"].median(); puppet.Wall > 0 {
		all = append(all, times("in sync, compared with puppet", fettle.Wall, puppet.Wall))
	}
	return all
}

// targets are upper bounds, as ratios or with a unit, by the number of files and the measurement.
func targets() map[int]map[string]string {
	return map[int]map[string]string{
		1000: {
			"start (`fettle --version`)": "0.5", "in sync": "3", "in sync, peak memory": "38 MB", "first run": "2",
			"the agent's run, processor time": "2.5",
		},
		10000: {"in sync": "2", "first run": "2.5"},
	}
}

func summarySection(b *strings.Builder, tables []table) {
	b.WriteString("\n### Summary\n\n| files | | fettle | floor | ratio | target |\n|--:|---|--:|--:|--:|--:|\n")
	for _, t := range tables {
		for _, l := range t.summary() {
			fmt.Fprintf(b, "| %d | %s | %s | %s | %.3g | %s |\n", t.files, l.what, l.fettle, l.with, l.ratio, targets()[t.files][l.what])
		}
	}
}
