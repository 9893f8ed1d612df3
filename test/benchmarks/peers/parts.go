package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A part is the time of one stage of a run of fettle.
type part struct {
	what string
	took time.Duration
	peak int64 // in KB; 0 for a stage that is no process of its own
}

// parts are the stages of a run in sync, as medians: to start is measured by a run that does nothing else, and what comes
// then is what the program's own report says. whole is the median of such runs.
func (l *lab) parts(ctx context.Context, runs int, whole time.Duration) ([]part, error) {
	starts := map[string][]sample{}
	var facts, compile, engine []time.Duration
	for range runs {
		if err := l.sample(ctx, "start", []string{"/usr/local/bin/fettle", "--version"}, starts); err != nil {
			return nil, err
		}
		text, err := l.run(ctx, "/usr/local/bin/fettle", "apply", "-f", inputDir+"/state.yaml", "-o", "json")
		if err != nil {
			return nil, err
		}
		r, err := timesOf(text)
		if err != nil {
			return nil, err
		}
		facts, compile, engine = append(facts, r["factGeneration"]), append(compile, r["configRetrieval"]), append(engine, r["total"])
	}
	all := []part{
		{"start of the program (`fettle --version`)", median(starts["start"], wall), int64(median(starts["start"], peak))},
		{"facts", middle(facts), 0},
		{"compile: bind, relate, order", middle(compile), 0},
		{"engine: read, decide, record", middle(engine), 0},
	}
	for _, p := range all {
		whole -= p.took
	}
	return append(all, part{"other: read manifests, open the state, exit", whole, 0}), nil
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

func middle(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

func partsSection(b *strings.Builder, t table) {
	fmt.Fprintf(b, "\n### %d files, in sync: where fettle's time goes\n\n| stage | median | peak memory |\n|---|--:|--:|\n", t.files)
	for _, p := range t.parts {
		memory := ""
		if p.peak > 0 {
			memory = fmt.Sprintf("%.1f MB", float64(p.peak)/1024)
		}
		fmt.Fprintf(b, "| %s | %.1f ms | %s |\n", p.what, ms(p.took), memory)
	}
}
