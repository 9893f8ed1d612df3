package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

const motd = "apiVersion: fettle.dev/v1alpha1\nkind: File\nmetadata: {name: motd}\nspec: {nodeSelector: {}, path: /etc/motd, content: \"hello\\n\"}\n"

// A caller is a place to run the command: what it prints to both outputs, and its exit code.
type caller func(stdin string, args ...string) string

func TestContainerActsOnItsHost(t *testing.T) {
	machine, program := debian.Boot(t), build(t)
	inContainer := container(t, program, "FETTLE_HOST_PID="+strconv.Itoa(machine.PID()))
	onHost := func(stdin string, args ...string) string {
		return call(machine.Command(t.Context(), append([]string{"/usr/local/bin/fettle"}, args...)...), stdin)
	}
	copyFile(t, program, filepath.Join(machine.Root(), "usr/local/bin/fettle"))
	if err := os.MkdirAll(filepath.Join(machine.Root(), "srv/manifests"), 0o755); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{"a.yaml": motd, "b.yaml": strings.NewReplacer("motd", "issue", "hello", "bye").Replace(motd)} {
		if err := os.WriteFile(filepath.Join(machine.Root(), "srv/manifests", file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/srv/manifests/b.yaml", filepath.Join(machine.Root(), "srv/manifests/c.yaml")); err != nil {
		t.Fatal(err)
	}

	t.Run("with the same output", func(t *testing.T) {
		for _, step := range []struct {
			stdin string
			args  []string
			first caller
			want  string // in the output
		}{
			{"", []string{"facts", "networking.hostname"}, onHost, ""},
			{"", []string{"describe", "systemservice"}, onHost, "systemd is this host's default"},
			{"", []string{"resource", "user", "root"}, onHost, "home: /root"},
			{"", []string{"resource", "systemservice", "cron"}, onHost, "ensure: running"},
			{motd, []string{"plan", "-f", "-"}, onHost, "+hello"},
			{"", []string{"plan", "-f", "/srv/manifests"}, onHost, "/srv/manifests/c.yaml"},
			{"", []string{"plan", "-f", "/srv/manifests/a.yaml", "-f", "/srv/manifests/b.yaml"}, onHost, "+bye"},
			{"", []string{"plan", "-f", "/srv/missing"}, onHost, "cannot read /srv/missing"},
			{"", []string{"bucket", "list"}, onHost, ""},
			{"", []string{"report", "show"}, onHost, "this host has no reports"},
		} {
			want, got := onHost(step.stdin, step.args...), inContainer(step.stdin, step.args...)
			if diff := cmp.Diff(want, got); diff != "" || !strings.Contains(got, step.want) {
				t.Errorf("%v, which should print %q (-host +container):\n%s\n%s", step.args, step.want, diff, got)
			}
		}
	})

	t.Run("but builds no kustomization", func(t *testing.T) {
		if got := inContainer("", "plan", "-k", "/srv/manifests"); !strings.Contains(got, "-k does not read the host of --host-pid") {
			t.Error(got)
		}
	})

	t.Run("and changes it", func(t *testing.T) {
		if got := inContainer(motd, "apply", "-f", "-"); !strings.Contains(got, "File/motd: content changed") {
			t.Error(got)
		}
		if got, err := os.ReadFile(filepath.Join(machine.Root(), "etc/motd")); string(got) != "hello\n" {
			t.Errorf("/etc/motd of the host: %q, %v", got, err)
		}
		sum := strings.Fields(onHost("", "bucket", "list", "/etc/motd"))
		if len(sum) == 0 {
			t.Fatal("the bucket of the host has no file")
		}
		if want, got := onHost("", "report", "show"), inContainer("", "report", "show"); got != want || !strings.Contains(got, "File/motd: content changed") {
			t.Errorf("the report is %s\nand on the host %s", got, want)
		}
		if got := inContainer("", "bucket", "restore", sum[0]); !strings.Contains(got, "restored /etc/motd") {
			t.Error(got)
		}
	})

	t.Run("and disables its runs", func(t *testing.T) {
		for _, step := range []struct {
			by   caller
			args []string
			want string
		}{
			{inContainer, []string{"disable", "the disk is failing"}, "runs are disabled on this host\n0"},
			{onHost, []string{"enable"}, "runs are enabled on this host again, after N\n0"},
			{onHost, []string{"disable"}, "runs are disabled on this host\n0"},
			{inContainer, []string{"enable"}, "runs are enabled on this host again, after N\n0"},
			{onHost, []string{"enable"}, "runs were not disabled on this host\n0"},
		} {
			if got := step.by("", step.args...); got != step.want {
				t.Errorf("%v: %s", step.args, got)
			}
		}
	})

	t.Run("and names its state directory as the host does", func(t *testing.T) {
		if _, err := machine.Run(t.Context(), "sh", "-c", "rm -rf /var/lib/fettle && touch /var/lib/fettle"); err != nil {
			t.Fatal(err)
		}
		want, got := onHost("", "disable"), inContainer("", "disable")
		if diff := cmp.Diff(want, got); diff != "" || !strings.Contains(got, " /var/lib/fettle") {
			t.Errorf("(-host +container):\n%s\n%s", diff, got)
		}
	})
}

// A pod without hostPID has no way to its host, and must not be taken for one.
func TestContainerWithoutHostFails(t *testing.T) {
	debian.Require(t)
	program := build(t)
	for name, c := range map[string]struct {
		environment string
		args        []string
		want        string
	}{
		"whose own process it is":     {"FETTLE_HOST_PID=$$", []string{"disable"}, "in a pod, set hostPID: true"},
		"beside a pause container":    {"FETTLE_HOST_PID=$PAUSE", []string{"facts"}, "its root has no directory /usr: in a pod, set hostPID: true"},
		"with a process that is gone": {"a=", []string{"facts", "--host-pid", "4194304"}, "cannot find the host of process 4194304"},
		"with a wrong variable":       {"FETTLE_HOST_PID=init", []string{"facts"}, `FETTLE_HOST_PID="init" is not a process`},
		"with a negative process":     {"a=", []string{"facts", "--host-pid", "-1"}, "--host-pid -1 is not a process"},
		"with two hosts":              {"a=", []string{"facts", "--host-pid", "1", "--root", "/"}, "[host-pid root] were all set"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := container(t, program, c.environment)("", c.args...); !strings.Contains(got, c.want) || !strings.HasSuffix(got, "\n1") {
				t.Errorf("%s", got)
			}
		})
	}
}

// container returns a caller in a container: in its own mounts, with a root that has nothing but the program and /proc.
// The environment may name two processes: $$ is the program, and $PAUSE has a root with nothing but the program.
func container(t *testing.T, program, environment string) caller {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"proc", "pause"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	copyFile(t, program, filepath.Join(root, "fettle"))
	copyFile(t, program, filepath.Join(root, "pause/fettle"))
	const script = `set -e
cd "$1"; environment=$2; shift 2
mount -t proc proc proc
[ -e pause/stdin ] || mkfifo pause/stdin
setpriv --pdeathsig KILL chroot pause /fettle validate -f - <>pause/stdin >/dev/null 2>&1 &
PAUSE=$!
until [ "$(readlink "/proc/$PAUSE/root")" = "$PWD/pause" ]; do sleep 0.01; done
eval "export $environment"
exec chroot . /fettle "$@"`
	return func(stdin string, args ...string) string {
		args = append([]string{"--mount", "sh", "-c", script, "sh", root, environment}, args...)
		return call(exec.CommandContext(t.Context(), "unshare", args...), stdin)
	}
}

// varying matches durations and the names of temporary files.
var varying = regexp.MustCompile(`[0-9]+(\.[0-9]{3})?s|\.new-[0-9]+`)

// call runs a command and returns its output and exit code.
func call(cmd *exec.Cmd, stdin string) string {
	cmd.Stdin = strings.NewReader(stdin)
	out, _ := cmd.CombinedOutput()
	return varying.ReplaceAllString(string(out), "N") + strconv.Itoa(cmd.ProcessState.ExitCode())
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}
