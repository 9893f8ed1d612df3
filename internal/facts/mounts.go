package facts

import (
	"slices"
	"strings"
)

// maxMounts bounds the list: a host may have thousands of mounts.
const maxMounts = 100

// mountpoints parses a table of mounts such as /proc/1/mounts. It omits those of the kernel, systemd and container
// runtimes.
func mountpoints(table string) map[string]any {
	facts := map[string]any{}
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) < 4 {
			continue
		}
		device, point, kind := decodeOctal(f[0]), decodeOctal(f[1]), f[2]
		if isSystemMount(point, kind) || len(facts) == maxMounts {
			continue
		}
		facts[point] = map[string]any{
			"device": device, "filesystem": kind, "options": anyList(strings.Split(f[3], ",")),
		}
	}
	return facts
}

func isSystemMount(point, kind string) bool {
	if point == "/" {
		return false
	}
	if slices.Contains([]string{
		"autofs", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs", "efivarfs", "fusectl",
		"hugetlbfs", "mqueue", "nsfs", "overlay", "proc", "pstore", "ramfs", "rpc_pipefs", "securityfs", "selinuxfs", "squashfs", "sysfs", "tracefs",
	}, kind) {
		return true
	}
	return slices.ContainsFunc([]string{
		"/dev", "/proc", "/run", "/snap", "/sys", "/var/lib/containerd", "/var/lib/containers", "/var/lib/docker", "/var/lib/kubelet", "/var/lib/rancher", "/var/run",
	}, func(dir string) bool { return point == dir || strings.HasPrefix(point, dir+"/") })
}

// decodeOctal decodes the escapes of spaces in a table of mounts: \040.
func decodeOctal(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}
