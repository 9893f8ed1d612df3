package facts

import (
	"cmp"
	"runtime"
	"strings"
)

// os describes the operating system.
func (g *gatherer) os() map[string]any {
	release := g.text("/etc/os-release")
	if release == "" {
		release = g.text("/usr/lib/os-release")
	}
	facts := osFacts(assignments(release), g.line("/etc/debian_version"))
	set(facts, "architecture", architecture(facts["family"]))
	set(facts, "hardware", machine())
	set(facts, "selinux", g.selinux())
	return facts
}

// A distribution has Facter's names.
type distribution struct{ name, family string }

// known returns a distribution by the ID of os-release.
func known(id string) (distribution, bool) {
	d, ok := map[string]distribution{
		"debian":              {"Debian", "Debian"},
		"ubuntu":              {"Ubuntu", "Debian"},
		"raspbian":            {"Raspbian", "Debian"},
		"linuxmint":           {"Linuxmint", "Debian"},
		"pop":                 {"Pop", "Debian"},
		"devuan":              {"Devuan", "Debian"},
		"kali":                {"Kali", "Debian"},
		"rhel":                {"RedHat", "RedHat"},
		"centos":              {"CentOS", "RedHat"},
		"fedora":              {"Fedora", "RedHat"},
		"rocky":               {"Rocky", "RedHat"},
		"almalinux":           {"AlmaLinux", "RedHat"},
		"ol":                  {"OracleLinux", "RedHat"},
		"amzn":                {"Amazon", "RedHat"},
		"sles":                {"SLES", "Suse"},
		"sled":                {"SLED", "Suse"},
		"suse":                {"SLES", "Suse"},
		"opensuse":            {"OpenSuSE", "Suse"},
		"opensuse-leap":       {"OpenSuSE", "Suse"},
		"opensuse-tumbleweed": {"OpenSuSE", "Suse"},
		"sle-micro":           {"SLE-Micro", "Suse"},
		"arch":                {"Archlinux", "Archlinux"},
		"manjaro":             {"Manjaro", "Archlinux"},
		"alpine":              {"Alpine", "Alpine"},
		"gentoo":              {"Gentoo", "Gentoo"},
		"flatcar":             {"Flatcar", "Flatcar"},
		"bottlerocket":        {"Bottlerocket", "Bottlerocket"},
	}[id]
	return d, ok
}

// distributionOf looks up the ID. An unknown distribution gets the family of the first known one in
// ID_LIKE.
func distributionOf(release map[string]string) distribution {
	id := strings.ToLower(release["ID"])
	if d, ok := known(id); ok {
		return d
	}
	name := cmp.Or(release["NAME"], release["ID"])
	for like := range strings.FieldsSeq(strings.ToLower(release["ID_LIKE"])) {
		if d, ok := known(like); ok {
			return distribution{name, d.family}
		}
	}
	return distribution{name, name}
}

func osFacts(release map[string]string, debianVersion string) map[string]any {
	d := distributionOf(release)
	full := release["VERSION_ID"]
	// Debian's os-release has no point release.
	if d.name == "Debian" && strings.ContainsAny(debianVersion, "0123456789") && !strings.Contains(debianVersion, "/") {
		full = debianVersion
	}
	facts := map[string]any{}
	set(facts, "name", d.name)
	set(facts, "family", d.family)
	set(facts, "release", versions(full, d.name))
	distro := map[string]any{}
	set(distro, "id", release["ID"])
	set(distro, "codename", release["VERSION_CODENAME"])
	set(distro, "description", release["PRETTY_NAME"])
	set(facts, "distro", distro)
	return facts
}

// versions splits 12.5 into its parts. Ubuntu's major release is 24.04.
func versions(full, name string) map[string]any {
	v := map[string]any{}
	set(v, "full", full)
	if name == "Ubuntu" {
		set(v, "major", full)
		return v
	}
	major, rest, _ := strings.Cut(full, ".")
	minor, _, _ := strings.Cut(rest, ".")
	set(v, "major", major)
	set(v, "minor", minor)
	return v
}

// assignments parses lines NAME=value of a file such as os-release, with or without quotes. The last
// line of a name wins.
func assignments(text string) map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		m[strings.TrimSpace(name)] = unquote(strings.TrimSpace(value))
	}
	return m
}

func unquote(s string) string {
	if len(s) < 2 || s[0] != s[len(s)-1] || s[0] != '"' && s[0] != '\'' {
		return s
	}
	quoted := s[1 : len(s)-1]
	if s[0] == '\'' {
		return quoted
	}
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\$`, `$`, "\\`", "`").Replace(quoted)
}

// machine is the output of uname -m: we run on the host's own kernel.
func machine() string {
	if m, ok := map[string]string{"amd64": "x86_64", "arm64": "aarch64", "386": "i686", "arm": "armv7l", "loong64": "loongarch64"}[runtime.GOARCH]; ok {
		return m
	}
	return runtime.GOARCH
}

// architecture is the name of the machine in the family's packages.
func architecture(family any) string {
	if family != "Debian" {
		return machine()
	}
	if a, ok := map[string]string{"386": "i386", "arm": "armhf", "ppc64le": "ppc64el"}[runtime.GOARCH]; ok {
		return a
	}
	return runtime.GOARCH
}

func (g *gatherer) selinux() map[string]any {
	enforce := g.line("/sys/fs/selinux/enforce")
	if enforce == "" {
		return map[string]any{"enabled": false}
	}
	facts := map[string]any{"enabled": true, "enforced": enforce == "1", "current_mode": "permissive"}
	if enforce == "1" {
		facts["current_mode"] = "enforcing"
	}
	config := assignments(g.text("/etc/selinux/config"))
	set(facts, "config_mode", config["SELINUX"])
	set(facts, "config_policy", config["SELINUXTYPE"])
	return facts
}

// kernel parses a release such as 6.1.0-28-amd64.
func kernel(release string) map[string]any {
	facts := map[string]any{}
	version, _, _ := strings.Cut(release, "-")
	set(facts, "kernelrelease", release)
	set(facts, "kernelversion", version)
	if parts := strings.SplitN(version, ".", 3); len(parts) >= 2 {
		facts["kernelmajversion"] = parts[0] + "." + parts[1]
	}
	return facts
}
