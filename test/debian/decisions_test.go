package debian_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/test/debian"
)

func TestDebianMirror(t *testing.T) {
	for name, c := range map[string]struct{ targets, want string }{
		"the archive is taken, not its updates": {
			targets: "http://a.example/debian/\tbookworm-updates\tmain\tDebian\nhttp://b.example/debian/\tbookworm\tmain\tDebian\n",
			want:    "http://b.example/debian/",
		},
		"another vendor's repository for the same release is passed over": {
			targets: "http://a.example/\tbookworm\tmain\tVendor\n",
		},
		"before the first update no origin is known": {
			targets: "http://a.example/debian/\tbookworm\tmain\t\n",
			want:    "http://a.example/debian/",
		},
		"another release is of no use":     {targets: "http://a.example/ubuntu/\tnoble\tmain\tUbuntu\n"},
		"a machine without sources has no": {targets: ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := debian.DebianMirror(c.targets); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestSystemdCgroups(t *testing.T) {
	const (
		named   = "31 30 0:26 / /sys/fs/cgroup/systemd rw shared:9 - cgroup cgroup rw,xattr,name=systemd\n"
		memory  = "34 30 0:29 / /sys/fs/cgroup/memory rw shared:12 - cgroup cgroup rw,memory\n"
		unified = "32 30 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
		alone   = "32 30 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n"
	)
	for name, c := range map[string]struct {
		mine, mounted string
		want          []string
	}{
		"version 2 alone": {
			mine: "0::/user.slice/session-1.scope\n", mounted: alone,
			want: []string{"/sys/fs/cgroup/user.slice/session-1.scope"},
		},
		"both versions, side by side": {
			mine: "9:name=systemd:/a\n8:memory:/b\n0::/c\n", mounted: named + memory + unified,
			want: []string{"/sys/fs/cgroup/systemd/a", "/sys/fs/cgroup/unified/c"},
		},
		"version 1 alone": {
			mine: "9:name=systemd:/\n8:memory:/b\n", mounted: memory + named,
			want: []string{"/sys/fs/cgroup/systemd"},
		},
		"a hierarchy that is not mounted": {mine: "9:name=systemd:/a\n0::/c\n", mounted: memory},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, debian.SystemdCgroups(c.mine, c.mounted)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
