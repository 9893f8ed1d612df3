package systemservice

import (
	"fmt"
	"slices"
	"strings"
)

// A unit is the output of systemctl show.
type unit struct {
	ID                string   // its own name, also if an alias was queried
	Names             []string // and the aliases
	LoadState         string
	ActiveState       string
	SubState          string
	UnitFileState     string
	SourcePath        string // of the script that a generator made it from
	Type              string // of service: simple, oneshot, ...
	RemainAfterExit   bool
	NeedsDaemonReload bool
	DropIns           []string // paths, as systemd has read them
	RefusesStart      bool     // on request: by RefuseManualStart=, its type, or because it was not loaded
	RefusesStop       bool
	Runs              *bool  // by the resource's status or pattern, which overrides systemd's state
	Restarts          string // NRestarts: by systemd itself, since it was last started
	ActiveEnter       string // ActiveEnterTimestampMonotonic, in microseconds since boot
	CrashLoops        bool
}

// shown are the properties of a unit by systemctl's names.
const shown = "Id,Names,LoadState,ActiveState,SubState,UnitFileState,SourcePath,Type,RemainAfterExit,NeedDaemonReload,DropInPaths,CanStart,CanStop,NRestarts,ActiveEnterTimestampMonotonic"

// parseUnits parses the output of systemctl show for these names: for each a block of Property=value
// lines, in order, separated by empty lines.
func parseUnits(output string, names []string) ([]unit, error) {
	blocks := strings.Split(strings.TrimSpace(output), "\n\n")
	if len(blocks) != len(names) {
		return nil, fmt.Errorf("systemctl show returned %d units instead of %d", len(blocks), len(names))
	}
	units := make([]unit, len(names))
	for i, block := range blocks {
		units[i] = parseUnit(block)
		if units[i].ID != names[i] && !slices.Contains(units[i].Names, names[i]) {
			return nil, fmt.Errorf("systemctl show returned %q instead of %q", units[i].ID, names[i])
		}
	}
	return units, nil
}

// parseBlock parses the block of a unit.
func parseBlock(block string) map[string]string {
	p := map[string]string{}
	for line := range strings.Lines(block) {
		if name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "="); ok {
			p[name] = value
		}
	}
	return p
}

func parseUnit(block string) unit {
	p := parseBlock(block)
	return unit{
		ID:                p["Id"],
		Names:             strings.Fields(p["Names"]),
		LoadState:         p["LoadState"],
		ActiveState:       p["ActiveState"],
		SubState:          p["SubState"],
		UnitFileState:     p["UnitFileState"],
		SourcePath:        p["SourcePath"],
		Type:              p["Type"],
		RemainAfterExit:   p["RemainAfterExit"] == "yes",
		NeedsDaemonReload: p["NeedDaemonReload"] == "yes",
		DropIns:           strings.Fields(p["DropInPaths"]),
		RefusesStart:      p["CanStart"] == "no",
		RefusesStop:       p["CanStop"] == "no",
		Restarts:          p["NRestarts"],
		ActiveEnter:       p["ActiveEnterTimestampMonotonic"],
	}
}

// state returns the unit in the form of want.
func (u unit) state(want attributes) attributes {
	ensure, mask := u.ensure(want), u.masked()
	return attributes{Name: want.Name, Ensure: &ensure, Enable: enabled(u.UnitFileState), Mask: &mask}
}

// ensure returns whether the unit runs. While it starts or stops, it is the opposite of want, so that the
// transition is awaited; if ensure is not managed, it is the end of the transition.
func (u unit) ensure(want attributes) string {
	if u.Runs != nil {
		return runState(*u.Runs)
	}
	if u.CrashLoops && wantsRunning(want) {
		return crashing
	}
	switch u.ActiveState {
	case "active", "reloading", "refreshing":
		return running
	case "activating":
		if wantsRunning(want) {
			return stopped
		}
		return running
	case "deactivating":
		if wantsStopped(want) {
			return running
		}
	}
	return stopped
}

func runState(runs bool) string {
	if runs {
		return running
	}
	return stopped
}

// enabled returns whether a unit with this file state starts at boot; nil if the unit cannot be
// enabled, or not by itself.
func enabled(unitFileState string) *bool {
	switch unitFileState {
	case "static", "indirect", "generated", "transient":
		return nil
	case "enabled", "enabled-runtime":
		return new(true)
	}
	return new(false) // disabled, linked, masked, bad, or "" if there is no unit
}

func (u unit) masked() bool {
	return strings.HasPrefix(u.UnitFileState, "masked") || u.LoadState == "masked"
}

func (u unit) missing() bool { return u.LoadState == "not-found" }

// sysv reports whether the unit was generated from a script of /etc/init.d. The tool for those determines
// whether it starts at boot.
func (u unit) sysv() bool {
	return u.UnitFileState == "generated" && strings.HasPrefix(u.SourcePath, "/etc/init.d/")
}
