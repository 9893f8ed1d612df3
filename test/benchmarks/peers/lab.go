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

	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// A lab is the root in which everything is measured.
type lab struct {
	root     string
	remove   func() error
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

func openLab(ctx context.Context, o options) (*lab, error) {
	network := debian.Nothing
	if o.peers {
		network = debian.Archive
	}
	root, remove, err := debian.Open(ctx, network, os.Stderr)
	if err != nil {
		return nil, err
	}
	l := &lab{root: root, remove: remove, meter: filepath.Join(o.fettle, "meter"), programs: programs(o.peers)}
	if err := l.furnish(ctx, o); err != nil {
		return nil, errors.Join(err, remove())
	}
	return l, nil
}

// furnish installs the programs and finds packages to ask for.
func (l *lab) furnish(ctx context.Context, o options) error {
	for _, name := range []string{"fettle", "floor", "nodeagent"} {
		if err := install(filepath.Join(o.fettle, name), filepath.Join(l.root, "usr/local/bin", name)); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(l.root, inputDir), 0o700); err != nil {
		return err
	}
	if o.peers {
		if err := l.installPeers(ctx); err != nil {
			return err
		}
	}
	for i, p := range l.programs {
		if len(p.version) > 0 {
			says, err := l.run(ctx, p.version...)
			if err != nil {
				return err
			}
			l.programs[i].says = strings.TrimSpace(says)
		}
	}
	installed, err := l.run(ctx, "dpkg-query", "--show", "--showformat", "${Package}\n")
	l.packages = strings.Fields(installed)[:100]
	return err
}

func (l *lab) installPeers(ctx context.Context) error {
	for _, command := range []string{
		"apt-get -qq update", "apt-get -qq -y --no-install-recommends install puppet-agent cfengine3",
	} {
		fmt.Fprintf(os.Stderr, "in the root: %s\n", command)
		if _, err := l.run(ctx, strings.Fields(command)...); err != nil {
			return err
		}
	}
	return nil
}

func (l *lab) run(ctx context.Context, command ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "chroot", append([]string{l.root}, command...)...)
	cmd.Env = environment()
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("cannot run %s in the root: %w: %s", strings.Join(command, " "), err, last(errs.String(), 2000))
	}
	return string(out), nil
}

func install(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
