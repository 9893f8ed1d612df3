package linux_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

const whoami = `id -u; id -g; id -G; umask; pwd; env | cut -d= -f1 | grep -vx -e PWD -e _ -e SHLVL -e OLDPWD | sort`

func TestCommandRunsAsRequestedUser(t *testing.T) {
	hosts := map[string]*linux.Host{
		"the machine":  open(t, linux.Options{}),
		"a chroot":     open(t, linux.Options{Root: debian.Root(t)}),
		"a namespaced": open(t, linux.Options{PID: os.Getpid()}),
	}
	mask, before := uint32(0o077), umask(t)
	tests := map[string]struct {
		cmd  host.Cmd
		want string
	}{
		"as another user, with its groups and a bare environment": {
			host.Cmd{As: &host.Credentials{UID: 1234, GID: 2345, Groups: []uint32{2345, 3456}}, Umask: &mask, Dir: "/usr", BareEnv: true, Env: []string{"PATH=/usr/bin:/bin", "A=b"}},
			"1234\n2345\n2345 3456\n0077\n/usr\nA\nPATH\n",
		},
		"from a directory that only root can enter": {
			host.Cmd{As: &host.Credentials{UID: 1234, GID: 2345}, Dir: "/root", Umask: new(uint32(0o002)), BareEnv: true, Env: []string{"PATH=/usr/bin:/bin"}},
			"1234\n2345\n2345\n0002\n/root\nPATH\n",
		},
		"with a umask only": {
			host.Cmd{Umask: &mask},
			"0\n0\n0\n0077\n/\nHOME\nLC_ALL\nPATH\n",
		},
	}
	for where, h := range hosts {
		for name, test := range tests {
			t.Run(where+" "+name, func(t *testing.T) {
				test.cmd.Args = []string{"/bin/sh", "-c", whoami}
				if test.cmd.As == nil {
					test.cmd.As = &host.Credentials{}
				}
				res, err := h.Run(t.Context(), test.cmd)
				must(t, err)
				if diff := cmp.Diff(test.want, string(res.Stdout)); diff != "" {
					t.Errorf("(-want +got):\n%s%s", diff, res.Stderr)
				}
			})
		}
	}
	if before != umask(t) {
		t.Errorf("the umask of the test changed from %s to %s", before, umask(t))
	}
}

// umask returns the umask of this process, in octal, without umask(2), which would change it.
func umask(t *testing.T) string {
	t.Helper()
	_, after, _ := strings.Cut(read(t, "/proc/self/status"), "\nUmask:\t")
	mask, _, _ := strings.Cut(after, "\n")
	return mask
}

func TestCommandUmaskAppliesToFiles(t *testing.T) {
	h := open(t, linux.Options{})
	dir := t.TempDir()
	_, err := h.Run(t.Context(), host.Cmd{Args: []string{"touch", "a"}, Dir: dir, Umask: new(uint32(0o137))})
	must(t, err)
	info, err := os.Stat(filepath.Join(dir, "a"))
	must(t, err)
	if info.Mode() != 0o640 {
		t.Errorf("mode is %s", info.Mode())
	}
}

func TestMissingWorkingDirectoryIsNamed(t *testing.T) {
	h := open(t, linux.Options{})
	for name, cmd := range map[string]host.Cmd{
		"as the caller":   {},
		"as another user": {As: &host.Credentials{UID: 1234, GID: 2345}},
	} {
		t.Run(name, func(t *testing.T) {
			cmd.Args, cmd.Dir = []string{"/bin/true"}, "/does/not/exist"
			_, err := h.Run(t.Context(), cmd)
			want := `cannot run "/bin/true": cannot start /bin/true in /does/not/exist: no such file or directory`
			if err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}
