package systemservice

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
)

// Systemd starts and stops units along with others, by Requires= and the like, and enables them by Also= and Alias=. A plan therefore
// can't tell the state of a service whose unit an earlier service of the plan affects, or whose files an earlier File changes.

var (
	_ resource.ReadPrechecker[attributes] = systemd{}
	_ resource.ReadPrechecker[attributes] = offline{}
	_ resource.ReadPrechecker[attributes] = scripted{}
)

// PrecheckRead implements [resource.ReadPrechecker].
func (systemd) PrecheckRead(ctx context.Context, h resource.Reader, _, want attributes) error {
	return precheckRead(ctx, h, want, func() (unit, error) { return seen(ctx, h, unitName(want.Name)) })
}

// PrecheckRead implements [resource.ReadPrechecker].
func (offline) PrecheckRead(ctx context.Context, h resource.Reader, _, want attributes) error {
	return precheckRead(ctx, h, want, func() (unit, error) { return unitFile(ctx, h, unitName(want.Name)) })
}

// PrecheckRead implements [resource.ReadPrechecker].
func (scripted) PrecheckRead(_ context.Context, h resource.Reader, _, want attributes) error {
	if isPlannedScript(h, strings.TrimSuffix(want.Name, ".service")) {
		return &resource.UnknownError{Reason: "runs a new script"}
	}
	return nil
}

func isPlannedScript(h resource.Reader, name string) bool {
	return slices.Contains(plannedFiles(h), name)
}

func precheckRead(ctx context.Context, h resource.Reader, want attributes, look func() (unit, error)) error {
	u, err := look()
	if err != nil {
		return err
	}
	return doubts(ctx, h, want, u)
}

// doubts returns why an apply may find another state of a unit.
func doubts(ctx context.Context, h resource.Reader, want attributes, u unit) error {
	files, services := plannedFiles(h), plannedServices(h)
	names := slices.Concat([]string{u.ID, unitName(want.Name)}, u.Names, aliases(h, u.ID))
	var errs []error
	if slices.ContainsFunc(files, func(file string) bool { return isOf(file, names) }) {
		errs = append(errs, &resource.UnknownError{Reason: map[bool]string{true: "loads a new unit", false: "loads a changed unit"}[u.missing()]})
	}
	for _, w := range services {
		all, err := affected(ctx, h, w, "Also", "Alias")
		own := unitName(w.Want.Name) // which may be an alias
		if err == nil && slices.ContainsFunc(names, func(name string) bool { return name == own || all[name] }) {
			err = &resource.UnknownError{Reason: "is affected by " + own}
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// isOf reports whether a file, as plannedFiles has it, is the unit file, a drop-in or a link of the unit with these names, or its script.
func isOf(file string, names []string) bool {
	return slices.ContainsFunc(strings.Split(file, "/"), func(part string) bool {
		return part == "service.d" || slices.ContainsFunc(names, func(name string) bool {
			return part == strings.TrimSuffix(name, ".service") || slices.Contains(withTemplate(name), strings.TrimSuffix(part, ".d"))
		})
	})
}

// plannedFiles returns the files of units and scripts that a plan would have changed by now, by their paths below the directory of units
// or scripts.
func plannedFiles(h resource.Reader) (all []string) {
	for file := range resource.PlannedNames(h, "File") {
		for _, dir := range append(unitDirs(), scriptDir) {
			if below, ok := strings.CutPrefix(file, dir+"/"); ok {
				all = append(all, below)
			}
		}
	}
	return all
}

// plannedServices returns the services that a plan would have changed by now.
func plannedServices(h resource.Reader) (all []resource.Write[attributes]) {
	for _, w := range resource.Planned(h) {
		if w, ok := w.(resource.Write[attributes]); ok {
			all = append(all, w)
		}
	}
	return all
}

// affects says which other units a change affects, too, so that what a plan says of these is not certain. A start is not certain anyway.
func affects(ctx context.Context, h resource.Reader, w resource.Write[attributes]) error {
	if changes(w, resource.Ensure) && wantsRunning(w.Want) {
		return nil
	}
	all, err := affected(ctx, h, w, "Also")
	if err != nil || len(all) == 0 {
		return err
	}
	return &resource.UnknownError{Reason: "affects " + text.List(slices.Sorted(maps.Keys(all))) + ", too"}
}

// affected returns the other units that systemd starts or stops along with the unit of a change, and those that systemctl enables and
// disables along with it, as these settings of its [Install] section list them.
func affected(ctx context.Context, h resource.Reader, w resource.Write[attributes], settings ...string) (map[string]bool, error) {
	name, all := unitName(w.Want.Name), map[string]bool{}
	if changes(w, resource.Ensure) {
		along, err := alongside(ctx, h, job{name, wantsRunning(w.Want)})
		if err != nil {
			return nil, err
		}
		for other := range along {
			all[other] = true
		}
	}
	if enables := pending(w).Enable != nil; enables || changes(w, "mask") {
		addInstalled(h, name, settings, all)
	}
	delete(all, name)
	return all, nil
}

// pending returns the desired state without what is so already.
func pending(w resource.Write[attributes]) attributes {
	want := w.Want
	if want.Enable != nil && w.Is.Enable != nil && *w.Is.Enable == *want.Enable {
		want.Enable = nil
	}
	return want
}

// addInstalled adds the units that settings of a unit file list, and those that their files list.
func addInstalled(h host.Reader, name string, settings []string, all map[string]bool) {
	for line := range strings.Lines(unitText(h, name)) {
		key, value, _ := strings.Cut(line, "=")
		if !slices.Contains(settings, strings.TrimSpace(key)) {
			continue
		}
		for other := range strings.FieldsSeq(value) {
			if !all[other] {
				all[other] = true
				addInstalled(h, other, settings, all)
			}
		}
	}
}

// aliases returns the names that enabling a unit gives it.
func aliases(h host.Reader, name string) []string {
	all := map[string]bool{}
	addInstalled(h, name, []string{"Alias"}, all)
	return slices.Collect(maps.Keys(all))
}

// unitText returns the text of a unit file; "" if there is none.
func unitText(h host.Reader, name string) string {
	for _, dir := range unitDirs() {
		for _, name := range withTemplate(name) {
			if content, err := h.ReadFile(path.Join(dir, name)); err == nil {
				return string(content)
			}
		}
	}
	return ""
}

// A job is the start or the stop of a unit.
type job struct {
	unit  string
	start bool
}

// alongside returns the units that systemd starts or stops along with another one, directly or not. A run asks for each only once,
// since a plan changes nothing.
func alongside(ctx context.Context, h resource.Reader, first job) (map[string]bool, error) {
	if known, ok := resource.Remembered[map[string]bool](h, first); ok {
		return known, nil
	}
	found, seen := map[string]bool{}, map[job]bool{first: true}
	for todo := []job{first}; len(todo) > 0; {
		units, err := showRelated(ctx, h, todo)
		if err != nil {
			return nil, err
		}
		var next []job
		for i, u := range units {
			if todo[i] != first && u.active() == todo[i].start {
				continue // is so already
			}
			found[u["Id"]] = true
			for _, j := range u.pulls(todo[i].start) {
				if !seen[j] {
					seen[j] = true
					next = append(next, j)
				}
			}
		}
		todo = next
	}
	delete(found, first.unit)
	resource.Remember(h, first, found)
	return found, nil
}

// relations are the properties by which units start and stop others.
const relations = "Id,ActiveState,Requires,Wants,BindsTo,Upholds,Conflicts,ConflictedBy,RequiredBy,BoundBy,ConsistsOf,PropagatesStopTo,UpheldBy"

// A related unit has these properties.
type related map[string]string

func (u related) active() bool { return u["ActiveState"] != "inactive" && u["ActiveState"] != "failed" }

// pulls returns the jobs that a start or stop of a unit adds. A unit that upholds another one is not stopped, but starts it again.
func (u related) pulls(start bool) (all []job) {
	add := func(start bool, properties ...string) {
		for _, p := range properties {
			for name := range strings.FieldsSeq(u[p]) {
				all = append(all, job{name, start})
			}
		}
	}
	if start {
		add(true, "Requires", "Wants", "BindsTo", "Upholds")
		add(false, "Conflicts", "ConflictedBy")
	} else {
		add(false, "RequiredBy", "BoundBy", "ConsistsOf", "PropagatesStopTo", "UpheldBy")
	}
	return all
}

func showRelated(ctx context.Context, h host.Reader, jobs []job) ([]related, error) {
	args := []string{"systemctl", "show", "--no-pager", "--property=" + relations, "--"}
	for _, j := range jobs {
		args = append(args, j.unit)
	}
	res, err := query(ctx, h, args...)
	if err != nil {
		return nil, err
	}
	blocks := strings.Split(strings.TrimSpace(string(res.Stdout)), "\n\n")
	if len(blocks) != len(jobs) {
		return nil, fmt.Errorf("systemctl show returned %d units instead of %d", len(blocks), len(jobs))
	}
	units := make([]related, len(jobs))
	for i, block := range blocks {
		units[i] = related(parseBlock(block))
	}
	return units, nil
}
