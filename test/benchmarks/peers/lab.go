package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/fettle-dev/fettle/test/benchmarks/bench"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// A lab is the root in which everything is measured.
type lab struct {
	*bench.Stage
	root     string
	meter    string // the program that runs and measures another
	packages []string
	programs []program
}

// A program is one of those that are measured.
type program struct {
	name    string
	version []string // the command that tells it
	says    string   // what that said
	command []string
	input   map[string]func(s desired) string // files by name
	// first is the command of a first run, if that is another one which brings
	// about no more than a part of the state.
	first []string
}

func programs(peers bool) []program {
	type files = map[string]func(desired) string
	all := []program{
		{
			name: "floor", command: []string{"/usr/local/bin/floor", inputDir + "/list"}, input: files{"list": desired.list, "commands": desired.useradds},
			first: []string{"/usr/local/bin/floor", "-write", inputDir + "/list", inputDir + "/commands"},
		},
		{name: "fettle", version: []string{"fettle", "--version"}, command: []string{"/usr/local/bin/fettle", "apply", "-f", inputDir + "/state.yaml"}, input: files{"state.yaml": desired.fettle}},
	}
	if !peers {
		return all
	}
	return append(all,
		program{name: "cf-agent", version: []string{"cf-agent", "--version"}, command: []string{"/usr/bin/cf-agent", "-K", "-f", inputDir + "/state.cf"}, input: files{"state.cf": desired.cfengine}},
		program{name: "puppet", version: []string{"puppet", "--version"}, command: []string{"/usr/bin/puppet", "apply", inputDir + "/state.pp"}, input: files{"state.pp": desired.puppet}},
	)
}

func openLab(ctx context.Context, s *bench.Stage, o options) *lab {
	network := debian.Nothing
	if o.peers {
		network = debian.Archive
	}
	root, remove, err := debian.Open(ctx, network, os.Stderr)
	s.Must(err)
	s.Cleanup(func() { s.Warn(remove()) })
	l := &lab{Stage: s, root: root, meter: filepath.Join(o.fettle, "meter"), programs: programs(o.peers)}
	l.furnish(ctx, o)
	return l
}

// furnish installs the programs and finds packages to ask for.
func (l *lab) furnish(ctx context.Context, o options) {
	for _, name := range []string{"fettle", "floor", "nodeagent"} {
		l.install(filepath.Join(o.fettle, name), filepath.Join(l.root, "usr/local/bin", name))
	}
	l.Must(os.MkdirAll(filepath.Join(l.root, inputDir), 0o700))
	if o.peers {
		for _, command := range []string{"apt-get -qq update", "apt-get -qq -y --no-install-recommends install puppet-agent cfengine3"} {
			l.Logf("in the root: %s", command)
			l.run(ctx, strings.Fields(command)...)
		}
	}
	for i, p := range l.programs {
		if len(p.version) > 0 {
			l.programs[i].says = strings.TrimSpace(l.run(ctx, p.version...))
		}
	}
	l.packages = strings.Fields(l.run(ctx, "dpkg-query", "--show", "--showformat", "${Package}\n"))[:100]
}

// run runs a command in the root, and returns its output.
func (l *lab) run(ctx context.Context, command ...string) string {
	cmd := exec.CommandContext(ctx, "chroot", append([]string{l.root}, command...)...)
	cmd.Env = environment()
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		l.Must(fmt.Errorf("cannot run %s in the root: %w: %s", strings.Join(command, " "), err, last(errs.String(), 2000)))
	}
	return string(out)
}

func (l *lab) install(from, to string) {
	in, err := os.Open(from)
	l.Must(err)
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	l.Must(err)
	_, err = io.Copy(out, in)
	l.Must(errors.Join(err, out.Close()))
}
