package systemservice

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// sysvinit runs init scripts directly, and enables them by update-rc.d.
type sysvinit struct{}

func (sysvinit) name() string { return "sysvinit" }

func (sysvinit) Needs() resource.Needs {
	return resource.Needs{Commands: []string{"update-rc.d"}, Files: []string{scriptDir}, Remedy: "install the packages sysvinit-core and init-system-helpers"}
}

func (sysvinit) suits(h host.Reader) error {
	if _, err := h.LookPath("rc-update"); err == nil {
		return errors.New("openrc is installed, which has its own runlevels: use the provider openrc")
	}
	return nil
}

// Defaults prefers it to systemd-offline if systemctl is installed and systemd does not run.
func (sysvinit) Defaults() resource.Defaults {
	return resource.Defaults{For: []resource.Where{{"init": {"init"}}}}
}

func (sysvinit) command(service, verb string) []string {
	return []string{path.Join(scriptDir, service), verb}
}

func (sysvinit) restarts() bool { return false }

// reloadVerb is supported by all of Debian's scripts, which restart if they can't reload.
func (sysvinit) reloadVerb() string { return "force-reload" }

// starts compares the links in the runlevels with those in the script's header: an administrator may
// have removed some.
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

// defaultStart returns the runlevels in an init script's header, one letter each; the usual ones if
// it has no header.
func defaultStart(text string) string {
	if levels, found := headerStart(text); found {
		return levels
	}
	return "2345"
}

// headerStart is defaultStart for the header alone.
func headerStart(text string) (levels string, found bool) {
	for line := range strings.Lines(text) {
		if after, ok := strings.CutPrefix(line, "# Default-Start:"); ok {
			return strings.Join(strings.Fields(after), ""), true
		}
	}
	return "", false
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

// enable first creates missing links, and then makes them start the service.
func (sysvinit) enable(service string) [][]string {
	return [][]string{{"update-rc.d", service, "defaults"}, {"update-rc.d", service, "enable"}}
}

func (sysvinit) disable(service string, _ []string) [][]string {
	return [][]string{{"update-rc.d", service, "disable"}}
}
