package exec_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
	"github.com/fettle-dev/fettle/providers/exec"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// open returns a Debian tree for the duration of a test.
func open(t *testing.T) (h *linux.Host, root string) {
	t.Helper()
	root = debian.Root(t)
	h, err := linux.Open(linux.Options{Root: root})
	must(t, err)
	t.Cleanup(func() { _ = h.Close() })
	return h, root
}

// item returns an Exec from YAML, which notifies the others.
func item(t *testing.T, name, spec string, notify ...string) resource.Item {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(spec))
	must(t, err)
	i := resource.Item{Ref: resource.Ref{Kind: "Exec", Name: name}}
	i.Resource, i.Invalid = bound.Kind(exec.Type()).Bind(i.Ref, json.RawMessage(raw))
	for _, n := range notify {
		i.Notify = append(i.Notify, resource.Ref{Kind: "Exec", Name: n})
	}
	return i
}

// run applies items and returns the report as text.
func run(t *testing.T, h host.Host, noop bool, items ...resource.Item) []string {
	t.Helper()
	report, err := engine.Transaction{Host: h, Noop: noop, Now: time.Now}.Run(t.Context(), items)
	must(t, err)
	var lines []string
	for _, r := range report.Resources {
		lines = append(lines, r.Ref.String()+" "+string(r.State))
		for _, l := range r.Lines() {
			lines = append(lines, strings.TrimPrefix(l, r.Ref.String()+": "))
		}
	}
	return lines
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLaws(t *testing.T) {
	h, _ := open(t)
	resourcetest.Run(t, exec.Type(), resourcetest.Case{
		Host:     h,
		Absent:   `{command: "/bin/rm /srv/a", onlyIf: ["/usr/bin/test -e /srv/a"]}`,
		Present:  `{command: "touch a", creates: [/srv/a], cwd: /srv, path: [/usr/bin], environment: [TOKEN=s3cret]}`,
		Secret:   "s3cret",
		Snapshot: resourcetest.Files(h, "/srv"),
	})
}

func TestWhenACommandRuns(t *testing.T) {
	const ran = "executed successfully"
	tests := map[string]struct {
		spec string
		want []string
	}{
		"every time without conditions":                             {`{command: /bin/true}`, []string{"Exec/a Changed", ran}},
		"the command line is split like a shell's but not expanded": {`{command: "/usr/bin/printf '%s\\n' 'a b' '$HOME' \"c\"", logOutput: always}`, []string{"Exec/a Changed", "output: a b", "output: $HOME", "output: c", ran}},
		"args are not split":                                        {`{command: /usr/bin/printf, args: ["%s\\n", "a 'b | $HOME *"], logOutput: always}`, []string{"Exec/a Changed", "output: a 'b | $HOME *", ran}},
		"a shell expands the command line":                          {`{command: "echo $((1+1)) | tr 2 3", shell: true, logOutput: always}`, []string{"Exec/a Changed", "output: 3", ran}},
		"both streams are reported":                                 {`{command: "echo out; echo err >&2", shell: true, logOutput: always}`, []string{"Exec/a Changed", "output: out", "output: err", ran}},
		"not if one of the files exists":                            {`{command: /bin/true, creates: [/nowhere, /etc/passwd]}`, []string{"Exec/a InSync"}},
		"if none of the files exists":                               {`{command: /bin/true, creates: [/nowhere, /etc/passwd/x]}`, []string{"Exec/a Changed", ran}},
		"if every onlyIf succeeds":                                  {`{command: /bin/true, onlyIf: [/bin/true, "test -d /etc"], path: [/nowhere, /bin]}`, []string{"Exec/a Changed", ran}},
		"not if one onlyIf fails":                                   {`{command: /bin/true, onlyIf: [/bin/true, /bin/false]}`, []string{"Exec/a InSync"}},
		"not if one unless succeeds":                                {`{command: /bin/true, unless: [/bin/false, /bin/true]}`, []string{"Exec/a InSync"}},
		"if every unless fails":                                     {`{command: /bin/true, unless: [/bin/false, "exit 3"], shell: true}`, []string{"Exec/a Changed", ran}},
		"not without an event with refreshOnly":                     {`{command: /bin/true, refreshOnly: true}`, []string{"Exec/a InSync"}},
		"another exit code can mean success":                        {`{command: exit 3, shell: true, returns: [2, 3]}`, []string{"Exec/a Changed", ran}},
		"an unexpected exit code fails": {
			`{command: "echo why >&2; exit 3", shell: true, returns: [0, 2]}`,
			[]string{"Exec/a Failed", `command failed: exit status 3, not one of 0,2; output: why`},
		},
		"the output can be omitted": {
			`{command: "echo why >&2; exit 3", shell: true, logOutput: never}`,
			[]string{"Exec/a Failed", `command failed: exit status 3`},
		},
		"the lines of output are parts of one message": {
			`{command: "printf 'no\n\n\tat all\n'; exit 3", shell: true}`,
			[]string{"Exec/a Failed", `command failed: exit status 3; output: no; at all`},
		},
		"a script with several lines is quoted by its first": {
			`{command: /bin/true, shell: true, unless: ["set -e\n\tnosuch 2>/dev/null\n"]}`,
			[]string{"Exec/a Failed", `cannot read the present state: cannot check unless "set -e...": it exited with 127: command not found`},
		},
		"127 is a failure, whatever returns says": {
			`{command: nosuch 2>/dev/null, shell: true, returns: [127], tries: 5}`,
			[]string{"Exec/a Failed", `command failed: exit status 127: command not found`},
		},
		"127 of a check is a failure too": {
			`{command: /bin/true, unless: [nosuch 2>/dev/null], shell: true}`,
			[]string{"Exec/a Failed", `cannot read the present state: cannot check unless "nosuch 2>/dev/null": it exited with 127: command not found`},
		},
		"a missing check command fails": {
			`{command: /bin/true, onlyIf: [nosuch], path: [/bin, "/usr/bin:/sbin"]}`,
			[]string{"Exec/a Failed", `cannot read the present state: cannot check onlyIf "nosuch": cannot find command "nosuch" in path /bin:/usr/bin:/sbin`},
		},
		"a check that times out fails": {
			`{command: /bin/true, unless: [/bin/sleep 60], timeoutSeconds: 1}`,
			[]string{"Exec/a Failed", `cannot read the present state: cannot check unless "/bin/sleep 60": cannot run "/bin/sleep": killed after its timeout of 1s: context deadline exceeded`},
		},
		"a command that times out fails": {
			`{command: /bin/sleep 20, timeoutSeconds: 1}`,
			[]string{"Exec/a Failed", `command failed: cannot run "/bin/sleep": killed after its timeout of 1s: context deadline exceeded`},
		},
		"a missing directory fails": {
			`{command: /bin/true, cwd: /nowhere}`,
			[]string{"Exec/a Failed", "command failed: cwd /nowhere does not exist on the host: create it first, with a File that has ensure: directory"},
		},
		"a missing user fails": {
			`{command: /bin/true, user: nobodyelse}`,
			[]string{"Exec/a Failed", `command failed: user nobodyelse does not exist on the host: declare User/nobodyelse`},
		},
	}
	h, _ := open(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			same(t, run(t, h, false, item(t, "a", test.spec)), test.want...)
		})
	}
}

func TestCredentials(t *testing.T) {
	h, root := open(t)
	debian.Chroot(t, root, "groupadd", "--gid", "1600", "web")
	debian.Chroot(t, root, "useradd", "--uid", "1500", "--groups", "web,mail", "ann")
	debian.Chroot(t, root, "mkdir", "--mode=0700", "/srv/closed")
	tests := map[string]struct {
		spec string
		want []string
	}{
		"root, in the root directory, with only PATH": {
			`{umask: "022"}`,
			[]string{"0 0 0 0022 /", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
		},
		"a user by name, with its groups": {
			`{user: ann, umask: "77", cwd: /srv/closed, path: [/usr/bin, /bin], environment: [A=b=c, EMPTY=]}`,
			[]string{"1500 1500 1500 8 1600 0077 /srv/closed", "A=b=c", "EMPTY=", "PATH=/usr/bin:/bin"},
		},
		"a user by number, with another group": {
			`{user: 1500, group: web, umask: "027"}`,
			[]string{"1500 1600 1600 8 0027 /", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
		},
		"numbers without an account": {
			`{user: "4711", group: 4712, umask: "027", environment: [PATH=/x, HOME=/srv]}`,
			[]string{"4711 4712 4712 0027 /", "HOME=[redacted]", "PATH=/x"},
		},
		"only a group": {
			`{group: web, umask: "002"}`,
			[]string{"0 1600 1600 0002 /", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
		},
	}
	const line = `echo $(/usr/bin/id -u; /usr/bin/id -g; /usr/bin/id -G; umask; pwd); /usr/bin/env | /usr/bin/grep -v -e ^PWD= -e ^_= | /usr/bin/sort`
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			// Commands and checks share their context.
			spec := strings.TrimSuffix(test.spec, "}")
			want := append([]string{"Exec/a Changed"}, prefixed(test.want)...)
			uid, _, _ := strings.Cut(test.want[0], " ")
			got := run(t, h, false, item(t, "a", spec+`, shell: true, logOutput: always, command: '`+line+`', onlyIf: ['id=$(/usr/bin/id -u); /usr/bin/test "$id" = `+uid+`']}`))
			same(t, got, append(want, "executed successfully")...)
		})
	}

	same(t, run(t, h, false, item(t, "a", `{command: /bin/true, user: 4711}`)), "Exec/a Failed",
		"command failed: user 4711 does not exist on the host, so its group is unknown: set group, or declare the User")
}

func prefixed(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = "output: " + l
	}
	return out
}

func TestTries(t *testing.T) {
	h, _ := open(t)
	const count = `echo x >> /srv/tried; test $(wc -l < /srv/tried) -ge 3`
	same(t, run(t, h, false, item(t, "a", `{command: '`+count+`', shell: true, tries: 2}`)),
		"Exec/a Failed", `command failed: exit status 1`)
	same(t, run(t, h, false, item(t, "a", `{command: '`+count+`', shell: true, tries: 10}`)), "Exec/a Changed", "executed successfully")
	got, err := h.ReadFile("/srv/tried")
	must(t, err)
	if string(got) != "x\nx\nx\n" {
		t.Errorf("tried %q", got)
	}
}

func TestPauseBetweenTries(t *testing.T) {
	h, _ := open(t)
	const later = `test -e /srv/tried || { touch /srv/tried; exit 1; }; test $(($(date +%s%N) - $(stat --format=%.9Y /srv/tried | tr --delete .))) -ge 1000000000`
	same(t, run(t, h, false, item(t, "a", `{command: '`+later+`', shell: true, tries: 2, trySleepSeconds: 1}`)), "Exec/a Changed", "executed successfully")
}

func TestTimeoutsAreNotRetried(t *testing.T) {
	h, _ := open(t)
	patient.Lengthen(t, time.Second, func(timeout time.Duration) bool {
		const spec = `{command: 'echo x >> /srv/tried; exec sleep 1000', shell: true, timeoutSeconds: %.0f, tries: 3}`
		run(t, h, false, item(t, "a", fmt.Sprintf(spec, timeout.Seconds())))
		got, err := h.ReadFile("/srv/tried")
		if errors.Is(err, fs.ErrNotExist) {
			return false
		}
		must(t, err)
		if string(got) != "x\n" {
			t.Errorf("tried %q", got)
		}
		return true
	})
}

func TestTimeout(t *testing.T) {
	for spec, want := range map[string]time.Duration{
		`{command: /bin/a, onlyIf: [/bin/a]}`:                      5 * time.Minute,
		`{command: /bin/a, onlyIf: [/bin/a], timeoutSeconds: 7}`:   7 * time.Second,
		`{command: /bin/a, onlyIf: [/bin/a], timeoutSeconds: 0}`:   100 * 365 * 24 * time.Hour,
		`{command: /bin/a, onlyIf: [/bin/a], timeoutSeconds: 900}`: 15 * time.Minute,
	} {
		t.Run(spec, func(t *testing.T) {
			h := hosttest.New(t)
			var limits []time.Duration
			h.Handle("/bin/a", func(cmd host.Cmd) host.Result {
				limits = append(limits, cmd.Timeout)
				return host.Result{}
			})
			run(t, h, false, item(t, "a", spec))
			if diff := cmp.Diff([]time.Duration{want, want}, limits); diff != "" {
				t.Errorf("of the check and the command (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBackgroundProcessesDoNotBlockTheRun(t *testing.T) {
	h, root := open(t)
	const daemon = "{ sleep 20; touch /srv/ended; } & echo $$ > /srv/group; "
	for spec, want := range map[string][]string{
		`{command: "` + daemon + `echo started", shell: true, logOutput: always}`: {"Exec/a Changed", "output: started", "executed successfully"},
		`{command: echo started, unless: ["` + daemon + `exit 1"], shell: true}`:  {"Exec/a Changed", "executed successfully"},
	} {
		same(t, run(t, h, false, item(t, "a", spec)), want...)
		debian.Chroot(t, root, "sh", "-c", "test ! -e /srv/ended && kill -- -$(cat /srv/group)")
	}
}

func TestInvalidCommands(t *testing.T) {
	h := hosttest.New(t)
	tests := map[string]struct{ spec, err string }{
		"no command":                             {`{}`, `command "" has no command: its first word is empty`},
		"an open quote":                          {`{command: "/bin/echo 'a"}`, `command "/bin/echo 'a" has a single quote at character 11 that nothing closes: close it, or set shell: true`},
		"a pipe":                                 {`{command: "/bin/echo a | cat > f"}`, `command "/bin/echo a | cat > f" has an unquoted | at character 13, which only a shell understands: quote it, or set shell: true`},
		"a variable of a check":                  {`{command: /bin/true, unless: [/bin/true, 'test -e "$HOME/a"'], path: [/bin]}`, `unless "test -e \"$HOME/a\"" has a $ at character 10, which a shell would expand: put it in single quotes, or set shell: true`},
		"a pattern of a check":                   {`{command: /bin/true, onlyIf: [/bin/ls /tmp/*.new]}`, `onlyIf "/bin/ls /tmp/*.new" has an unquoted * at character 14, which a shell would expand: quote it, or set shell: true`},
		"a builtin of a refresh":                 {`{command: /bin/true, refresh: cd /srv, path: [/bin]}`, `refresh "cd /srv" begins with cd, which only a shell has: begin it with a program, or set shell: true`},
		"a variable that is set":                 {`{command: "s3cret=a run", environment: [A=s3cret], path: [/bin]}`, `command "[redacted]=a run" sets the variable [redacted], which only a shell does: begin it with /usr/bin/env, or set shell: true`},
		"an empty word":                          {`{command: " "}`, `command " " has no command: its first word is empty`},
		"a name without a path":                  {`{command: make all}`, `command "make" is not absolute and there is no path to look it up: use an absolute one, or set path`},
		"a relative path":                        {`{command: /bin/true, unless: [./check], path: [/bin]}`, `unless "./check" is a relative path: use an absolute one`},
		"an invalid refresh":                     {`{command: /bin/true, refresh: reload}`, `refresh "reload" is not absolute and there is no path to look it up: use an absolute one, or set path`},
		"a value of the environment is redacted": {`{command: "s3cret", environment: [A=s3cret]}`, `command "[redacted]" is not absolute and there is no path to look it up: use an absolute one, or set path`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			same(t, run(t, h, false, item(t, "a", test.spec)), "Exec/a Failed", test.err)
		})
	}
}

func TestRelations(t *testing.T) {
	i := item(t, "a", `{command: '"/opt/my app/run" /etc/x', onlyIf: [/opt/check now], unless: [test -e /etc/y], cwd: /opt, user: ann, path: [/bin]}`)
	want := []resource.Relation{
		{Relation: resource.Require, Kind: "File", Names: []string{"/opt", "/opt/my app/run", "/opt/check"}},
		{Relation: resource.Require, Kind: "User", Names: []string{"ann"}},
	}
	if diff := cmp.Diff(want, i.Resource.Relations()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	i = item(t, "a", `{command: "/opt/run | sort", shell: true, user: 1500}`)
	want = []resource.Relation{{Relation: resource.Require, Kind: "File", Names: []string{"/opt/run"}}}
	if diff := cmp.Diff(want, i.Resource.Relations()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
