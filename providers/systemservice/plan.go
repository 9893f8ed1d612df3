package systemservice

import (
	"fmt"

	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/internal/resource"
)

// A step is one call of systemctl with a verb, its options, and the unit unless it is
// for systemd as a whole.
type step struct {
	Property string // that it is for
	Verb     []string
	Global   bool
	Own      *string // command of the resource, to run instead of systemctl
}

// ensureStep is the step of a verb, by the resource's own command if it has one.
func ensureStep(own *string, verb string) step {
	return step{Property: resource.Ensure, Verb: []string{verb}, Own: own}
}

// mustUnmask reports whether the unit's mask is in the way. Puppet's rule: who wants a
// service started or enabled wants it unmasked.
func mustUnmask(u unit, want attributes) bool {
	return u.masked() && (isFalse(want.Mask) || needsUnit(want))
}

// needsUnit reports whether there must be a unit for what is wanted: what is not there
// neither runs nor starts at boot.
func needsUnit(want attributes) bool {
	return wantsRunning(want) && want.Start == nil || ptr.Deref(want.Enable, false)
}

// unmask takes the mask away that is there.
func unmask(u unit) step {
	s := step{Property: "mask", Verb: []string{"unmask"}}
	if u.UnitFileState == "masked-runtime" {
		s.Verb = append(s.Verb, "--runtime")
	}
	return s
}

// plan is the way from a unit, unmasked where need be, to what is wanted: all of it,
// because while ensure is out of sync nobody asks for the rest.
func plan(u unit, want attributes) []step {
	var steps []step
	add := func(property string, verb ...string) { steps = append(steps, step{Property: property, Verb: verb}) }
	switch is := u.ensure(want); {
	case wantsRunning(want) && is == stopped:
		if u.NeedsDaemonReload {
			steps = append(steps, daemonReload())
		}
		steps = append(steps, ensureStep(want.Start, "start"))
	case wantsStopped(want) && is == running:
		steps = append(steps, ensureStep(want.Stop, "stop"))
	}
	steps = append(steps, enableSteps(u, want)...)
	if ptr.Deref(want.Mask, false) && !u.masked() {
		add("mask", "mask")
	}
	return steps
}

func daemonReload() step {
	return step{Property: resource.Ensure, Verb: []string{"daemon-reload"}, Global: true}
}

// enableSteps also disable what is to be masked: unmasked one day, it would start at
// the next boot.
func enableSteps(u unit, want attributes) []step {
	is := enabled(u.UnitFileState)
	switch {
	case is == nil:
		return nil
	case ptr.Deref(want.Enable, false) && !*is:
		return []step{{Property: "enable", Verb: []string{"enable"}}}
	case *is && (isFalse(want.Enable) || ptr.Deref(want.Mask, false)):
		steps := []step{{Property: "enable", Verb: []string{"disable"}}}
		if u.UnitFileState == "enabled-runtime" {
			steps = append(steps, step{Property: "enable", Verb: []string{"disable", "--runtime"}})
		}
		return steps
	}
	return nil
}

// refreshSteps restart or reload a unit. Systemd does so if it still runs by then, and
// restarts one that can't be reloaded.
func refreshSteps(u unit, want attributes) []step {
	var steps []step
	switch {
	case ptr.Deref(want.ReloadOnRefresh, false):
		steps = []step{ensureStep(nil, "try-reload-or-restart")}
	case want.Restart != nil:
		steps = []step{ensureStep(want.Restart, "restart")}
	case isFalse(want.HasRestart):
		steps = []step{ensureStep(want.Stop, "stop"), ensureStep(want.Start, "start")}
	default:
		steps = []step{ensureStep(nil, "try-restart")}
	}
	if u.NeedsDaemonReload {
		steps = append([]step{daemonReload()}, steps...)
	}
	return steps
}

// settles reports whether the start of the unit says more than that its program was
// begun. Of the other types systemd waits until the program is ready.
func settles(u unit) bool {
	return u.Type != "simple" && u.Type != "idle" && u.Type != "exec"
}

// whyDown compares a unit right after its start with what it is some time later: nil
// if it ran all the while, or was done with what it had to do.
func whyDown(first, later unit) error {
	is := fmt.Sprintf("it is %s (%s)", later.ActiveState, later.SubState)
	switch {
	case first.Restarts != later.Restarts:
		return fmt.Errorf("%s ended soon after its start and systemd starts it again and again; %s", later.ID, is)
	case later.ensure(attributes{Ensure: new(running)}) == running || over(later):
		return nil
	}
	return fmt.Errorf("%s ended soon after its start; %s", later.ID, is)
}

// over reports whether the unit is one that ends by itself, and has, with success.
func over(u unit) bool {
	return u.Runs == nil && u.Type == "oneshot" && !u.RemainAfterExit && u.ActiveState == "inactive"
}

// whyOver is for a unit that was to be kept running.
func whyOver(u unit) error {
	return fmt.Errorf("%s is a oneshot service, which is over once it ran: leave ensure out, or set RemainAfterExit=yes in the unit", u.ID)
}
