package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/test/parity/table"
)

// timeout is how long the tests of one folder may take. What takes longer shows nothing: it may be the machine that is
// slow.
const timeout = "20m"

// An overlay has the go command read a broken file in place of a source.
type overlay struct{ dir string }

func newOverlay(b table.Break) (*overlay, error) {
	broken, err := b.Apply(os.DirFS("."))
	if err != nil {
		return nil, err
	}
	source, err := filepath.Abs(b.File)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "parity-")
	if err != nil {
		return nil, err
	}
	o := &overlay{dir}
	file := filepath.Join(dir, filepath.Base(b.File))
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {source: file}})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(file, broken, 0o600); err != nil {
		return nil, err
	}
	return o, os.WriteFile(o.path(), replace, 0o600)
}

func (o *overlay) path() string { return filepath.Join(o.dir, "overlay.json") }

// remove ignores errors: what stays in the temporary directory harms nobody.
func (o *overlay) remove() { _ = os.RemoveAll(o.dir) }

// results are the tests that ran, and those of them that failed, by their names in go test's output.
type results struct{ ran, failed []string }

// goTest runs tests of one folder, on what over replaces unless it is nil. Sources that cannot be built are an error.
// A result that is kept would be that of other sources, where a test builds the program that it starts.
// Neither vet nor what a debugger needs is made: most of the time goes into building.
func goTest(ctx context.Context, folder string, tests []table.Test, over *overlay) (results, error) {
	args := []string{"test", "-json", "-count=1", "-vet=off", "-ldflags=-s -w", "-timeout", timeout, "-run", pattern(tests), "./" + folder}
	if isSuite(folder) {
		for _, t := range tests {
			args = append(args, "-ginkgo.focus="+regexp.QuoteMeta(t.Sub))
		}
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = os.Environ()
	if over != nil {
		cmd.Env = append(cmd.Env, "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+over.path()))
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	got, parseErr := read(out)
	switch {
	case ctx.Err() != nil:
		return got, ctx.Err()
	case parseErr != nil:
		return got, parseErr
	case bytes.Contains(out, []byte("panic: test timed out after")):
		return got, fmt.Errorf("go test ./%s: did not end in %s", folder, timeout)
	case err != nil && len(got.failed) == 0:
		return got, fmt.Errorf("go test ./%s: %w: %s%s", folder, err, stderr.Bytes(), said(out))
	}
	return got, nil
}

// isSuite reports whether a folder's tests are Ginkgo's, whose specs go test does not know by name.
func isSuite(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, "suite_test.go"))
	return err == nil
}

// pattern is -run's for the tests.
func pattern(tests []table.Test) string {
	var all []string
	for _, t := range tests {
		name := t.Func
		if t.Sub != "" && !isSuite(t.Folder) {
			name += "/" + regexp.QuoteMeta(t.Sub)
		}
		all = append(all, "^"+strings.ReplaceAll(name, "/", "$/^")+"$")
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), "|")
}

// An event is a line of go test -json.
type event struct{ Action, Test, Output string }

func read(out []byte) (results, error) {
	var got results
	for line := range bytes.Lines(out) {
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return got, fmt.Errorf("cannot read what go test says: %w: %s", err, line)
		}
		switch {
		case e.Test == "":
		case e.Action == "run":
			got.ran = append(got.ran, e.Test)
		case e.Action == "fail":
			got.failed = append(got.failed, e.Test)
		}
	}
	return got, nil
}

// said is the output of the events.
func said(out []byte) string {
	var all strings.Builder
	for line := range bytes.Lines(out) {
		var e event
		if json.Unmarshal(line, &e) == nil {
			all.WriteString(e.Output)
		}
	}
	return all.String()
}

// absent are the tests that did not run.
func (r results) absent(tests []table.Test) []table.Test {
	return slices.DeleteFunc(slices.Clone(tests), func(t table.Test) bool {
		name := t.Func
		if t.Sub != "" && !isSuite(t.Folder) {
			name += "/" + strings.ReplaceAll(t.Sub, " ", "_")
		}
		return slices.Contains(r.ran, name)
	})
}
