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
	noteStatus(writes)
	return precheck(ctx, h, writes, func(ctx context.Context, name string) (unit, error) {
		units, err := show(ctx, h, name)
		if err != nil {
			return unit{}, err
		}
		return units[0], nil
	})
}

// Precheck implements [resource.Prechecker] by the rules that Write applies, too.
func (offline) Precheck(ctx context.Context, h resource.Reader, writes []resource.Write[attributes]) []error {
	return precheck(ctx, h, writes, func(ctx context.Context, name string) (unit, error) { return unitFile(ctx, h, name) })
}

// precheck returns why changes of units would fail, or that what they start decides.
func precheck(ctx context.Context, h resource.Reader, writes []resource.Write[attributes], look func(context.Context, string) (unit, error)) []error {
	errs := make([]error, len(writes))
	for i, w := range writes {
		u, err := look(ctx, unitName(w.Want.Name))
		if err != nil {
			errs[i] = err
			continue
		}
		errs[i] = errors.Join(obstacles(h, u, w.Want), outcome(w.Want, w.Changes))
	}
	return errs
}

// obstacles returns why a unit can't be brought into the desired state.
func obstacles(h host.Reader, u unit, want attributes) error {
	var errs []error
	if needsUnit(want) && (u.missing() || u.masked() && !hasFile(h, u.ID)) {
		errs = append(errs, missingUnit(u.ID, notFound(unitName(want.Name))))
	}
	if u.ensure(want) == crashing { // systemd is starting it already
		errs = append(errs, whyCrashing(u))
	}
	return errors.Join(append(errs, unmaskable(h, u, want))...)
}

// outcome returns what decides whether a service reaches its state; nil if nothing but its supervisor does.
func outcome(want attributes, changes []resource.Change) error {
	if !slices.ContainsFunc(changes, func(c resource.Change) bool { return c.Property == resource.Ensure }) {
		return nil
	}
	switch {
	case wantsRunning(want):
		return &resource.UnknownError{Reason: "starts the service"}
	case want.Stop != nil:
		return &resource.UnknownError{Reason: "runs the stop command"}
	}
	return nil
}

// unitDirs are the directories with unit files, without those of masks.
func unitDirs() []string {
	return []string{"/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system", "/run/systemd/system", "/etc/systemd/system"}
}

// hasFile reports whether a unit that is masked has a file besides the mask, or a script.
func hasFile(h host.Reader, id string) bool {
	return slices.ContainsFunc(unitDirs(), func(dir string) bool {
		info, err := h.Stat(path.Join(dir, id))
		return err == nil && info.IsRegular()
	}) || isScript(h, strings.TrimSuffix(id, ".service"))
}

func isScript(h host.Reader, name string) bool {
	info, err := h.Stat(path.Join(scriptDir, name))
	return err == nil && info.IsRegular()
}

// missingUnit is an error about a missing unit, which a File may make.
func missingUnit(id string, err error) error {
	for _, dir := range unitDirs() {
		err = &resource.MissingError{Kind: "File", Name: path.Join(dir, id), Err: err}
	}
	err = &resource.MissingError{Kind: "File", Name: path.Join(scriptDir, strings.TrimSuffix(id, ".service")), Err: err}
	return errors.Join(err, &resource.UnknownError{Reason: "loads a new unit"})
}

// unmaskable returns why a unit cannot be masked: its own file is where the mask, a link, must be.
func unmaskable(h host.Reader, u unit, want attributes) error {
	if !ptr.Deref(want.Mask, false) || u.masked() {
		return nil
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
	noteStatus(writes)
	errs := make([]error, len(writes))
	for i, w := range writes {
		name := strings.TrimSuffix(w.Want.Name, ".service")
		if needsUnit(w.Want) && !isScript(h, name) {
			errs[i] = missingUnit(name+".service", notFound(name))
		}
		errs[i] = errors.Join(errs[i], outcome(w.Want, w.Changes))
	}
	return errs
}
