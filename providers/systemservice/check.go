package systemservice

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Precheck implements [resource.Prechecker] by the rules that Write applies, too.
func (systemd) Precheck(ctx context.Context, h resource.Reader, writes []resource.Write[attributes]) []error {
	reportSandboxedStatus(writes)
	return precheck(ctx, h, writes, func(name string) (unit, error) { return seen(ctx, h, name) })
}

// Precheck implements [resource.Prechecker] by the rules that Write applies, too.
func (offline) Precheck(ctx context.Context, h resource.Reader, writes []resource.Write[attributes]) []error {
	return precheck(ctx, h, writes, func(name string) (unit, error) { return unitFile(ctx, h, name) })
}

// precheck returns why changes of units would fail, or that what they start decides.
func precheck(ctx context.Context, h resource.Reader, writes []resource.Write[attributes], look func(string) (unit, error)) []error {
	errs := make([]error, len(writes))
	for i, w := range writes {
		u, err := look(unitName(w.Want.Name))
		if err != nil {
			errs[i] = err
			continue
		}
		// What earlier resources change of a unit may also remove its obstacles.
		if err = doubts(ctx, h, w.Want, u); err == nil {
			err = obstacles(h, u, pending(w))
		}
		errs[i] = errors.Join(err, outcome(w), affects(ctx, h, w))
	}
	return errs
}

// obstacles returns why a unit can't be brought into the desired state.
func obstacles(h host.Reader, u unit, want attributes) error {
	if mustUnmask(u, want) {
		if err := maskedByTemplate(h, u); err != nil {
			return err
		}
	}
	switch there := hasFile(h, u.ID); {
	case u.missing() && u.NeedsDaemonReload:
		return &resource.UnknownError{Reason: "loads a new unit"}
	case needsUnit(want) && (u.missing() || u.masked() && !there):
		return notFound(unitName(want.Name))
	}
	var errs []error
	for _, refusal := range refusals(h, u, want) {
		errs = append(errs, refusal.Err)
	}
	return errors.Join(errs...)
}

// refusals returns why properties of a unit that exists can't be changed, at most one for each.
func refusals(h host.Reader, u unit, want attributes) (all []resource.PropertyError) {
	for _, p := range []resource.PropertyError{
		{Property: resource.Ensure, Err: refusesState(u, want)},
		{Property: "enable", Err: unenableable(h, u, want)},
		{Property: "mask", Err: unmaskable(h, u, want)},
	} {
		if p.Err != nil {
			all = append(all, p)
		}
	}
	return all
}

// refusesState returns why systemd won't start or stop a unit. What it has not read or hides is not known.
func refusesState(u unit, want attributes) error {
	is := u.ensure(want)
	switch {
	case is == crashing: // systemd is starting it already
		return whyCrashing(u)
	case wantsRunning(want) && is == stopped:
		return refusesStart(u, want)
	case wantsStopped(want) && is == running && want.Stop == nil && u.RefusesStop:
		return refuses(u, "stop", "Stop", leaveOut)
	}
	return nil
}

func refusesStart(u unit, want attributes) error {
	if want.Start != nil || !u.RefusesStart || u.isHidden() {
		return nil
	}
	return refuses(u, "start", "Start", leaveOut)
}

// isHidden reports whether systemd has not read the unit as it is, or a mask hides it.
func (u unit) isHidden() bool { return u.NeedsDaemonReload || u.masked() }

const leaveOut = "leave ensure out"

func refuses(u unit, verb, setting, fix string) error {
	if u.LoadState != "loaded" && u.LoadState != "masked" {
		return fmt.Errorf("cannot %s %s: its unit file is not valid (%s): systemctl status tells why", verb, u.ID, u.LoadState)
	}
	return fmt.Errorf("cannot %s %s: only systemd itself does (RefuseManual%s=yes, or a unit such as a device): %s, or change the unit", verb, u.ID, setting, fix)
}

// refusesRefresh returns why systemd won't restart a unit.
func refusesRefresh(u unit, want attributes) error {
	own := want.Restart != nil || !ptr.Deref(want.HasRestart, true) && (want.Start != nil || want.Stop != nil)
	switch {
	case own || u.isHidden() || ptr.Deref(want.ReloadOnRefresh, false):
		return nil
	case u.RefusesStop:
		return refuses(u, "restart", "Stop", setRestart)
	case u.RefusesStart:
		return refuses(u, "restart", "Start", setRestart)
	}
	return nil
}

const setRestart = "set restart or reloadOnRefresh"

// outcome returns what decides whether a service reaches its state; nil if nothing but its supervisor does.
func outcome(w resource.Write[attributes]) error {
	switch {
	case !changes(w, resource.Ensure):
		return nil
	case wantsRunning(w.Want):
		return &resource.UnknownError{Reason: "starts the service"}
	case w.Want.Stop != nil:
		return &resource.UnknownError{Reason: "runs the stop command"}
	}
	return nil
}

func changes(w resource.Write[attributes], property string) bool {
	return slices.ContainsFunc(w.Changes, func(c resource.Change) bool { return c.Property == property })
}

// PrecheckRefresh implements [resource.RefreshPrechecker] by the rules that Refresh applies, too.
func (systemd) PrecheckRefresh(ctx context.Context, h resource.Reader, w resource.Write[attributes]) error {
	if err := willRun(w); err != nil {
		return err
	}
	u, err := seen(ctx, h, unitName(w.Want.Name))
	if err != nil {
		return err
	}
	return refusesRefresh(u, w.Want)
}

// PrecheckRefresh implements [resource.RefreshPrechecker].
func (scripted) PrecheckRefresh(_ context.Context, _ resource.Reader, w resource.Write[attributes]) error {
	return willRun(w)
}

// willRun returns ErrNothingToRefresh if a service does not run once these changes are made.
func willRun(w resource.Write[attributes]) error {
	switch {
	case wantsStopped(w.Want):
		return resource.ErrNothingToRefresh
	case !wantsRunning(w.Want) && ptr.Deref(w.Is.Ensure, stopped) == stopped:
		return &resource.ProvisionalError{Err: resource.ErrNothingToRefresh}
	}
	return nil
}

// unitDirs are the directories with unit files, the administrator's first.
func unitDirs() []string {
	return []string{"/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"}
}

// hasFile reports whether a unit has a file that is no mask, as links to /dev/null and empty files are, or a script.
func hasFile(h host.Reader, id string) bool {
	return slices.ContainsFunc(unitDirs(), func(dir string) bool {
		return slices.ContainsFunc(withTemplate(id), func(name string) bool {
			info, err := h.Stat(path.Join(dir, name))
			return err == nil && info.IsRegular() && info.Size > 0
		})
	}) || hasScript(h, id)
}

// hasScript reports whether systemd makes a unit from a script.
func hasScript(h host.Reader, id string) bool {
	info, err := h.Stat(path.Join(scriptDir, strings.TrimSuffix(id, ".service")))
	return err == nil && info.IsRegular() && info.Mode&0o111 != 0
}

func isScript(h host.Reader, name string) bool {
	info, err := h.Stat(path.Join(scriptDir, name))
	return err == nil && info.IsRegular()
}

// maskedByTemplate returns why an instance stays masked: its template is.
func maskedByTemplate(h host.Reader, u unit) error {
	names := withTemplate(u.ID)
	if len(names) == 1 {
		return nil
	}
	for _, dir := range unitDirs() {
		if _, err := h.Lstat(path.Join(dir, u.ID)); !errors.Is(err, fs.ErrNotExist) {
			return nil // its own mask comes first
		}
	}
	return fmt.Errorf("%s is masked by its template: run systemctl unmask %s on the host", u.ID, names[1])
}

// unenableable returns why a unit can't be enabled.
func unenableable(h host.Reader, u unit, want attributes) error {
	switch script := strings.TrimPrefix(u.SourcePath, scriptDir+"/"); {
	case !ptr.Deref(want.Enable, false) || ptr.Deref(enabled(u.UnitFileState), false):
		return nil
	case (u.UnitFileState == "" || u.UnitFileState == "bad") && !u.missing() && !hasFile(h, u.ID):
		return fmt.Errorf("cannot enable %s: it has no unit file: install that first, or leave enable out", u.ID)
	case script != u.SourcePath && !namesRunlevels(h, script):
		return fmt.Errorf("cannot enable %s: %s does not say when it starts: add an LSB header with Default-Start", u.ID, u.SourcePath)
	}
	return aliasTaken(h, u)
}

// aliasTaken returns an error if a file, or a mask, is where enabling a unit makes the link of an alias.
func aliasTaken(h host.Reader, u unit) error {
	for _, alias := range aliases(h, u.ID) {
		file := path.Join(unitDirs()[0], alias)
		target, _ := h.Readlink(file)
		if _, err := h.Lstat(file); err == nil && path.Base(target) != u.ID {
			return fmt.Errorf("cannot enable %s: %s exists, and its alias would have the same path: remove that file first", u.ID, file)
		}
	}
	return nil
}

// namesRunlevels reports whether a script can be enabled by update-rc.d.
func namesRunlevels(h host.Reader, script string) bool {
	text, err := h.ReadFile(path.Join(scriptDir, script))
	levels, _ := headerStart(string(text))
	return err != nil || levels != ""
}

// unmaskable returns why a unit cannot be masked: its own file is where the mask, a link, must be.
func unmaskable(h host.Reader, u unit, want attributes) error {
	if !ptr.Deref(want.Mask, false) || u.masked() {
		return nil
	}
	if u.UnitFileState == "transient" {
		return fmt.Errorf("cannot mask %s: it is a transient unit, which hides a mask: stop it, or leave mask out", u.ID)
	}
	name := cmp.Or(aliasOf(u, want), u.ID)
	file := "/etc/systemd/system/" + name
	switch _, err := h.Lstat(file); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("cannot mask %s: %w", name, err)
	}
	return fmt.Errorf("cannot mask %s: %s exists, and a mask would have the same path: move the unit to /usr/local/lib/systemd/system, or set ensure: stopped and enable: false instead", name, file)
}

// Precheck implements [resource.Prechecker] by the rules that Write applies, too.
func (s scripted) Precheck(_ context.Context, h resource.Reader, writes []resource.Write[attributes]) []error {
	reportSandboxedStatus(writes)
	errs := make([]error, len(writes))
	for i, w := range writes {
		name := strings.TrimSuffix(w.Want.Name, ".service")
		if needsUnit(w.Want) && !isScript(h, name) && !isPlannedScript(h, name) {
			errs[i] = notFound(name)
		}
		errs[i] = errors.Join(errs[i], outcome(w))
	}
	return errs
}
