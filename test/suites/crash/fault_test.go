package crash_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// failing names the variable that makes the test binary run its arguments with these system calls failing, as on a
// broken disk.
const failing = "FETTLE_TEST_FAILING_CALL"

func TestMain(m *testing.M) {
	if call := os.Getenv(failing); call != "" {
		fmt.Fprintln(os.Stderr, "cannot break the disk:", withBroken(call, os.Args[1:]))
		os.Exit(1)
	}
	if machine := os.Getenv(managed); machine != "" {
		if err := manage(context.Background(), machine, os.Stdin, os.Stdout); err != nil { //nolint:forbidigo // there is no test
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// brokenCalls are the system calls that complete a write.
func brokenCalls() map[string][]uint32 {
	return map[string][]uint32{
		"fsync":  {unix.SYS_FSYNC},
		"rename": {unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2},
	}
}

// withBroken replaces this process by a command for which the system calls fail with EIO. It returns only on failure.
func withBroken(call string, argv []string) error {
	runtime.LockOSThread() // the filter belongs to this thread and is inherited by exec
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}}
	for _, number := range brokenCalls()[call] {
		filter = append(filter,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: number},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EIO)})
	}
	filter = append(filter, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	program := &unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(program)), 0, 0); err != nil {
		return err
	}
	return syscall.Exec(argv[0], argv, os.Environ())
}

// The script runs in its own mount namespace, which removes its mounts at the end. Its arguments are the root, the steps
// before and after the file exists, and the command to run.
const faultScript = `set -e
cd "$1"; before=$2; after=$3; shift 3
eval "$before"; printf 'old\n' > srv/f; eval "$after"
set +e; "$@"; echo "exit $?"
echo "content $(cat srv/f)"; echo "files $(ls -A srv | tr '\n' ' ')"
chattr -i srv 2>/dev/null; exit 0`

func TestFailingDiskKeepsOldContentAndIsNamed(t *testing.T) {
	debian.Require(t, "unshare", "mount", "chattr")
	command := filepath.Join(t.TempDir(), program)
	install(t, strings.TrimSuffix(command, program))
	const want = "exit 4\ncontent old\nfiles f "
	for name, c := range map[string]struct{ before, after, call, says, path, want string }{
		"a full disk": {
			before: "mount -t tmpfs -o size=40k,mode=755 none srv",
			says:   "no space left on device", want: want,
		},
		"a disk that is full of files": {
			before: "mount -t tmpfs -o nr_inodes=2,mode=755 none srv",
			says:   "no space left on device", want: want,
		},
		"a read-only file system": {
			after: "mount --bind srv srv; mount -o remount,ro,bind srv",
			says:  "/srv is on a read-only file system", path: "/srv", want: want,
		},
		"a directory in which nothing may change": {
			before: "mount -t tmpfs -o mode=755 none srv", after: "chattr +i srv",
			says: "/srv is immutable: change that with chattr -i", path: "/srv", want: want,
		},
		"an I/O error in fsync":  {call: "fsync", says: "input/output error", want: want},
		"an I/O error in rename": {call: "rename", says: "input/output error", want: want},
		"no room for the state": {
			before: "mount -t tmpfs -o size=4k none state",
			says:   "no space left on device", path: "/state", want: "exit 1\ncontent old\nfiles f ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for _, dir := range []string{"srv", "etc", "state"} {
				if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			put(t, filepath.Join(root, "etc/passwd"), "root:x:0:0:root:/root:/bin/bash\n")
			put(t, filepath.Join(root, "etc/group"), "root:x:0:\n")
			argv := []string{command, "apply", "-f", "-", "--root", root, "--state-dir", filepath.Join(root, "state"), "--detailed-exitcodes"}
			// A first run creates the state, so that the second run fails only because of the broken disk.
			first := exec.CommandContext(t.Context(), argv[0], argv[1:len(argv)-1]...)
			first.Stdin = strings.NewReader(manifest("/srv/f", `"old\n"`))
			if out, err := first.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if c.call != "" {
				argv = append([]string{"env", failing + "=" + c.call, os.Args[0]}, argv...)
			}
			out, stderr := inNamespace(t, manifest("/srv/f", large), append([]string{root, c.before, c.after}, argv...)...)
			if diff := gocmp.Diff(c.want, out[strings.LastIndex(out, "exit "):]); diff != "" {
				t.Errorf("(-want +got):\n%s%s%s", diff, out, stderr)
			}
			if path := cmp.Or(c.path, "/srv/f"); !strings.Contains(stderr, c.says) || !strings.Contains(stderr, path) {
				t.Errorf("stderr is %q, want %q and the path %s", stderr, c.says, path)
			}
		})
	}
}

// large is content that needs more space than the old content.
var large = strings.Repeat("x", 100<<10)

func manifest(path, content string) string {
	return "apiVersion: fettle.dev/v1alpha1\nkind: File\nmetadata: {name: f}\nspec: {nodeSelector: {}, path: " + path + ", backup: None, content: " + content + "}\n"
}

// inNamespace runs the script with arguments and returns its output without the final newline.
func inNamespace(t *testing.T, stdin string, words ...string) (string, string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "unshare", append([]string{"--mount", "sh", "-c", faultScript, "sh"}, words...)...)
	var out, stderr strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, out.String(), stderr.String())
	}
	return strings.TrimSuffix(out.String(), "\n"), stderr.String()
}
