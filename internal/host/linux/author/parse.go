package author

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/internal/host"
)

// Files are what /proc says about a process: where exe leads, and the contents of status, loginuid and cgroup. A process
// that has ended has no executable; what could not be read is "".
type Files struct{ Executable, Status, LoginUID, Cgroup string }

// Author describes a process. It is nil if the files say too little, since a number alone is of no use, and for a process in a unit
// in which we start commands.
func (f Files) Author(pid int64) *host.Author {
	is := parseStatus(f.Status)
	a := host.Author{Executable: cmp.Or(f.Executable, is.name), PID: pid, UID: is.uid, LoginUID: parseUID(f.LoginUID)}
	a.Unit, a.Pod = parseCgroup(f.Cgroup)
	if a.Executable == "" && a.Unit == "" && a.Pod == "" || isOwnUnit(a.Unit) {
		return nil
	}
	return &a
}

// A status is what /proc/PID/status says.
type status struct {
	name   string
	parent int64
	uid    *int64 // effective
}

func parseStatus(text string) status {
	var s status
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":\t")
		switch key {
		case "Name":
			s.name = value
		case "PPid":
			s.parent, _ = strconv.ParseInt(value, 10, 64)
		case "Uid": // real, effective, saved, filesystem
			if all := strings.Fields(value); len(all) > 1 {
				s.uid = parseUID(all[1])
			}
		}
	}
	return s
}

// parseUID returns nil for the ID that stands for none.
func parseUID(text string) *int64 {
	id, err := strconv.ParseUint(strings.TrimSpace(text), 10, 32)
	if err != nil || uint32(id) == ^uint32(0) {
		return nil
	}
	return new(int64(id))
}

// parseCgroup returns the unit or the pod that a control group belongs to. The group nearest to the root decides: what is
// below a service or in a container is named by those who run there.
func parseCgroup(text string) (unit, pod string) {
	kubepods := false
	for name := range strings.SplitSeq(cgroupOf(text), "/") {
		if match := podSlice().FindStringSubmatch(name); match != nil {
			return "", strings.ReplaceAll(match[1], "_", "-")
		}
		if match := podGroup().FindStringSubmatch(name); match != nil && kubepods {
			return "", match[1]
		}
		if len(name) <= maxUnit && unitName.MatchString(name) {
			return name, ""
		}
		kubepods = kubepods || name == "kubepods"
	}
	return "", ""
}

// cgroupOf returns the path of the control group that systemd manages: of version 1, which comes first, or 2.
func cgroupOf(text string) string {
	dir := ""
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) == 3 && (fields[1] == "name=systemd" || fields[1] == "" && dir == "") {
			dir = fields[2]
		}
	}
	return dir
}

// PodName returns a pod as NAMESPACE/NAME if one of these directories has its logs: kubelet calls them NAMESPACE_NAME_UID. Otherwise it
// returns the UID.
func PodName(uid string, logs []string) string {
	for _, dir := range logs {
		if parts := strings.Split(dir, "_"); len(parts) == 3 && parts[2] == uid {
			return parts[0] + "/" + parts[1]
		}
	}
	return uid
}

// maxUnit is the longest name of a unit.
const maxUnit = 255

// Control groups of pods as systemd and as kubelet itself name them, and of units.
var (
	podSlice = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:[a-z0-9]+-)*kubepods(?:-burstable|-besteffort)?-pod([0-9a-f_]{8,64})\.slice$`)
	})
	podGroup = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^pod([0-9a-f-]{8,64})$`) })
	unitName = regexp.MustCompile(`^[A-Za-z0-9:_.\\@-]+\.(?:service|scope)$`)
)

// isOwnUnit reports whether we start commands in units of this name.
func isOwnUnit(unit string) bool { return strings.HasPrefix(unit, "fettle-") }
