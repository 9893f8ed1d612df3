package systemservice

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// sysvinit runs init scripts by themselves, and update-rc.d for the next boot.
type sysvinit struct{}

func (sysvinit) name() string { return "sysvinit" }

func (sysvinit) Needs() resource.Needs {
	return resource.Needs{Commands: []string{"update-rc.d"}, Files: []string{scriptDir}, Remedy: "the packages sysvinit-core and init-system-helpers have them"}
}

func (sysvinit) suits(h host.Reader) error {
	if _, err := h.LookPath("rc-update"); err == nil {
		return errors.New("openrc is installed, which keeps runlevels of its own: use the provider openrc")
	}
	return nil
}

// Defaults puts it before systemd-offline, where systemctl is there and the host runs without it.
func (sysvinit) Defaults() resource.Defaults {
	return resource.Defaults{For: []resource.Where{{"init": {"init"}}}}
}

func (sysvinit) command(service, verb string) []string {
	return []string{path.Join(scriptDir, service), verb}
}

func (sysvinit) restarts() bool { return false }

// Debian's scripts all know it, and restart where they can't reload.
func (sysvinit) reloadVerb() string { return "force-reload" }

// starts compares the links of the runlevels with those that the script asks for: an
// administrator may have taken away some.
func (sysvinit) starts(h host.Reader, service string) (atBoot, error) {
	text, err := h.ReadFile(path.Join(scriptDir, service))
	if err != nil {
		return atBoot{}, err
	}
	levels := defaultStart(string(text))
	var found atBoot
	asked := 0
	for _, level := range []string{"S", "2", "3", "4", "5"} {
		starts, err := startsIn(h, level, service)
		if err != nil {
			return atBoot{}, err
		}
		if starts {
			found.Levels = append(found.Levels, level)
			asked += strings.Count(levels, level)
		}
	}
	if none, all := len(found.Levels) == 0, asked == len(levels); none || all {
		found.Starts = new(!none)
	}
	return found, nil
}

// defaultStart is the runlevels that an init script's header asks for, a letter each;
// those of every service where it has none.
func defaultStart(text string) string {
	for line := range strings.Lines(text) {
		if after, ok := strings.CutPrefix(line, "# Default-Start:"); ok {
			return strings.Join(strings.Fields(after), "")
		}
	}
	return "2345"
}

// startsIn looks for a link such as S01ssh.
func startsIn(h host.Reader, level, service string) (bool, error) {
	names, err := h.ReadDir("/etc/rc" + level + ".d")
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	for _, name := range names {
		if len(name) > 3 && name[0] == 'S' && name[3:] == service {
			return true, nil
		}
	}
	return false, err
}

// The first makes links where there are none, the second starts by those that are there.
func (sysvinit) enable(service string) [][]string {
	return [][]string{{"update-rc.d", service, "defaults"}, {"update-rc.d", service, "enable"}}
}

func (sysvinit) disable(service string, _ []string) [][]string {
	return [][]string{{"update-rc.d", service, "disable"}}
}
