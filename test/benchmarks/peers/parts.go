package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/test/benchmarks/bench"
)

// A part is the time of one stage of a run of fettle.
type part struct {
	what string
	took time.Duration
	peak int64 // in bytes; 0 for a stage that is no process of its own
}

// parts are the stages of a run in sync, as medians: to start is measured by a run that does nothing else, and what comes
// then is what the program's own report says. whole is the median of such runs.
func (l *lab) parts(ctx context.Context, runs int, whole time.Duration) (start sample, parts []part) {
	var starts samples
	var facts, compile, engine []time.Duration
	for range runs {
		starts = append(starts, l.sample(ctx, "start", []string{"/usr/local/bin/fettle", "--version"}))
		r, err := timesOf(l.run(ctx, "/usr/local/bin/fettle", "apply", "-f", inputDir+"/state.yaml", "-o", "json"))
		l.Must(err)
		facts, compile, engine = append(facts, r["factGeneration"]), append(compile, r["configRetrieval"]), append(engine, r["total"])
	}
	start = starts.median()
	parts = []part{
		{"start of the program (`fettle --version`)", start.Wall, start.PeakKB << 10},
		{"facts", bench.Median(facts), 0},
		{"compile: bind, relate, order", bench.Median(compile), 0},
		{"engine: read, decide, record", bench.Median(engine), 0},
	}
	for _, p := range parts {
		whole -= p.took
	}
	return start, append(parts, part{"other: read manifests, open the state, exit", whole, 0})
}

// timesOf are the times of a report, which has them in whole milliseconds.
func timesOf(report string) (map[string]time.Duration, error) {
	var r struct {
		Metrics struct {
			Time map[string]string `json:"time"`
		} `json:"metrics"`
	}
	if err := json.Unmarshal([]byte(report), &r); err != nil {
		return nil, fmt.Errorf("cannot read the report of a run: %w", err)
	}
	times := map[string]time.Duration{}
	for name, text := range r.Metrics.Time {
		d, err := time.ParseDuration(text)
		if err != nil {
			return nil, fmt.Errorf("cannot read the report of a run: %w", err)
		}
		times[name] = d
	}
	return times, nil
}

func partsSection(b *strings.Builder, t table) {
	fmt.Fprintf(b, "\n### %d files, in sync: where fettle's time goes\n\n| stage | median | peak memory |\n|---|--:|--:|\n", t.files)
	for _, p := range t.parts {
		memory := ""
		if p.peak > 0 {
			memory = bench.MB(p.peak)
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", p.what, bench.Milliseconds(p.took), memory)
	}
}
