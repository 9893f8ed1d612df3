package process

import (
	"fmt"
	"os"
	"strconv"

	"github.com/fettle-dev/fettle/internal/cli/place"
	"github.com/fettle-dev/fettle/internal/host/linux"
)

// hostPIDVariable names the environment variable with the default of --host-pid. It is set in the agent's pod.
const hostPIDVariable = "FETTLE_HOST_PID"

// Hosts returns the hosts that this process can open.
func Hosts() (place.Hosts, error) {
	pid, err := hostPID(os.Getenv(hostPIDVariable))
	return place.Hosts{Root: open, Process: openProcess, PID: pid}, err
}

// open opens a host, as the agent does: work that takes long runs in units of its systemd, and outlives this process.
func open(root string) (place.Host, error) {
	return linux.Open(linux.Options{Root: root, Transient: true})
}

// openProcess opens the host of a process.
func openProcess(pid int) (place.Host, error) {
	if err := linux.CheckProcess(pid); err != nil {
		return nil, err
	}
	return linux.Open(linux.Options{PID: pid, Transient: true})
}

// hostPID parses the variable; 0 if it is empty.
func hostPID(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	pid, err := strconv.Atoi(text)
	if err != nil || pid < 0 {
		return 0, fmt.Errorf("%s=%q is not a process: set it to 1 in a pod with hostPID, or unset it", hostPIDVariable, text)
	}
	return pid, nil
}
