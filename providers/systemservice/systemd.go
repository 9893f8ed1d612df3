package systemservice

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// systemd manages the services of a running systemd.
type systemd struct{}

var (
	_ resource.BatchReader[attributes] = systemd{}
	_ resource.Lister[attributes]      = systemd{}
	_ resource.Refresher[attributes]   = systemd{}
	_ resource.Identifier[attributes]  = systemd{}
	_ resource.Identifier[attributes]  = offline{}
)

// Name implements [resource.Provider].
func (systemd) Name() string { return "systemd" }

// Features implements [resource.Featured].
func (systemd) Features() []resource.Feature {
	return []resource.Feature{controllable, refreshable, enableable, maskable}
}

// Needs implements [resource.Needing].
func (systemd) Needs() resource.Needs {
	return resource.Needs{Commands: []string{"systemctl"}, Remedy: "install the package systemd"}
}

// Suits implements [resource.Provider].
func (systemd) Suits(_ resource.Facts, h host.Reader) error { return booted(h) }

// booted returns why systemd does not run the host, nil if it does. In a chroot, /proc may belong to
// the machine outside, so the directory that systemd creates at boot is checked first.
func booted(h host.Reader) error {
	info, err := h.Stat("/run/systemd/system")
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return errors.New("the host was not booted with systemd: /run/systemd/system does not exist")
	}
	if err != nil {
		return fmt.Errorf("cannot find out whether systemd runs the host: %w", err)
	}
	comm, err := h.ReadFile("/proc/1/comm")
	if err != nil {
		return fmt.Errorf("cannot find out whether systemd runs the host: %w", err)
	}
	if name := strings.TrimSpace(string(comm)); name != "systemd" {
		return fmt.Errorf("the host's first process is %s, not systemd", name)
	}
	return nil
}

// Read implements [resource.Provider].
func (s systemd) Read(ctx context.Context, h resource.Reader, want attributes) (attributes, error) {
	result := s.ReadAll(ctx, h, []attributes{want})[0]
	return result.State, result.Err
}

// ReadAll implements [resource.BatchReader] by one call of systemctl.
func (systemd) ReadAll(ctx context.Context, h resource.Reader, wants []attributes) []resource.Result[attributes] {
	names := make([]string, len(wants))
	for i, w := range wants {
		names[i] = unitName(w.Name)
	}
	units, err := show(ctx, h, names...)
	if err != nil {
		return resource.Unreadable[attributes](len(wants), err)
	}
	results := make([]resource.Result[attributes], len(wants))
	for i, u := range units {
		results[i].State, results[i].Err = completed(ctx, h, u, wants[i])
	}
	return results
}

// completed returns the state of a unit, including the parts that systemctl show lacks.
func completed(ctx context.Context, h host.Reader, u unit, want attributes) (attributes, error) {
	u, err := complete(ctx, h, u, want)
	return u.state(want), err
}

// complete queries the parts of a unit's state that systemctl show lacks.
func complete(ctx context.Context, h host.Reader, u unit, want attributes) (_ unit, err error) {
	if u.sysv() {
		if u.UnitFileState, err = queryScript(ctx, h, u.ID); err != nil {
			return u, err
		}
	}
	u.Runs, err = queryRuns(ctx, h, want)
	return u, err
}

// List implements [resource.Lister]: the services with a unit file, by their own names.
func (s systemd) List(ctx context.Context, h resource.Reader) ([]attributes, error) {
	res, err := query(ctx, h, "systemctl", "list-unit-files", "--type=service", "--no-legend", "--no-pager", "--full")
	if err != nil {
		return nil, err
	}
	names := parseUnitFiles(string(res.Stdout))
	if len(names) == 0 {
		return nil, nil
	}
	wants := make([]attributes, len(names))
	for i, name := range names {
		wants[i].Name = name
	}
	states := make([]attributes, len(wants))
	for i, result := range s.ReadAll(ctx, h, wants) {
		if result.Err != nil {
			return nil, result.Err
		}
		states[i] = result.State
	}
	return states, nil
}

// parseUnitFiles reads systemctl list-unit-files without legend: name, state, preset.
// It skips templates, which are not services, and aliases, which belong to another unit.
func parseUnitFiles(output string) []string {
	var names []string
	for line := range strings.Lines(output) {
		f := strings.Fields(line)
		if len(f) < 2 || strings.Contains(f[0], "@.") || f[1] == "alias" {
			continue
		}
		names = append(names, f[0])
	}
	return names
}

// show queries units of systemd, which need not exist.
func show(ctx context.Context, h host.Reader, names ...string) ([]unit, error) {
	res, err := query(ctx, h, append([]string{"systemctl", "show", "--no-pager", "--property=" + shown}, names...)...)
	if err != nil {
		return nil, err
	}
	units, err := parseUnits(string(res.Stdout), names)
	if err != nil {
		return nil, fmt.Errorf("cannot read the state of services: %w", err)
	}
	return units, findCrashLoops(h, units)
}

// queryScript has systemctl query the tool for scripts of /etc/init.d.
func queryScript(ctx context.Context, h host.Reader, name string) (unitFileState string, err error) {
	res, err := h.Query(ctx, host.Cmd{Args: []string{"systemctl", "is-enabled", name}, Services: true, Show: host.Output})
	if err != nil {
		return "", fmt.Errorf("cannot find out whether %s starts at boot: %w", name, err)
	}
	if res.ExitCode != 0 {
		return "disabled", nil
	}
	return "enabled", nil
}

func query(ctx context.Context, h host.Reader, args ...string) (host.Result, error) {
	res, err := h.Query(ctx, host.Cmd{Args: args, Services: true, MaxOutput: 8 << 20, Show: host.Output})
	if err == nil && res.ExitCode != 0 {
		err = fmt.Errorf("cannot read the state of services: %s %s: %s", args[0], args[1], firstLine(res))
	}
	return res, err
}

// Write implements [resource.Provider]. It reads the unit again, as other resources may have installed
// or changed it meanwhile.
func (systemd) Write(ctx context.Context, h resource.Writer, _, want attributes, changes []resource.Change) error {
	return online(h, want).write(ctx, want, changes)
}

// Refresh implements [resource.Refresher]. It restarts a unit that runs or is starting.
func (systemd) Refresh(ctx context.Context, h resource.Writer, _, want attributes) error {
	return online(h, want).refresh(ctx, want)
}

func online(h host.Host, want attributes) control {
	name := unitName(want.Name)
	return control{h: h, systemctl: []string{"systemctl"}, look: func(ctx context.Context) (unit, error) {
		u, err := seen(ctx, h, name)
		if err != nil {
			return unit{}, err
		}
		return complete(ctx, h, u, want)
	}}
}

// seen is show for a unit that is to be changed. It also finds the files that systemd has not read and does not miss.
func seen(ctx context.Context, h host.Reader, name string) (unit, error) {
	units, err := show(ctx, h, name)
	if err != nil {
		return unit{}, err
	}
	u := units[0]
	u.NeedsDaemonReload = u.NeedsDaemonReload || u.missing() && hasScript(h, name) || hasUnreadDropIns(h, u)
	return u, nil
}

// hasUnreadDropIns reports whether a unit has drop-ins that systemd has not read. Before version 253, it does not notice the first
// ones of a unit, whose directory is new. Among drop-ins with the same name, it reads only one.
func hasUnreadDropIns(h host.Reader, u unit) bool {
	read := map[string]bool{}
	for _, file := range u.DropIns {
		read[path.Base(file)] = true
	}
	for _, dir := range unitDirs() {
		for _, name := range withTemplate(u.ID) {
			names, _ := h.ReadDir(path.Join(dir, name+".d")) // most have none
			if slices.ContainsFunc(names, func(name string) bool { return path.Ext(name) == ".conf" && !read[name] }) {
				return true
			}
		}
	}
	return false
}

// withTemplate returns the name of a unit and, for an instance such as getty@tty1.service, the name of its template.
func withTemplate(id string) []string {
	if prefix, instance, ok := strings.Cut(id, "@"); ok {
		return []string{id, prefix + "@" + path.Ext(instance)}
	}
	return []string{id}
}
