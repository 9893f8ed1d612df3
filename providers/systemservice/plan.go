package systemservice

import (
	"fmt"

	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/internal/resource"
)

// A step is one call of systemctl with a verb, its options, and the unit unless it is global.
type step struct {
	Property string // that it changes
	Verb     []string
	Global   bool
	Alias    string  // the name of the unit, if not that of its file
	Own      *string // the resource's command, which runs instead of systemctl
}

// ensureStep returns the step of a verb, by the resource's command if it has one.
func ensureStep(own *string, verb string) step {
	return step{Property: resource.Ensure, Verb: []string{verb}, Own: own}
}

// mustUnmask reports whether the unit must be unmasked. As in Puppet, a service that is to be started
// or enabled is unmasked.
func mustUnmask(u unit, want attributes) bool {
	return u.masked() && (!ptr.Deref(want.Mask, true) || needsUnit(want))
}

// needsUnit reports whether the desired state requires that the unit exists.
func needsUnit(want attributes) bool {
	return wantsRunning(want) && want.Start == nil || ptr.Deref(want.Enable, false)
}

// unmask removes the present mask.
func unmask(u unit) step {
	s := step{Property: "mask", Verb: []string{"unmask"}}
	if u.UnitFileState == "masked-runtime" {
		s.Verb = append(s.Verb, "--runtime")
	}
	return s
}

// plan returns all steps from a unit, which was unmasked if necessary, to the desired state, because
// other properties are not compared while ensure is out of sync.
func plan(u unit, want attributes) []step {
	var steps []step
	masks := ptr.Deref(want.Mask, false) && !u.masked()
	switch is := u.ensure(want); {
	case wantsRunning(want) && is == stopped:
		if u.NeedsDaemonReload {
			steps = append(steps, daemonReload())
		}
		steps = append(steps, ensureStep(want.Start, "start"))
	case wantsStopped(want) && is == running:
		steps = append(steps, ensureStep(want.Stop, "stop"))
	}
	alias := aliasOf(u, want)
	if alias != "" {
		want.Mask = nil // so that the unit is not disabled
	}
	steps = append(steps, enableSteps(u, want)...)
	if masks {
		steps = append(steps, step{Property: "mask", Verb: []string{"mask"}, Alias: alias})
	}
	return steps
}

// aliasOf returns the name by which a resource masks a unit of another name; "" if they are the same. As systemctl does, a mask hides the
// name alone: the unit may have others, as ctrl-alt-del.target is also reboot.target.
func aliasOf(u unit, want attributes) string {
	if name := unitName(want.Name); name != u.ID {
		return name
	}
	return ""
}

func daemonReload() step {
	return step{Property: resource.Ensure, Verb: []string{"daemon-reload"}, Global: true}
}

// enableSteps also disable a unit that is to be masked: otherwise it would start at boot once it is
// unmasked.
func enableSteps(u unit, want attributes) []step {
	is := enabled(u.UnitFileState)
	switch {
	case is == nil:
		return nil
	case ptr.Deref(want.Enable, false) && !*is:
		return []step{{Property: "enable", Verb: []string{"enable"}}}
	case *is && (!ptr.Deref(want.Enable, true) || ptr.Deref(want.Mask, false)):
		steps := []step{{Property: "enable", Verb: []string{"disable"}}}
		if u.UnitFileState == "enabled-runtime" {
			steps = append(steps, disableRuntime())
		}
		return steps
	}
	return nil
}

func disableRuntime() step { return step{Property: "enable", Verb: []string{"disable", "--runtime"}} }

// refreshSteps restart or reload a unit. Systemd does so only if it still runs, and restarts a unit
// that can't be reloaded.
func refreshSteps(u unit, want attributes) []step {
	var steps []step
	switch {
	case ptr.Deref(want.ReloadOnRefresh, false):
		steps = []step{ensureStep(nil, "try-reload-or-restart")}
	case want.Restart != nil:
		steps = []step{ensureStep(want.Restart, "restart")}
	case !ptr.Deref(want.HasRestart, true):
		steps = []step{ensureStep(want.Stop, "stop"), ensureStep(want.Start, "start")}
	default:
		steps = []step{ensureStep(nil, "try-restart")}
	}
	if u.NeedsDaemonReload {
		steps = append([]step{daemonReload()}, steps...)
	}
	return steps
}

// startIsProof reports whether systemd waits until the unit is ready when it starts. Of the other types
// it only starts the program.
func startIsProof(u unit) bool {
	return u.Type != "simple" && u.Type != "idle" && u.Type != "exec"
}

// whyDown compares a unit right after its start with its state some time later. It returns nil if
// it still runs, or has ended with success.
func whyDown(first, later unit) error {
	is := fmt.Sprintf("it is %s (%s)", later.ActiveState, later.SubState)
	switch {
	case first.Restarts != later.Restarts:
		return fmt.Errorf("%s ended soon after its start and systemd keeps restarting it; %s", later.ID, is)
	case later.ensure(attributes{Ensure: new(running)}) == running || over(later):
		return nil
	}
	return fmt.Errorf("%s ended soon after its start; %s", later.ID, is)
}

// over reports whether the unit ends by itself and has ended with success.
func over(u unit) bool {
	return u.Runs == nil && u.Type == "oneshot" && !u.RemainAfterExit && u.ActiveState == "inactive"
}

// whyOver returns the error of a unit that cannot be running.
func whyOver(u unit) error {
	return fmt.Errorf("%s is a oneshot service, which ends once it has run: remove ensure, or set RemainAfterExit=yes in the unit", u.ID)
}
