package debian

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// cgroupList names, in a place, the cgroups that were made for it, one a line.
const cgroupList = "cgroups"

// makeCgroups makes a cgroup for a place under this process's own in every hierarchy that systemd tracks its processes
// by: its named one (version 1), the unified one (version 2), or both. They go when the place is removed.
func (p *place) makeCgroups() ([]string, error) {
	mine, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	mounted, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, parent := range systemdCgroups(string(mine), string(mounted)) {
		dirs = append(dirs, filepath.Join(parent, p.name()))
	}
	list := []byte(strings.Join(dirs, "\n"))
	if err := os.WriteFile(filepath.Join(p.dir, cgroupList), list, 0o600); err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, fmt.Errorf("cannot make a cgroup for a machine: %w", err)
		}
	}
	return dirs, nil
}

// systemdCgroups finds the directories of a process's cgroups in systemd's hierarchies, from the process's
// /proc/self/cgroup and /proc/self/mountinfo.
func systemdCgroups(mine, mounted string) []string {
	var dirs []string
	for line := range strings.Lines(mine) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		if at := hierarchy(parts[1], mounted); at != "" {
			dirs = append(dirs, filepath.Join(at, parts[2]))
		}
	}
	return dirs
}

// hierarchy is where a hierarchy of systemd's is mounted, by its controller in /proc/self/cgroup: "name=systemd", or
// "" for the unified one. It is "" for any other and for one that is not mounted.
func hierarchy(controller, mounted string) string {
	for line := range strings.Lines(mounted) {
		before, after, found := strings.Cut(line, " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if !found || len(fields) < 5 || len(kind) < 3 {
			continue
		}
		unified := controller == "" && kind[0] == "cgroup2"
		named := controller == "name=systemd" && kind[0] == "cgroup" && slices.Contains(strings.Split(kind[2], ","), controller)
		if unified || named {
			return fields[4]
		}
	}
	return ""
}

// removeCgroups removes the place's cgroups. The last processes of a machine may take a moment to leave them.
func (p *place) removeCgroups() error {
	list, err := os.ReadFile(filepath.Join(p.dir, cgroupList))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for dir := range strings.Lines(string(list)) {
		dir = strings.TrimSpace(dir)
		err := removeCgroup(dir)
		for deadline := time.Now().Add(5 * time.Second); err != nil && time.Now().Before(deadline); err = removeCgroup(dir) {
			time.Sleep(poll)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// removeCgroup removes a cgroup and those in it.
func removeCgroup(dir string) error {
	var tree []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			tree = append(tree, path)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, sub := range slices.Backward(tree) {
		if err := os.Remove(sub); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
