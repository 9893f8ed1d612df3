package systemservice

import (
	"errors"
	"io/fs"
	"path"
	"slices"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// openrc controls services by rc-service, and enables them by rc-update.
type openrc struct{}

func (openrc) name() string { return "openrc" }

func (openrc) Needs() resource.Needs {
	return resource.Needs{Commands: []string{"rc-service", "rc-update"}, Remedy: "install openrc"}
}

func (openrc) suits(host.Reader) error { return nil }

// Defaults has both, since the first process may belong to openrc, sysvinit or busybox. Where openrc
// is installed, sysvinit does not suit.
func (openrc) Defaults() resource.Defaults {
	return resource.Defaults{For: []resource.Where{{"init": {"init", "openrc-init"}}, {"os.family": {"Gentoo", "Alpine"}}}}
}

func (openrc) command(service, verb string) []string { return []string{"rc-service", service, verb} }

func (openrc) restarts() bool     { return true }
func (openrc) reloadVerb() string { return "reload" }

// starts looks for the link in the runlevels. The administrator chooses which of them a boot enters, so
// any counts but a shutdown's.
func (openrc) starts(h host.Reader, service string) (atBoot, error) {
	const levels = "/etc/runlevels"
	names, err := h.ReadDir(levels)
	if errors.Is(err, fs.ErrNotExist) {
		return atBoot{Starts: new(false)}, nil
	}
	if err != nil {
		return atBoot{}, err
	}
	var found atBoot
	for _, level := range slices.DeleteFunc(names, func(name string) bool { return name == "shutdown" || name == "off" }) {
		switch _, err := h.Lstat(path.Join(levels, level, service)); {
		case err == nil:
			found.Levels = append(found.Levels, level)
		case !errors.Is(err, fs.ErrNotExist):
			return atBoot{}, err
		}
	}
	found.Starts = new(len(found.Levels) > 0)
	return found, nil
}

func (openrc) enable(service string) [][]string {
	return [][]string{{"rc-update", "--quiet", "add", service, "default"}}
}

// disable lists the runlevels, because rc-update --all fails if the service is not in each.
func (openrc) disable(service string, levels []string) [][]string {
	return [][]string{append([]string{"rc-update", "--quiet", "delete", service}, levels...)}
}
