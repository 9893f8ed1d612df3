package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/sdk"
)

// A row is what was measured in one way.
type row struct {
	what      string
	processes int
	requests  int // to the server
	time      time.Duration
}

// A way is one to read all records.
type way struct {
	what            string
	processes, runs int
	read            func(ctx context.Context) error
}

func (l *lab) ways() []way {
	dns := []string{programs + "/powerdns.py"}
	shim := []string{programs + "/" + sdk.PuppetFile, "dns_record"}
	return []way{
		{"Fettle: one process, in Python", 1, l.runs, func(ctx context.Context) error {
			return l.expect(ctx, dns, requests("get", l.resources()), l.records)
		}},
		{"the same program, one process for each record", l.records, 1, func(ctx context.Context) error {
			for _, r := range l.resources() {
				if err := l.expect(ctx, dns, requests("get", []map[string]any{r}), 1); err != nil {
					return err
				}
			}
			return nil
		}},
		{"Fettle: one process, a type of Puppet's Resource API", 1, l.runs, func(ctx context.Context) error {
			return l.expect(ctx, shim, requests("get", l.puppetResources()), l.records)
		}},
		{"puppet apply, the same type", 1, 1, l.apply},
	}
}

// puppetResources are the desired records of the Puppet type.
func (l *lab) puppetResources() []map[string]any {
	var all []map[string]any
	for i := range l.records {
		name, address := record(i)
		all = append(all, map[string]any{"name": name, "should": map[string]any{"name": name, "values": []string{address}, "ensure": "present"}})
	}
	return all
}

func (l *lab) expect(ctx context.Context, command []string, stdin string, want int) error {
	n, err := l.read(ctx, command, stdin)
	if err == nil && n != want {
		err = fmt.Errorf("%s read %d records, not %d", command[0], n, want)
	}
	return err
}

// apply runs Puppet itself. It must change nothing.
func (l *lab) apply(ctx context.Context) error {
	out, err := l.machine.Run(ctx, "puppet", "apply", "--detailed-exitcodes", "--libdir", programs+"/lib", programs+"/records.pp")
	if err == nil && strings.Contains(out, "Error") {
		err = fmt.Errorf("puppet apply: %.500s", out)
	}
	return err
}

func (l *lab) measure(ctx context.Context) ([]row, error) {
	var rows []row
	for _, w := range l.ways() {
		fmt.Fprintln(os.Stderr, "measuring:", w.what)
		before, err := l.gets(ctx)
		if err != nil {
			return nil, err
		}
		var times []time.Duration
		for range w.runs {
			begin := time.Now()
			if err := w.read(ctx); err != nil {
				return nil, fmt.Errorf("%s: %w", w.what, err)
			}
			times = append(times, time.Since(begin))
		}
		after, err := l.gets(ctx)
		if err != nil {
			return nil, err
		}
		slices.Sort(times)
		rows = append(rows, row{w.what, w.processes, (after - before) / w.runs, times[len(times)/2]})
	}
	return rows, nil
}
