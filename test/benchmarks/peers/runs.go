package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// A table has the measurements for one size of state.
type table struct {
	files  int
	inSync map[string][]sample // by program
	first  map[string][]sample
	parts  []part // of fettle's time in sync
	agent  agentSample
}

// accounts are the files that users are in, to be put back before each first convergence.
func accounts() []string {
	return []string{"passwd", "shadow", "group", "gshadow", "subuid", "subgid"}
}

func (l *lab) measure(ctx context.Context, files int, o options) (table, error) {
	s := desired{files: files, users: 20, packages: l.packages}
	t := table{files: files, inSync: map[string][]sample{}, first: map[string][]sample{}}
	for _, p := range l.programs {
		for name, text := range p.input {
			if err := os.WriteFile(filepath.Join(l.root, inputDir, name), []byte(text(s)), 0o600); err != nil {
				return t, err
			}
		}
	}
	for range o.cold {
		if err := l.firstRuns(ctx, s, t); err != nil {
			return t, err
		}
	}
	if err := l.syncRuns(ctx, t, o.runs); err != nil {
		return t, err
	}
	var err error
	if t.parts, err = l.parts(ctx, o.runs, median(t.inSync["fettle"], wall)); err != nil {
		return t, err
	}
	t.agent, err = l.agent(ctx, s)
	return t, err
}

// firstRuns lets each program bring the state about from nothing. The last one leaves it.
func (l *lab) firstRuns(ctx context.Context, s desired, t table) error {
	for _, p := range l.programs {
		if err := l.forget(); err != nil {
			return err
		}
		if p.first != nil {
			if err := l.sample(ctx, p.name, p.first, t.first); err != nil {
				return err
			}
			continue
		}
		if err := l.sample(ctx, p.name, p.command, t.first); err != nil {
			return err
		}
		if err := l.check(s); err != nil {
			return fmt.Errorf("%s left something undone: %w", p.name, err)
		}
	}
	return nil
}

// check compares the root with the desired state: a program that does less than its task is not fast.
func (l *lab) check(s desired) error {
	for i := range s.files {
		text, err := os.ReadFile(filepath.Join(l.root, s.path(i)))
		if err != nil {
			return err
		}
		if string(text) != s.content(i) {
			return fmt.Errorf("%s has other content", s.path(i))
		}
		info, err := os.Stat(filepath.Join(l.root, s.path(i)))
		if err != nil {
			return err
		}
		if owner, ok := info.Sys().(*syscall.Stat_t); !ok || owner.Uid != wwwData || info.Mode() != fileMode {
			return fmt.Errorf("%s has the mode %v or another owner", s.path(i), info.Mode())
		}
	}
	passwd, err := os.ReadFile(filepath.Join(l.root, "etc/passwd"))
	for i := range s.users {
		if !strings.Contains(string(passwd), fmt.Sprintf("\n%s:x:%d:100:", s.user(i), firstUID+i)) {
			return fmt.Errorf("user %s is missing", s.user(i))
		}
	}
	return err
}

// syncRuns measures runs in sync. The first round fills caches and state.
func (l *lab) syncRuns(ctx context.Context, t table, runs int) error {
	for i := range runs + 1 {
		into := t.inSync
		if i == 0 {
			into = map[string][]sample{}
		}
		for _, p := range l.programs {
			if err := l.sample(ctx, p.name, p.command, into); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *lab) sample(ctx context.Context, name string, command []string, into map[string][]sample) error {
	s, err := l.time(ctx, command)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%-9s %8.1f ms  %8.1f ms CPU  %6.1f MB\n", name, ms(s.Wall), ms(s.CPU), float64(s.PeakKB)/1024)
	into[name] = append(into[name], s)
	return nil
}

// keepAccounts is for before any run.
func (l *lab) keepAccounts() error {
	for _, name := range accounts() {
		if err := install(filepath.Join(l.root, "etc", name), filepath.Join(l.root, "root", name)); err != nil {
			return err
		}
	}
	return nil
}

// forget takes the state away, and what programs remember of their runs. The files are moved rather than removed: ext4
// avoids inodes that were freed a moment ago, and takes a millisecond to find another one for each new file.
func (l *lab) forget() error {
	aside, err := os.MkdirTemp(filepath.Join(l.root, inputDir), "before-")
	if err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(l.root, stateDir), filepath.Join(aside, "files")); err != nil && !os.IsNotExist(err) {
		return err
	}
	for _, path := range []string{"/var/lib/fettle", "/var/cache/puppet/state", "/var/lib/cfengine3/state"} {
		if err := os.RemoveAll(filepath.Join(l.root, path)); err != nil {
			return err
		}
	}
	for _, name := range accounts() {
		if err := install(filepath.Join(l.root, "root", name), filepath.Join(l.root, "etc", name)); err != nil {
			return err
		}
	}
	return os.MkdirAll(filepath.Join(l.root, "/var/lib/cfengine3/state"), 0o755)
}
