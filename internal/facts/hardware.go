package facts

import (
	"bufio"
	"slices"
	"strconv"
	"strings"
)

// memory parses /proc/meminfo: total memory, not free memory.
func memory(meminfo string) map[string]any {
	facts := map[string]any{}
	for line := range strings.Lines(meminfo) {
		name, value, _ := strings.Cut(line, ":")
		kib, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 64)
		if err != nil || kib == 0 {
			continue
		}
		switch name {
		case "MemTotal":
			facts["system"] = map[string]any{"total_bytes": kib * 1024}
		case "SwapTotal":
			facts["swap"] = map[string]any{"total_bytes": kib * 1024}
		}
	}
	return facts
}

// cpus are the processors of /proc/cpuinfo.
type cpus struct {
	count      int
	models     []string // each once
	packages   []string // ids of the sockets
	hypervisor bool     // the hypervisor flag of virtual machines
}

func (g *gatherer) cpus() cpus { return parseCPUs(g.text("/proc/cpuinfo")) }

func parseCPUs(cpuinfo string) cpus {
	var c cpus
	lines := bufio.NewScanner(strings.NewReader(cpuinfo))
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(name) {
		case "processor":
			c.count++
		case "model name", "cpu": // the second on POWER
			c.models = with(c.models, value)
		case "physical id":
			c.packages = with(c.packages, value)
		case "flags":
			c.hypervisor = c.hypervisor || slices.Contains(strings.Fields(value), "hypervisor")
		}
	}
	return c
}

func with(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

func (c cpus) facts() map[string]any {
	facts := map[string]any{"isa": machine()}
	if c.count > 0 {
		facts["count"] = float64(c.count)
	}
	if len(c.packages) > 0 {
		facts["physicalcount"] = float64(len(c.packages))
	}
	set(facts, "models", anyList(c.models))
	return facts
}

func anyList(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

// dmi is the firmware's description of the machine. Serial numbers and the UUID are omitted: nodes
// have names.
func (g *gatherer) dmi() map[string]any {
	facts := map[string]any{}
	set(facts, "manufacturer", g.firmware("sys_vendor"))
	for name, files := range map[string]map[string]string{
		"product": {"name": "product_name", "version": "product_version"},
		"bios":    {"vendor": "bios_vendor", "version": "bios_version", "release_date": "bios_date"},
		"board":   {"manufacturer": "board_vendor", "product": "board_name"},
		"chassis": {"manufacturer": "chassis_vendor", "type": "chassis_type"},
	} {
		part := map[string]any{}
		for fact, file := range files {
			set(part, fact, g.firmware(file))
		}
		set(facts, name, part)
	}
	return facts
}

// firmware returns a field of DMI, "" if the machine lacks it.
func (g *gatherer) firmware(field string) string {
	text, err := g.ReadFile("/sys/class/dmi/id/" + field)
	if err != nil { // some firmware returns an error for missing fields
		return ""
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(text), ""))
}

const physical = "physical"

// virtual is the kind of container or virtual machine, or physical. A container in a virtual machine
// is a container.
func (g *gatherer) virtual(c cpus) string {
	if v := g.container(); v != "" {
		return v
	}
	vendor := strings.Join([]string{g.firmware("sys_vendor"), g.firmware("product_name"), g.firmware("bios_vendor")}, "\n")
	return hypervisor(vendor, g.line("/sys/hypervisor/type"), c.hypervisor)
}

// container is the kind of container, "" if the host is none.
func (g *gatherer) container() string {
	is := g.line("/run/systemd/container")
	switch {
	case is != "":
		return strings.ReplaceAll(is, "-", "_")
	case g.exists("/.dockerenv"):
		return "docker"
	case g.exists("/run/.containerenv"):
		return "podman"
	case g.exists("/proc/vz") && !g.exists("/proc/bc"):
		return "openvzve"
	}
	return ""
}

func hypervisor(vendor, sysHypervisor string, flag bool) string {
	for _, h := range []struct{ mark, name string }{
		{"VMware", "vmware"},
		{"VirtualBox", "virtualbox"},
		{"innotek", "virtualbox"},
		{"Microsoft Corporation\nVirtual Machine", "hyperv"},
		{"Google", "gce"},
		{"Parallels", "parallels"},
		{"HVM domU", "xenhvm"},
		{"Bochs", "bochs"},
		{"Amazon EC2", "kvm"},
		{"QEMU", "kvm"},
		{"KVM", "kvm"},
		{"OpenStack", "kvm"},
		{"Hetzner", "kvm"},
		{"DigitalOcean", "kvm"},
	} {
		// Bare-metal machines of a cloud name the cloud too.
		if strings.Contains(vendor, h.mark) && !(h.mark == "Amazon EC2" && strings.Contains(vendor, ".metal")) {
			return h.name
		}
	}
	switch {
	case sysHypervisor == "xen":
		return "xenu"
	case flag:
		return "kvm"
	}
	return physical
}
