// Command parity breaks what each row of docs/parity.md says, one edit at a time, and runs the tests that the row
// cites: one of them must fail. It must itself be run where all of them pass, which it tries first.
//
// The edits are in test/parity/breaks. No file is changed: the go command is told to read the broken one in place of
// the source, and so are the go commands that tests start. `make parity` runs all.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/test/parity/table"
)

func main() {
	rows := flag.String("rows", "", "only rows whose section and name match this expression, such as '^2.3 (mode|owner)'")
	jobs := flag.Int("jobs", 2, "how many breaks are tried at a time")
	trust := flag.Bool("trust", false, "do not run the tests unbroken first")
	flag.Parse()

	if err := run(os.Stdout, *rows, *jobs, !*trust); err != nil {
		fmt.Fprintln(os.Stderr, "parity:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, rows string, jobs int, baseline bool) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	only, err := regexp.Compile(rows)
	if err != nil {
		return fmt.Errorf("-rows: %w", err)
	}
	trials, err := plan(only)
	if err != nil {
		return err
	}
	if baseline {
		if err := passes(ctx, trials); err != nil {
			return err
		}
	}
	missed := 0
	for _, v := range each(ctx, out, trials, jobs) {
		if v.err != nil || len(v.failed) == 0 {
			missed++
		}
	}
	if missed > 0 {
		return fmt.Errorf("%d of %d breaks were not caught", missed, len(trials))
	}
	fmt.Fprintf(out, "all %d breaks were caught\n", len(trials))
	return nil
}

// A trial is a break with the tests that its row cites.
type trial struct {
	table.Break
	tests []table.Test
}

// plan returns the trials of the rows that match.
func plan(only *regexp.Regexp) ([]trial, error) {
	root := os.DirFS(".")
	rows, err := table.Rows(root)
	if err != nil {
		return nil, err
	}
	tests := map[string][]table.Test{}
	for _, r := range rows {
		tests[r.Section+" "+r.Name] = r.Tests()
	}
	breaks, err := table.Breaks(root)
	if err != nil {
		return nil, err
	}
	var all []trial
	for _, b := range breaks {
		if id := b.Section + " " + b.Row; only.MatchString(id) {
			all = append(all, trial{b, tests[id]})
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no break is of a row that matches %q", only)
	}
	return all, nil
}

// passes runs the tests of all trials on the sources as they are; each must run and pass.
func passes(ctx context.Context, trials []trial) error {
	var tests []table.Test
	for _, t := range trials {
		tests = append(tests, t.tests...)
	}
	for folder, some := range byFolder(tests) {
		got, err := goTest(ctx, folder, some, nil)
		switch {
		case err != nil:
			return err
		case len(got.failed) > 0:
			return fmt.Errorf("%s fails without a break: %v", folder, got.failed)
		}
		if absent := got.absent(some); len(absent) > 0 {
			return fmt.Errorf("%s is cited but does not run: %v", folder, absent)
		}
	}
	return nil
}

// A verdict is what failed once a break was in, or why that could not be seen.
type verdict struct {
	failed []string
	err    error
}

// each tries all, some at a time, and prints each verdict as it comes.
func each(ctx context.Context, out io.Writer, trials []trial, jobs int) []verdict {
	verdicts := make([]verdict, len(trials))
	var printing sync.Mutex
	resource.Each(len(trials), jobs, func(i int) {
		start := time.Now()
		verdicts[i] = trials[i].try(ctx)
		printing.Lock()
		defer printing.Unlock()
		fmt.Fprintf(out, "%s (%s)\n", verdicts[i].line(trials[i]), time.Since(start).Round(time.Second))
	})
	return verdicts
}

func (v verdict) line(t trial) string {
	switch {
	case v.err != nil:
		return fmt.Sprintf("ERROR   %s: %v", t, v.err)
	case len(v.failed) == 0:
		return fmt.Sprintf("MISSED  %s: passes: %v", t, t.tests)
	}
	return fmt.Sprintf("caught  %s: %s", t, v.failed[0])
}

// try runs the row's tests, folder by folder, on the broken sources until one fails: first those beside what is broken.
func (t trial) try(ctx context.Context) verdict {
	over, err := newOverlay(t.Break)
	if err != nil {
		return verdict{err: err}
	}
	defer over.remove()
	own, all := path.Dir(t.File), byFolder(t.tests)
	folders := slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(cmp.Compare(distance(own, a), distance(own, b)), strings.Compare(a, b))
	})
	for _, folder := range folders {
		got, err := goTest(ctx, folder, all[folder], over)
		if err != nil || len(got.failed) > 0 {
			return verdict{got.failed, err}
		}
	}
	return verdict{}
}

// distance is how many folders one goes up from one folder to come to another, and down again.
func distance(from, to string) int {
	rel, err := filepath.Rel(from, to)
	if err != nil || rel == "." {
		return 0
	}
	return 1 + strings.Count(rel, "/")
}

func byFolder(tests []table.Test) map[string][]table.Test {
	all := map[string][]table.Test{}
	for _, t := range tests {
		all[t.Folder] = append(all[t.Folder], t)
	}
	return all
}
