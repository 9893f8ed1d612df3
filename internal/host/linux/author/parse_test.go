package author_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux/author"
)

const status = "Name:\tvi\nUmask:\t0022\nState:\tS (sleeping)\nPid:\t4711\nPPid:\t4700\nUid:\t1000\t0\t0\t0\nGid:\t1000\t0\t0\t0\n"

func TestAuthorIsReadFromFilesInProc(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files author.Files
		want  *host.Author
	}{
		"a login": {
			author.Files{Executable: "/usr/bin/vi", Status: status, LoginUID: "1000", Cgroup: "0::/user.slice/user-1000.slice/session-3.scope\n"},
			&host.Author{Executable: "/usr/bin/vi", PID: 4711, UID: new(int64(0)), LoginUID: new(int64(1000)), Unit: "session-3.scope"},
		},
		"a service, which nobody logged in for": {
			author.Files{Executable: "/usr/sbin/cron", Status: status, LoginUID: "4294967295", Cgroup: "0::/system.slice/cron.service\n"},
			&host.Author{Executable: "/usr/sbin/cron", PID: 4711, UID: new(int64(0)), Unit: "cron.service"},
		},
		"a process that has ended": {
			author.Files{Status: status, LoginUID: "4294967295", Cgroup: "0::/system.slice/cron.service\n"},
			&host.Author{Executable: "vi", PID: 4711, UID: new(int64(0)), Unit: "cron.service"},
		},
		"a process that was reaped meanwhile":     {author.Files{Executable: "/bin/sed"}, &host.Author{Executable: "/bin/sed", PID: 4711}},
		"a process that was reaped":               {author.Files{}, nil},
		"a process whose user alone is left":      {author.Files{Status: "Uid:\t0\t0\t0\t0\n", LoginUID: "0"}, nil},
		"a command that Fettle started in a unit": {author.Files{Executable: "/usr/bin/dpkg", Status: status, Cgroup: "0::/system.slice/fettle-abc.service"}, nil},
		"files that make no sense": {
			author.Files{Executable: "/x\n", Status: "Name:\nUid:\tx\nUid\nPPid:\t\xff", LoginUID: "-1", Cgroup: "::\n0\n\xff:\n0::"},
			&host.Author{Executable: "/x\n", PID: 4711},
		},
	} {
		if diff := cmp.Diff(c.want, c.files.Author(4711)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestControlGroupNamesUnitOrPod(t *testing.T) {
	t.Parallel()
	const uid = "0a1b2c3d-1111-2222-3333-444455556666"
	const slice = "kubepods-burstable-pod0a1b2c3d_1111_2222_3333_444455556666.slice"
	long := strings.Repeat("x", 300) + ".service"
	for cgroup, want := range map[string][2]string{
		"0::/": {},
		"0::/user.slice/user-1000.slice/user@1000.service/app.slice/x.service":                                                {"user@1000.service"},
		"12:cpu:/system.slice/a.service\n1:name=systemd:/system.slice/b.service\n0::/":                                        {"b.service"},
		"0::/kubepods.slice/kubepods-burstable.slice/" + slice + "/cri-containerd-1.scope":                                    {"", uid},
		"0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod0a1b2c3d_1111_2222_3333_444455556666.slice/cri-1.scope": {"", uid},
		"0::/../../" + slice + "/crio-1.scope":                                                                                {"", uid}, // seen from another pod
		"4:memory:/x\n1:name=systemd:/kubepods/besteffort/pod" + uid + "/0123":                                                {"", uid},
		"0::/kubepods/pod" + uid + "/0123":                                                                                    {"", uid},
		"0::/system.slice/nginx.service/" + slice:                                                                             {"nginx.service"}, // a service that pretends to be a pod
		"0::/" + slice + "/cri-1.scope/system.slice/sshd.service":                                                             {"", uid},         // a pod that pretends to be a service
		"0::/pod" + uid:            {},
		"0::/system.slice/" + long: {},
		"0::/a\x1b[31mb.service":   {},
		"0::/x.service:y":          {},
	} {
		got := author.Files{Executable: "/x", Cgroup: cgroup}.Author(1)
		if diff := cmp.Diff(want, [2]string{got.Unit, got.Pod}); diff != "" {
			t.Errorf("%q: %s", cgroup, diff)
		}
	}
}

func TestPodNameIsReadFromLogDirectories(t *testing.T) {
	t.Parallel()
	logs := []string{"_", "a_b_c_d", "default_web-1_0a1b", "kube-system_web-1_0a1c", "x_y"}
	for uid, want := range map[string]string{"0a1b": "default/web-1", "0a1c": "kube-system/web-1", "0a1": "0a1", "d": "d", "y": "y", "": ""} {
		if got := author.PodName(uid, logs); got != want {
			t.Errorf("%q: got %q, want %q", uid, got, want)
		}
	}
}

func TestAuthorString(t *testing.T) {
	t.Parallel()
	var nobody *host.Author
	for _, c := range []struct{ got, want string }{
		{nobody.String(), "unknown"},
		{fmt.Sprint(&host.Author{PID: 7, Unit: "a.service"}), "a process (PID 7, a.service)"},
		{
			fmt.Sprint(&host.Author{Executable: "/usr/bin/vi", PID: 4711, UID: new(int64(0)), LoginUID: new(int64(1000)), Pod: "0a-1"}),
			"/usr/bin/vi (PID 4711, UID 0, login UID 1000, pod 0a-1)",
		},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
