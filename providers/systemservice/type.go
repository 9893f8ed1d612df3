// Package systemservice is the resource type SystemService: services of the host's service
// supervisor.
//
// Pure functions decide from one [unit], which is the output of systemctl show, or one [script]; the
// providers only query and run commands.
//
// One systemctl show reads all units: D-Bus is faster only for a single unit and an open connection
// (go test ./providers/systemservice -bench ReadUnits).
package systemservice

import (
	_ "embed"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/resource"
)

//go:embed doc.md
var doc string

//go:embed example.yaml
var example string

// attributes are the attributes of a resource, desired or as read by a provider.
type attributes = v1alpha1.SystemServiceAttributes

// The features of providers.
const (
	controllable resource.Feature = "controllable"
	refreshable  resource.Feature = "refreshable"
	enableable   resource.Feature = "enableable"
	maskable     resource.Feature = "maskable"
)

// Values of ensure.
const (
	running = "running"
	stopped = "stopped"
)

// Type returns the resource type. Its value is not shared.
func Type() *resource.Type[attributes] {
	return &resource.Type[attributes]{
		Name:    "SystemService",
		Doc:     doc,
		Example: example,
		Features: []resource.FeatureDoc{
			{Name: controllable, Doc: "Services can be started and stopped."},
			{Name: refreshable, Doc: "Running services can be restarted or reloaded."},
			{Name: enableable, Doc: "Services can be enabled and disabled at boot."},
			{Name: maskable, Doc: "Services can be masked, so that they cannot be started."},
		},
		Properties:  properties(),
		Parameters:  parameters(),
		Providers:   []resource.Provider[attributes]{systemd{}, offline{}, scripted{openrc{}}, scripted{sysvinit{}}},
		NamevarName: "name",
		Namevar:     func(a *attributes) *string { return &a.Name },
		Normalize:   normalize,
		OneOf: []resource.OneOf[attributes]{
			{Attribute: "ensure", Value: func(a *attributes) *string { return a.Ensure }, Words: []string{running, stopped}},
		},
		Validate: validate,
		Deletion: &resource.Deletion[attributes]{Delete: deleted},
		// A service may start and stop others.
		Traits: resource.Traits{SideEffects: true},
	}
}

// deleted turns off the managed properties of a service. The unit itself is removed with its package.
func deleted(want attributes) attributes {
	off := func(is *bool) *bool {
		if is == nil {
			return nil
		}
		return new(false)
	}
	if want.Ensure != nil {
		want.Ensure = new(stopped)
	}
	want.Enable, want.Mask = off(want.Enable), off(want.Mask)
	return want
}

func properties() []resource.Property[attributes] {
	ensure := resource.Field(resource.Ensure, "Whether the service runs now: running or stopped.",
		func(a *attributes) *string { return a.Ensure })
	ensure.Feature = controllable
	ensure.InvalidatesRefresh = func(want attributes) bool { return *want.Ensure == running }

	enable := resource.Field("enable", "Whether the service starts at boot.", func(a *attributes) *bool { return a.Enable })
	enable.Feature = enableable
	enable.InSync = func(is, want attributes) bool {
		return is.Enable == nil || *is.Enable == *want.Enable // nil: a unit that cannot be enabled
	}

	mask := resource.Field("mask", "Whether the service is masked, so that it cannot be started.", func(a *attributes) *bool { return a.Mask })
	mask.Feature = maskable
	return []resource.Property[attributes]{ensure, enable, mask}
}

func parameters() []resource.Parameter {
	return []resource.Parameter{
		{Name: "start", Doc: "A command that starts the service, instead of the supervisor.", Feature: controllable},
		{Name: "stop", Doc: "A command that stops the service, instead of the supervisor.", Feature: controllable},
		{Name: "restart", Doc: "A command that restarts the service when it is notified, instead of the supervisor.", Feature: refreshable},
		{Name: "status", Doc: "A command that exits with 0 if the service runs, and changes nothing.", Feature: controllable},
		{Name: "hasRestart", Doc: "Whether the service's script can restart it. If false, a refresh stops and starts it.", Feature: refreshable},
		{Name: "hasStatus", Doc: "Whether the supervisor reports if the service runs. If false, it runs if a process matches the pattern.", Feature: controllable},
		{Name: "pattern", Doc: "A regular expression for the command line of the service's process. By default it is the service's name.", Feature: controllable},
		{Name: "reloadOnRefresh", Doc: "Reload the service instead of restarting it when it is notified. One that can't reload is restarted.", Feature: refreshable},
	}
}

// normalize removes the suffix .service, which systemctl adds by itself, unless the rest would be the
// name of another type of unit.
func normalize(a *attributes) {
	if short, ok := strings.CutSuffix(a.Name, ".service"); ok && short != "" && unitName(short) == a.Name {
		a.Name = short
	}
}

// unitName returns the unit of a name.
func unitName(name string) string {
	switch strings.TrimPrefix(path.Ext(name), ".") {
	case "service", "socket", "device", "mount", "automount", "swap", "target", "path", "timer", "slice", "scope":
		return name
	}
	return name + ".service"
}

func validate(want attributes) error {
	return errors.Join(validateName(want.Name), validateCommands(want))
}

// validateName rejects templates, which the schema admits. It repeats the schema's rule, because systemctl would take other names for
// options, or for patterns of any number of units.
func validateName(name string) error {
	switch {
	case !validName.MatchString(name) || len(unitName(name)) > 255:
		return fmt.Errorf("name %q cannot be that of a unit: use letters, digits and :_.@-, such as nginx or nginx.service", name)
	case strings.Contains(unitName(name), "@."):
		return fmt.Errorf("name %q is a template, not a service: name an instance, such as getty@tty1", name)
	}
	return nil
}

var validName = regexp.MustCompile(`^[A-Za-z0-9:_.@][A-Za-z0-9:_.@-]*$`)

func wantsRunning(want attributes) bool { return want.Ensure != nil && *want.Ensure == running }
func wantsStopped(want attributes) bool { return want.Ensure != nil && *want.Ensure == stopped }
