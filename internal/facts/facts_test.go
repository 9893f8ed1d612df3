package facts_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/facts"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// gather returns the facts of a host with these files and fails the test on errors.
func gather(t *testing.T, files map[string]string) resource.Facts {
	t.Helper()
	got, errs := facts.Gather(t.Context(), withFiles(t, files).ReadOnly())
	for _, err := range errs {
		t.Error(err)
	}
	return got
}

func withFiles(t *testing.T, files map[string]string) *hosttest.Host {
	t.Helper()
	h := hosttest.New(t)
	for path, text := range files {
		h.Put(path, text)
	}
	return h
}

func TestOperatingSystemFacts(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  map[string]string // by fact; "" if it is missing
	}{
		"reads Debian's point release from debian_version": {
			map[string]string{
				"/etc/os-release":     "ID=debian\nVERSION_ID=\"12\"\nVERSION_CODENAME=bookworm\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n",
				"/etc/debian_version": "12.11\n",
			},
			map[string]string{
				"os.name": "Debian", "os.family": "Debian", "os.release.full": "12.11", "os.release.major": "12", "os.release.minor": "11",
				"os.distro.id": "debian", "os.distro.codename": "bookworm", "os.distro.description": "Debian GNU/Linux 12 (bookworm)",
			},
		},
		"reads the name of Debian testing as version": {
			map[string]string{"/etc/os-release": "ID=debian\nVERSION_CODENAME=trixie\n", "/etc/debian_version": "trixie/sid\n"},
			map[string]string{"os.name": "Debian", "os.release.full": "", "os.distro.codename": "trixie"},
		},
		"uses both numbers as Ubuntu's major release": {
			map[string]string{"/etc/os-release": "ID=ubuntu\nID_LIKE=debian\nVERSION_ID='24.04'\n", "/etc/debian_version": "trixie/sid\n"},
			map[string]string{"os.name": "Ubuntu", "os.family": "Debian", "os.release.full": "24.04", "os.release.major": "24.04", "os.release.minor": ""},
		},
		"assigns Rocky to the RedHat family": {
			map[string]string{"/etc/os-release": "# a comment\nID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\nVERSION_ID=\"9.4\"\n"},
			map[string]string{"os.name": "Rocky", "os.family": "RedHat", "os.release.major": "9", "os.release.minor": "4"},
		},
		"takes the family of an unknown distribution from ID_LIKE": {
			map[string]string{"/etc/os-release": "NAME=\"Neat \\\"OS\\\"\"\nID=neat\nID_LIKE=\"nothing opensuse\"\n"},
			map[string]string{"os.name": `Neat "OS"`, "os.family": "Suse"},
		},
		"makes an unknown distribution its own family": {
			map[string]string{"/usr/lib/os-release": "NAME=Odd\nID=odd\n"},
			map[string]string{"os.name": "Odd", "os.family": "Odd"},
		},
		"enforcing SELinux": {
			map[string]string{"/sys/fs/selinux/enforce": "1", "/etc/selinux/config": "SELINUX=permissive\nSELINUXTYPE=targeted\n"},
			map[string]string{
				"os.selinux.enabled": "true", "os.selinux.enforced": "true", "os.selinux.current_mode": "enforcing",
				"os.selinux.config_mode": "permissive", "os.selinux.config_policy": "targeted",
			},
		},
		"an empty host": {
			nil,
			map[string]string{"kernel": "Linux", "os.name": "", "os.selinux.enabled": "false", "timezone": "UTC", "virtual": "physical", "init": "", "networking": "", "mountpoints": ""},
		},
		"kernel release": {
			map[string]string{"/proc/sys/kernel/osrelease": "6.1.0-28-amd64\n"},
			map[string]string{"kernelrelease": "6.1.0-28-amd64", "kernelversion": "6.1.0", "kernelmajversion": "6.1"},
		},
		"running systemd": {
			map[string]string{"/proc/1/comm": "systemd\n", "/run/systemd/system/.keep": ""},
			map[string]string{"init": "systemd"},
		},
		"systemd outside the chroot": {
			map[string]string{"/proc/1/comm": "systemd\n"},
			map[string]string{"init": ""},
		},
		"another init system": {
			map[string]string{"/proc/1/comm": "init\n"},
			map[string]string{"init": "init"},
		},
		"time zone by name": {
			map[string]string{"/etc/timezone": "Europe/Berlin\n"},
			map[string]string{"timezone": "Europe/Berlin"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := gather(t, c.files)
			for fact, want := range c.want {
				if is := got.String(fact); is != want {
					t.Errorf("%s is %q, want %q", fact, is, want)
				}
			}
		})
	}
}

func TestHardwareFacts(t *testing.T) {
	got := gather(t, map[string]string{
		"/proc/meminfo": "MemTotal:       16384 kB\nMemFree:          100 kB\nSwapTotal:        2048 kB\n",
		"/proc/cpuinfo": "processor\t: 0\nmodel name\t: Fast One\nphysical id\t: 0\nflags\t\t: fpu hypervisor\n\nprocessor\t: 1\nmodel name\t: Fast One\nphysical id\t: 0\n",
		"/proc/1/mounts": `/dev/vda1 / ext4 rw,relatime 0 0
proc /proc proc rw 0 0
/dev/vdb /srv/my\040data xfs rw,noatime 0 0
overlay /var/lib/containerd/x/rootfs overlay rw 0 0
tmpfs /var/lib/kubelet/pods/1/volumes/token tmpfs rw 0 0
tmpfs /tmp tmpfs rw 0 0
tmpfs /run tmpfs rw 0 0
broken
`,
		"/sys/class/dmi/id/sys_vendor":     "QEMU\n",
		"/sys/class/dmi/id/product_name":   "Standard PC\n",
		"/sys/class/dmi/id/product_serial": "12345\n",
		"/sys/class/dmi/id/bios_vendor":    "SeaBIOS\n",
	})
	for _, part := range []struct {
		fact string
		want any
	}{
		{"memory", map[string]any{"system": map[string]any{"total_bytes": 16777216.0}, "swap": map[string]any{"total_bytes": 2097152.0}}},
		{"processors.count", 2.0},
		{"processors.physicalcount", 1.0},
		{"processors.models", []any{"Fast One"}},
		{"mountpoints", map[string]any{
			"/":            map[string]any{"device": "/dev/vda1", "filesystem": "ext4", "options": []any{"rw", "relatime"}},
			"/srv/my data": map[string]any{"device": "/dev/vdb", "filesystem": "xfs", "options": []any{"rw", "noatime"}},
			"/tmp":         map[string]any{"device": "tmpfs", "filesystem": "tmpfs", "options": []any{"rw"}},
		}},
		{"dmi", map[string]any{
			"manufacturer": "QEMU", "product": map[string]any{"name": "Standard PC"}, "bios": map[string]any{"vendor": "SeaBIOS"},
		}},
		{"virtual", "kvm"},
		{"is_virtual", true},
	} {
		is, _ := got.Get(part.fact)
		if diff := cmp.Diff(part.want, is); diff != "" {
			t.Errorf("%s: %s", part.fact, diff)
		}
	}
	if none := gather(t, map[string]string{"/proc/meminfo": "SwapTotal: 0 kB\n"})["memory"]; none != nil {
		t.Errorf("a machine without swap has %v", none)
	}
}

func TestDetectsVirtualization(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"nothing": {map[string]string{"/sys/class/dmi/id/sys_vendor": "Dell Inc."}, "physical"},
		"a systemd container on a virtual machine": {map[string]string{
			"/run/systemd/container": "systemd-nspawn\n", "/sys/class/dmi/id/sys_vendor": "QEMU",
		}, "systemd_nspawn"},
		"Podman":                {map[string]string{"/run/.containerenv": ""}, "podman"},
		"OpenVZ":                {map[string]string{"/proc/vz": ""}, "openvzve"},
		"a host of OpenVZ":      {map[string]string{"/proc/vz": "", "/proc/bc": ""}, "physical"},
		"Docker":                {map[string]string{"/.dockerenv": ""}, "docker"},
		"Hyper-V":               {map[string]string{"/sys/class/dmi/id/sys_vendor": "Microsoft Corporation\n", "/sys/class/dmi/id/product_name": "Virtual Machine\n"}, "hyperv"},
		"Microsoft hardware":    {map[string]string{"/sys/class/dmi/id/sys_vendor": "Microsoft Corporation\n", "/sys/class/dmi/id/product_name": "Surface\n"}, "physical"},
		"EC2":                   {map[string]string{"/sys/class/dmi/id/sys_vendor": "Amazon EC2", "/sys/class/dmi/id/product_name": "m7i.large"}, "kvm"},
		"EC2 bare metal":        {map[string]string{"/sys/class/dmi/id/sys_vendor": "Amazon EC2", "/sys/class/dmi/id/product_name": "m7i.metal"}, "physical"},
		"an unnamed hypervisor": {map[string]string{"/proc/cpuinfo": "processor: 0\nflags: fpu hypervisor\n"}, "kvm"},
	} {
		t.Run(name, func(t *testing.T) {
			got := gather(t, c.files)
			if is := got.String("virtual"); is != c.want || got["is_virtual"] != (is != "physical") {
				t.Errorf("got %q and %v, want %q", is, got["is_virtual"], c.want)
			}
		})
	}
}

func TestFactsOfDebianRoot(t *testing.T) {
	root := debian.Root(t)
	h, err := linux.Open(linux.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	if err := os.WriteFile(filepath.Join(root, "etc/hostname"), []byte("inside\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	debian.Chroot(t, root, "ln", "-sf", "/usr/share/zoneinfo/Europe/Berlin", "/etc/localtime")
	got, errs := facts.Gather(t.Context(), h)
	if len(errs) > 0 {
		t.Errorf("errors: %v", errs)
	}
	version, err := os.ReadFile(filepath.Join(root, "etc/debian_version"))
	if err != nil {
		t.Fatal(err)
	}
	architecture := strings.TrimSpace(debian.Chroot(t, root, "dpkg", "--print-architecture"))
	machine := strings.TrimSpace(debian.Chroot(t, root, "uname", "-m"))
	for fact, want := range map[string]string{
		"os.family": "Debian", "os.name": "Debian", "os.release.full": strings.TrimSpace(string(version)), "os.distro.codename": "bookworm",
		"os.architecture": architecture, "processors.isa": machine, "networking.hostname": "inside",
		"timezone": "Europe/Berlin",
	} {
		if is := got.String(fact); is != want {
			t.Errorf("%s is %q, want %q", fact, is, want)
		}
	}
}

// The facts of this machine agree with its tools and survive JSON.
func TestFactsOfThisMachine(t *testing.T) {
	h, err := linux.Open(linux.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	got, errs := facts.Gather(t.Context(), h)
	if len(errs) > 0 {
		t.Errorf("errors: %v", errs)
	}
	release, err := exec.Command("uname", "-r").Output()
	if err != nil {
		t.Fatal(err)
	}
	if is, want := got.String("kernelrelease"), strings.TrimSpace(string(release)); is != want {
		t.Errorf("kernelrelease is %q, want %q", is, want)
	}
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var again resource.Facts
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, again); diff != "" {
		t.Error("JSON changes the facts:", diff)
	}
	second, _ := facts.Gather(t.Context(), h)
	for _, theirs := range []string{"mountpoints", "networking"} { // mounts and networks may change meanwhile
		delete(got, theirs)
		delete(second, theirs)
	}
	if diff := cmp.Diff(got, second); diff != "" {
		t.Error("the second result differs:", diff)
	}
}

func BenchmarkGather(b *testing.B) {
	h, err := linux.Open(linux.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	for b.Loop() {
		facts.Gather(b.Context(), noCommands{h})
	}
}

// noCommands is a host without commands.
type noCommands struct{ host.Reader }

func (noCommands) LookPath(string) (string, error) { return "", os.ErrNotExist }
