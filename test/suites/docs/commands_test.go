package docs_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fettle-dev/fettle/test/fixtures/debian"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

// patience is how long a command of a page may take.
const patience = patient.Limit

func TestPages(t *testing.T) {
	debian.Require(t)
	c := newCluster(t)
	all := pages(t)
	t.Run("manifests are valid", func(t *testing.T) { c.validate(t, all) })
	t.Run("commands run and print what is shown", func(t *testing.T) { c.runCommands(t, all) })
}

func (c *cluster) runCommands(t *testing.T, all []page) {
	t.Helper()
	c.startManager(t)
	for _, p := range all {
		if !p.hasCommands() {
			continue
		}
		passed := t.Run(p.name, func(t *testing.T) {
			m := c.machine(t, p)
			for _, b := range p.blocks {
				if m.try(t, b); t.Failed() {
					t.Fatalf("the blocks after it were not tried; manager and agent logged:\n%s", m.logs())
				}
			}
		})
		if !passed { // a failure takes as long as the patience, and may be common to all pages
			t.Fatal("the pages after it were not tried")
		}
	}
}

func (p *page) hasCommands() bool {
	for _, b := range p.blocks {
		if _, marked := b.notRun(); !marked && languages[b.language] {
			return true
		}
	}
	return false
}

// words returns the words of a directive in all blocks.
func (p *page) words(directive string) []string {
	var all []string
	for _, b := range p.blocks {
		all = append(all, strings.Fields(b.directives[directive])...)
	}
	return all
}

// try runs a block if it has commands, and saves it if it is a file.
func (m *machine) try(t *testing.T, b block) {
	t.Helper()
	if name := b.directives["file"]; name != "" {
		must(t, os.WriteFile(filepath.Join(m.root, "root", name), []byte(b.text), 0o644))
	}
	if _, marked := b.notRun(); marked {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	switch b.language {
	case "sh":
		if out, code := m.sh(ctx, t, b.text, ""); code != 0 {
			t.Errorf("%s:%d exited with %d:\n%s\n%s", b.page, b.line, code, b.text, out)
		}
	case "console":
		for _, command := range dialogue(b.text) {
			m.expect(ctx, t, b, command)
		}
	}
}

// A command is what a reader types, where, and the output that the page shows.
type command struct {
	typed, shown string
	node         string // "" where the reader works
}

var prompt = regexp.MustCompile(`^(?:\$|root@([a-z0-9-]+):~#) `)

// dialogue returns the commands of a console. A command continues after a backslash, and until the end of a here-document.
func dialogue(text string) []command {
	var all []command
	continues, until := false, ""
	for line := range strings.Lines(text) {
		switch {
		case continues || until != "":
			all[len(all)-1].typed += line
		case prompt.MatchString(line):
			all = append(all, command{typed: prompt.ReplaceAllString(line, ""), node: prompt.FindStringSubmatch(line)[1]})
		case len(all) > 0:
			all[len(all)-1].shown += line
			continue
		default:
			continue
		}
		if _, word, here := strings.Cut(strings.TrimSpace(line), "<<"); here && until == "" {
			until = word
		} else if strings.TrimSpace(line) == until {
			until = ""
		}
		continues = strings.HasSuffix(line, "\\\n")
	}
	return all
}

// expect runs a command until it prints what the page shows. Only commands that read are repeated.
func (m *machine) expect(ctx context.Context, t *testing.T, b block, c command) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		out, code := m.sh(ctx, t, c.typed, c.node)
		if agrees(out, c.shown) && (code == 0 || !c.showsAnything()) {
			return
		}
		if !reads.MatchString(c.typed) || time.Now().After(deadline) {
			t.Errorf("%s:%d: %sexited with %d and printed\n%s\nThe page shows\n%s", b.page, b.line, c.typed, code, out, c.shown)
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// showsAnything reports whether the page leaves out the output, and with it what would explain an error.
func (c command) showsAnything() bool { return strings.TrimSpace(c.shown) == "..." }

var reads = regexp.MustCompile(`^(kubectl (get|events|describe|explain|wait|fettle rollout (status|history)) |cat |ls |id |stat |getent )`)

// variable is text that differs between runs, and what it is compared as.
var variable = []struct {
	is *regexp.Regexp
	as string
}{
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z\b`), "TIME"},
	{regexp.MustCompile(`\b(\d+(\.\d+)?(ms|s|m|h|d))+\b`), "DURATION"},
	{regexp.MustCompile(`\{sha256\}[0-9a-f.]+`), "{sha256}DIGEST"},
	{regexp.MustCompile(`\b[0-9a-f]{10}\b`), "REVISION"},
	{regexp.MustCompile(`\bweb-[0-9]+\b`), "NODE"}, // hashes decide which one is the first of a rollout
	{regexp.MustCompile(`[ \t]+`), " "},
	{regexp.MustCompile(`(?m) $`), ""},
}

// agrees reports whether output is what a page shows. See the doc of this package.
func agrees(output, shown string) bool {
	shown, output = strings.TrimSpace(shown), strings.TrimSpace(output)
	for _, v := range variable {
		shown, output = v.is.ReplaceAllString(shown, v.as), v.is.ReplaceAllString(output, v.as)
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(shown), `\.\.\.`, `(?s:.*)`)
	return regexp.MustCompile("^" + pattern + "$").MatchString(output)
}

func TestOutputIsCompared(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		output, shown string
		want          bool
	}{
		"the same":            {"a\nb\n", "a\nb\n", true},
		"another value":       {"a\nb\n", "a\nc\n", false},
		"one line more":       {"a\nb\n", "a\n", false},
		"one line less":       {"a\n", "a\nb\n", false},
		"other widths":        {"NAME   AGE\na      7s\n", "NAME AGE\na 12m\n", true},
		"anything":            {"a b c", "a ... c", true},
		"anything but an end": {"a b", "a ... c", false},
		"a checksum":          {"{sha256}ab12", "{sha256}cd34...", true},
		"a revision":          {"revision 0a1b2c3d4e", "revision 9f8e7d6c5b", true},
		"a node":              {"web-2 Soaking", "web-3 Soaking", true},
	} {
		if got := agrees(test.output, test.shown); got != test.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
