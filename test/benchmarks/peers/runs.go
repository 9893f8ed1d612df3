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
	inSync map[string]samples // by program
	first  map[string]samples
	start  sample // the median of starts that do nothing
	parts  []part // of fettle's time in sync
	agent  agentSample
}

// accounts are the files that users are in, to be put back before each first convergence.
func accounts() []string {
	return []string{"passwd", "shadow", "group", "gshadow", "subuid", "subgid"}
}

func (l *lab) measure(ctx context.Context, files int, o options) table {
	s := desired{files: files, users: 20, packages: l.packages}
	for _, p := range l.programs {
		for name, text := range p.input {
			l.Must(os.WriteFile(filepath.Join(l.root, inputDir, name), []byte(text(s)), 0o600))
		}
	}
	t := table{files: files, first: l.firstRuns(ctx, s, o.cold)}
	t.inSync = l.syncRuns(ctx, o.runs)
	t.start, t.parts = l.parts(ctx, o.runs, t.inSync["fettle"].median().Wall)
	t.agent = l.runAgent(ctx, s)
	return t
}

// firstRuns lets each program bring the state about from nothing. The last one leaves it.
func (l *lab) firstRuns(ctx context.Context, s desired, runs int) map[string]samples {
	all := map[string]samples{}
	for range runs {
		for _, p := range l.programs {
			l.forget()
			command := p.command
			if p.first != nil {
				command = p.first
			}
			all[p.name] = append(all[p.name], l.sample(ctx, p.name, command))
			if p.first != nil {
				continue
			}
			if err := l.check(s); err != nil {
				l.Must(fmt.Errorf("%s left something undone: %w", p.name, err))
			}
		}
	}
	return all
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
func (l *lab) syncRuns(ctx context.Context, runs int) map[string]samples {
	all := map[string]samples{}
	for i := range runs + 1 {
		for _, p := range l.programs {
			if one := l.sample(ctx, p.name, p.command); i > 0 {
				all[p.name] = append(all[p.name], one)
			}
		}
	}
	return all
}

// keepAccounts is for before any run.
func (l *lab) keepAccounts() {
	for _, name := range accounts() {
		l.install(filepath.Join(l.root, "etc", name), filepath.Join(l.root, "root", name))
	}
}

// forget takes the state away, and what programs remember of their runs. The files are moved rather than removed: ext4
// avoids inodes that were freed a moment ago, and takes a millisecond to find another one for each new file.
func (l *lab) forget() {
	aside, err := os.MkdirTemp(filepath.Join(l.root, inputDir), "before-")
	l.Must(err)
	if err := os.Rename(filepath.Join(l.root, stateDir), filepath.Join(aside, "files")); !os.IsNotExist(err) {
		l.Must(err)
	}
	for _, path := range []string{"/var/lib/fettle", "/var/cache/puppet/state", "/var/lib/cfengine3/state"} {
		l.Must(os.RemoveAll(filepath.Join(l.root, path)))
	}
	for _, name := range accounts() {
		l.install(filepath.Join(l.root, "root", name), filepath.Join(l.root, "etc", name))
	}
	l.Must(os.MkdirAll(filepath.Join(l.root, "/var/lib/cfengine3/state"), 0o755))
}
