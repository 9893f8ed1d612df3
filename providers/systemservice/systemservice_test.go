package systemservice_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
	"github.com/fettle-dev/fettle/providers/systemservice"
)

func TestStates(t *testing.T) {
	f := newFake(t)
	for name, c := range map[string]struct{ attributes, state string }{
		"a running and enabled service":                     {"{name: simple}", `{"name":"simple","ensure":"running","enable":true,"mask":false}`},
		"a name with the suffix":                            {"{name: simple.service}", `{"name":"simple","ensure":"running","enable":true,"mask":false}`},
		"a oneshot service with RemainAfterExit is running": {"{name: remain}", `{"name":"remain","ensure":"running","enable":true,"mask":false}`},
		"a finished oneshot service is stopped":             {"{name: oneshot}", `{"name":"oneshot","ensure":"stopped","enable":false,"mask":false}`},
		"a failed service is stopped":                       {"{name: failing}", `{"name":"failing","ensure":"stopped","enable":false,"mask":false}`},
		"a reloading service is running":                    {"{name: reloading}", `{"name":"reloading","ensure":"running","mask":false}`},
		"static units ignore enable":                        {"{name: static}", `{"name":"static","ensure":"running","mask":false}`},
		"indirect units ignore enable":                      {"{name: also}", `{"name":"also","ensure":"stopped","mask":false}`},
		"transient units ignore enable":                     {"{name: transient}", `{"name":"transient","ensure":"running","mask":false}`},
		"linked units do not start at boot":                 {"{name: linked}", `{"name":"linked","ensure":"stopped","enable":false,"mask":false}`},
		"an alias has the state of its unit":                {"{name: nick}", `{"name":"nick","ensure":"running","enable":true,"mask":false}`},
		"an instance of a template":                         {"{name: inst@a}", `{"name":"inst@a","ensure":"running","enable":true,"mask":false}`},
		"another instance of the template":                  {"{name: inst@b}", `{"name":"inst@b","ensure":"stopped","enable":false,"mask":false}`},
		"a timer":                                           {"{name: apt-daily.timer}", `{"name":"apt-daily.timer","ensure":"running","enable":true,"mask":false}`},
		"masked":                                            {"{name: nothere}", `{"name":"nothere","ensure":"stopped","enable":false,"mask":true}`},
		"not installed":                                     {"{name: gone}", `{"name":"gone","ensure":"stopped","enable":false,"mask":false}`},
		"a bad unit file":                                   {"{name: bad}", `{"name":"bad","ensure":"stopped","mask":false}`},
		"a script is queried by its own tool":               {"{name: sysvy}", `{"name":"sysvy","ensure":"stopped","enable":false,"mask":false}`},
		"a starting service is not running yet":             {"{name: slow, ensure: running}", `{"name":"slow","ensure":"stopped","enable":false,"mask":false}`},
		"a starting service is not stopped either":          {"{name: slow, ensure: stopped}", `{"name":"slow","ensure":"running","enable":false,"mask":false}`},
		"a starting service without ensure is running":      {"{name: slow}", `{"name":"slow","ensure":"running","enable":false,"mask":false}`},
		"a stopping service is not stopped yet":             {"{name: lingering, ensure: stopped}", `{"name":"lingering","ensure":"running","mask":false}`},
		"a stopping service is not running either":          {"{name: lingering, ensure: running}", `{"name":"lingering","ensure":"stopped","mask":false}`},
		"a stopping service without ensure is stopped":      {"{name: lingering}", `{"name":"lingering","ensure":"stopped","mask":false}`},
		"a repeatedly restarted service is not running":     {"{name: looping, ensure: running}", `{"name":"looping","ensure":"stopped","mask":false}`},
		"a unit unknown to systemd":                         {"{name: never-heard}", `{"name":"never-heard","ensure":"stopped","enable":false,"mask":false}`},
	} {
		t.Run(name, func(t *testing.T) {
			r := bind(t, f, c.attributes)
			look(t, f.ReadOnly(), r)
			if diff := cmp.Diff(c.state, string(r.State().Attributes)); diff != "" {
				t.Errorf("state (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWriteSteps(t *testing.T) {
	for name, c := range map[string]struct {
		attributes string
		steps      []string
	}{
		"start":                                {"{name: inst@b, ensure: running}", []string{"systemctl start inst@b.service"}},
		"start and enable":                     {"{name: inst@b, ensure: running, enable: true}", []string{"systemctl start inst@b.service", "systemctl enable inst@b.service"}},
		"start a changed unit":                 {"{name: changed, ensure: running}", []string{"systemctl daemon-reload", "systemctl start changed.service"}},
		"start a masked unit":                  {"{name: masked, ensure: running}", []string{"systemctl unmask masked.service", "systemctl start masked.service"}},
		"enable a masked unit":                 {"{name: masked, enable: true}", []string{"systemctl unmask masked.service", "systemctl enable masked.service"}},
		"await a start":                        {"{name: slow, ensure: running}", []string{"systemctl start slow.service"}},
		"stop a starting unit":                 {"{name: slow, ensure: stopped}", []string{"systemctl stop slow.service"}},
		"await a stop":                         {"{name: lingering, ensure: stopped}", []string{"systemctl stop lingering.service"}},
		"stop and disable":                     {"{name: simple, ensure: stopped, enable: false}", []string{"systemctl stop simple.service", "systemctl disable simple.service"}},
		"stop, disable and mask":               {"{name: simple, ensure: stopped, mask: true}", []string{"systemctl stop simple.service", "systemctl disable simple.service", "systemctl mask simple.service"}},
		"disable a unit enabled for this boot": {"{name: remain, enable: false}", []string{"systemctl disable remain.service", "systemctl disable --runtime remain.service"}},
		"disable by an alias":                  {"{name: nick, enable: false}", []string{"systemctl disable aliased.service"}},
		"mask a missing unit":                  {"{name: gone, mask: true}", []string{"systemctl mask gone.service"}},
		"unmask a missing unit":                {"{name: nothere, mask: false}", []string{"systemctl unmask nothere.service"}},
		"unmask and disable the unit behind":   {"{name: masked, mask: false, enable: false}", []string{"systemctl unmask masked.service", "systemctl disable masked.service"}},
		"a timer":                              {"{name: apt-daily.timer, ensure: stopped}", []string{"systemctl stop apt-daily.timer"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.add("changed.service", "inst@b.service", map[string]string{"NeedDaemonReload": "yes"})
			f.add("masked.service", "inst@b.service", map[string]string{"UnitFileState": "masked", "LoadState": "masked"}).masks = "enabled"
			if c.attributes == "{name: masked, enable: true}" {
				f.unit("masked.service").masks = "disabled"
			}
			apply(t, f, c.attributes)
			if diff := cmp.Diff(c.steps, f.changes()); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

// add creates a unit that equals another one except for some properties.
func (f *fakeSystemd) add(name, like string, properties map[string]string) *fakeUnit {
	u := &fakeUnit{lines: append([]string(nil), f.unit(like).lines...)}
	u.set("Id", name)
	u.set("Names", name)
	for property, value := range properties {
		u.set(property, value)
	}
	f.units = append(f.units, u)
	return u
}

func TestRefreshRestartsRunningServices(t *testing.T) {
	for name, c := range map[string]struct {
		attributes string
		steps      []string
		err        error
	}{
		"a running unit":                     {"{name: simple}", []string{"systemctl try-restart simple.service"}, nil},
		"a running unit with a changed file": {"{name: static}", []string{"systemctl daemon-reload", "systemctl try-restart static.service"}, nil},
		"reloadOnRefresh: true":              {"{name: simple, reloadOnRefresh: true}", []string{"systemctl try-reload-or-restart simple.service"}, nil},
		"reloadOnRefresh: false":             {"{name: simple, reloadOnRefresh: false}", []string{"systemctl try-restart simple.service"}, nil},
		"an alias":                           {"{name: nick}", []string{"systemctl try-restart aliased.service"}, nil},
		"a unit that ends repeatedly":        {"{name: looping}", []string{"systemctl try-restart looping.service"}, nil},
		"a stopped unit":                     {"{name: oneshot}", nil, resource.ErrNothingToRefresh},
		"a failed unit":                      {"{name: failing}", nil, resource.ErrNothingToRefresh},
		"a stopping unit":                    {"{name: lingering}", nil, resource.ErrNothingToRefresh},
		"a missing unit":                     {"{name: gone}", nil, resource.ErrNothingToRefresh},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			if err := bind(t, f, c.attributes).Refresh(t.Context(), resourcetest.Writer(f)); !errors.Is(err, c.err) {
				t.Errorf("error %v, want %v", err, c.err)
			}
			if diff := cmp.Diff(c.steps, f.changes()); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

func TestServicesAreReadInOneCall(t *testing.T) {
	f := newFake(t)
	all := []resource.Resource{bind(t, f, "{name: simple}"), bind(t, f, "{name: gone}"), bind(t, f, "{name: nick}"), bind(t, f, "{name: simple}")}
	f.Reset()
	if err := errors.Join(all[0].Provider().ReadAll(t.Context(), resourcetest.Reader(f.ReadOnly()), all)...); err != nil {
		t.Fatal(err)
	}
	const call = "? systemctl show --no-pager --property=Id,Names,LoadState,ActiveState,SubState,UnitFileState,SourcePath,Type,RemainAfterExit,NeedDaemonReload,DropInPaths,CanStart,CanStop,NRestarts,ActiveEnterTimestampMonotonic" +
		" simple.service gone.service nick.service simple.service"
	if diff := cmp.Diff([]string{call}, f.Transcript()); diff != "" {
		t.Errorf("transcript (-want +got):\n%s", diff)
	}
}

func TestUnexpectedOutputIsAnError(t *testing.T) {
	for name, c := range map[string]struct {
		answer host.Result
		err    string
	}{
		"none":                     {host.Result{}, `cannot read the state of services: systemctl show returned "" instead of "simple.service"`},
		"another's":                {host.Result{Stdout: []byte("Id=a.service\nNames=a.service\n")}, `cannot read the state of services: systemctl show returned "a.service" instead of "simple.service"`},
		"one unit too many":        {host.Result{Stdout: []byte("Id=simple.service\n\nId=b.service\n")}, `cannot read the state of services: systemctl show returned 2 units instead of 1`},
		"a failure":                {host.Result{ExitCode: 1, Stderr: []byte("Failed to connect to bus: No such file or directory\n")}, "cannot read the state of services: systemctl show: Failed to connect to bus: No such file or directory"},
		"a failure without output": {host.Result{ExitCode: 1}, "cannot read the state of services: systemctl show: it exited with 1"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.Handle("systemctl", func(host.Cmd) host.Result { return c.answer })
			err := bind(t, f, "{name: simple}").Read(t.Context(), resourcetest.Reader(f))
			if diff := cmp.Diff(c.err, fmt.Sprint(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestErrorsNameTheirProperty(t *testing.T) {
	for name, c := range map[string]struct {
		attributes string
		fails      map[string]string
		err        string
	}{
		"a start": {
			"{name: inst@b, ensure: running}",
			map[string]string{"start": "Job for inst@b.service failed.\nSee elsewhere.\n"},
			"cannot set ensure: cannot start inst@b.service: Job for inst@b.service failed.; its journal ends with:\nStarted it.\ncannot bind port 80",
		},
		"a failure to enable fails the combined start": {
			"{name: inst@b, ensure: running, enable: true}",
			map[string]string{"enable": "Failed to enable unit: Read-only file system"},
			"cannot enable inst@b.service: Failed to enable unit: Read-only file system",
		},
		"one property of two": {
			"{name: simple, enable: false, mask: true}",
			map[string]string{"mask": "Failed to mask unit: File exists"},
			"cannot set mask: cannot mask simple.service: Failed to mask unit: File exists",
		},
		"a mask that can't be removed": {
			"{name: nothere, mask: false}",
			map[string]string{"unmask": "Read-only file system"},
			"cannot unmask nothere.service: Read-only file system",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.fails = c.fails
			if diff := cmp.Diff(c.err, refused(t, f, c.attributes)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

// stuck is a host on which every command times out.
type stuck struct{ host.Host }

func (stuck) Run(context.Context, host.Cmd) (host.Result, error) {
	return host.Result{}, fmt.Errorf("cannot run systemctl: %w", context.DeadlineExceeded)
}

func TestStartTimeout(t *testing.T) {
	f := newFake(t)
	const want = "cannot set ensure: cannot start inst@b.service within 5m0s: systemd continues, see systemctl list-jobs on the host; " +
		"its journal ends with:\nStarted it.\ncannot bind port 80"
	if diff := cmp.Diff(want, refused(t, stuck{f}, "{name: inst@b, ensure: running}")); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

func TestLongJournalIsTruncated(t *testing.T) {
	f := newFake(t)
	f.fails["start"] = "it failed"
	f.Handle("journalctl", func(host.Cmd) host.Result {
		return host.Result{Stdout: []byte(strings.Repeat("a line of some length that is of no use\n", 1000) + "the last word\n")}
	})
	got := refused(t, f, "{name: inst@b, ensure: running}")
	if len(got) > 1600 || !strings.HasSuffix(got, "of no use\nthe last word") || !strings.Contains(got, "its journal ends with:\na line of") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}

func TestDefaultProvider(t *testing.T) {
	const (
		withSystemd = "systemd runs the host: use the provider systemd"
		notBooted   = "the host was not booted with systemd: /run/systemd/system does not exist"
		noSystemctl = "the command systemctl is not installed; install the package systemd"
		noOpenRC    = "the command rc-service is not installed; the command rc-update is not installed; install openrc"
		noUpdateRCD = "the command update-rc.d is not installed; the file /etc/init.d is not there; install the packages sysvinit-core and init-system-helpers"
	)
	for name, c := range map[string]struct {
		tools  string
		files  map[string]string
		facts  resource.Facts
		chosen string
		why    []string // why systemd, systemd-offline, openrc and sysvinit are unsuitable
	}{
		"systemd runs it": {
			"systemctl rc-service rc-update update-rc.d",
			map[string]string{"/etc/init.d/cron": "", "/run/systemd/system/.": "", "/proc/1/comm": "systemd\n"},
			resource.Facts{"init": "systemd"},
			"systemd",
			[]string{"<nil>", withSystemd, withSystemd, withSystemd},
		},
		"it is a root directory": {
			"systemctl update-rc.d",
			map[string]string{"/etc/init.d/cron": ""},
			nil,
			"systemd-offline",
			[]string{notBooted, "<nil>", noOpenRC, "<nil>"},
		},
		"it is a root directory with the /proc of a machine that systemd runs": {
			"systemctl",
			map[string]string{"/proc/1/comm": "systemd\n"},
			nil,
			"systemd-offline",
			[]string{notBooted, "<nil>", noOpenRC, noUpdateRCD},
		},
		"it is a container with the host's /run": {
			"systemctl",
			map[string]string{"/run/systemd/system/.": "", "/proc/1/comm": "bash\n"},
			nil,
			"systemd-offline",
			[]string{"the host's first process is bash, not systemd", "<nil>", noOpenRC, noUpdateRCD},
		},
		"sysvinit runs it, and systemctl is installed": {
			"systemctl update-rc.d",
			map[string]string{"/etc/init.d/cron": "", "/proc/1/comm": "init\n"},
			resource.Facts{"init": "init"},
			"sysvinit",
			[]string{notBooted, "<nil>", noOpenRC, "<nil>"},
		},
		"openrc runs it by the init of sysvinit": {
			"rc-service rc-update update-rc.d",
			map[string]string{"/etc/init.d/cron": "", "/proc/1/comm": "init\n"},
			resource.Facts{"init": "init"},
			"openrc",
			[]string{noSystemctl, noSystemctl, "<nil>", "openrc is installed, which has its own runlevels: use the provider openrc"},
		},
		"it is a root directory of a distribution that has openrc": {
			"systemctl rc-service rc-update", nil,
			resource.Facts{"os": map[string]any{"family": "Gentoo"}},
			"openrc",
			[]string{notBooted, "<nil>", "<nil>", noUpdateRCD},
		},
		"it has no known supervisor": {
			"",
			map[string]string{"/proc/1/comm": "init\n"},
			resource.Facts{"init": "init"},
			"",
			[]string{noSystemctl, noSystemctl, noOpenRC, noUpdateRCD},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := hosttest.New(t)
			for tool := range strings.FieldsSeq(c.tools) {
				h.Handle(tool, func(host.Cmd) host.Result { return host.Result{} })
			}
			for file, text := range c.files {
				if dir, ok := strings.CutSuffix(file, "/."); ok {
					h.PutDir(dir)
					continue
				}
				h.Put(file, text)
			}
			var chosen string
			var why []string
			for _, s := range bound.Kind(systemservice.Type()).Suitability(c.facts, h) {
				why = append(why, fmt.Sprint(s.Err))
				if s.Chosen {
					chosen = s.Provider
				}
			}
			if diff := cmp.Diff(c.why, why); diff != "" || chosen != c.chosen {
				t.Errorf("chosen %q, want %q; why not (-want +got):\n%s", chosen, c.chosen, diff)
			}
		})
	}
}

func TestInvalidAttributes(t *testing.T) {
	for attributes, want := range map[string]string{
		"{name: nginx, ensure: running, enable: true, mask: false}": "<nil>",
		"{name: of@one}":                                  "<nil>",
		"{name: backup.timer}":                            "<nil>",
		"{name: --now}":                                   `name "--now" cannot be that of a unit: use letters, digits and :_.@-, such as nginx or nginx.service`,
		"{name: a b}":                                     `name "a b" cannot be that of a unit: use letters, digits and :_.@-, such as nginx or nginx.service`,
		"{name: /etc/a}":                                  `name "/etc/a" cannot be that of a unit: use letters, digits and :_.@-, such as nginx or nginx.service`,
		"{name: 'of@'}":                                   `name "of@" is a template, not a service: name an instance, such as getty@tty1`,
		"{name: 'of@.service'}":                           `name "of@" is a template, not a service: name an instance, such as getty@tty1`,
		"{name: a, ensure: true}":                         "cannot read attributes of SystemService/a: json: cannot unmarshal bool into Go struct field SystemServiceAttributes.ensure of type string",
		`{name: a, start: "a 'b"}`:                        `start "a 'b" has a single quote at character 3 that nothing closes: close it, or run it with sh -c '...'`,
		"{name: a, stop: ' '}":                            `stop " " has no command: its first word is empty`,
		"{name: a, pattern: '(', hasStatus: false}":       "pattern \"(\" is not valid: error parsing regexp: missing closing ): `(`",
		"{name: a, pattern: 'x{1000}', hasStatus: false}": `pattern "x{1000}" is not valid: regular expression "x{1000}" is too large: it may come to 1000 instructions, and a repetition such as x{100} is 100 of them`,
		"{name: a, ensure: started}":                      `ensure "started" is not known: use running or stopped`,
	} {
		t.Run(attributes, func(t *testing.T) {
			raw, err := yaml.YAMLToJSON([]byte(attributes))
			if err != nil {
				t.Fatal(err)
			}
			_, err = bound.Kind(systemservice.Type()).Bind(resource.Ref{Kind: "SystemService", Name: "a"}, raw)
			if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzAnyAnswerOfSystemctlIsAStateOrAnError(f *testing.F) {
	f.Add("Id=simple.service\nNames=simple.service\nActiveState=active\n")
	f.Add("Id=simple.service\nNRestarts\n==\n\n\n")
	f.Fuzz(func(t *testing.T, answer string) {
		h := hosttest.New(t)
		h.PutDir("/run/systemd/system")
		h.Put("/proc/1/comm", "systemd\n")
		h.Handle("systemctl", func(host.Cmd) host.Result { return host.Result{Stdout: []byte(answer)} })
		r := bind(t, h, "{name: simple, ensure: running, enable: true}")
		if err := r.Read(t.Context(), resourcetest.Reader(h)); err != nil {
			return
		}
		if diff := cmp.Diff("simple", r.State().Namevar); diff != "" {
			t.Errorf("namevar (-want +got):\n%s", diff)
		}
	})
}

// An unable host has only the commands of systemd.
type unable struct{ host.Reader }

func (u unable) Query(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	if cmd.Args[0] == "systemctl" {
		return u.Reader.Query(ctx, cmd)
	}
	return host.Result{}, fs.ErrNotExist
}

func TestUnreadableServiceFailsAlone(t *testing.T) {
	f := newFake(t)
	all := []resource.Resource{bind(t, f, "{name: simple}"), bind(t, f, "{name: nick, status: /no/such/command}"), bind(t, f, "{name: gone}")}
	errs := all[0].Provider().ReadAll(t.Context(), resourcetest.Reader(unable{f.ReadOnly()}), all)
	if len(errs) != 3 || errs[0] != nil || errs[1] == nil || errs[2] != nil {
		t.Errorf("errors are %v", errs)
	}
}

func TestAliasesIdentifyOneUnit(t *testing.T) {
	f := newFake(t)
	all := []resource.Resource{bind(t, f, "{name: aliased}"), bind(t, f, "{name: nick}"), bind(t, f, "{name: gone}")}
	got, err := all[0].Provider().Identify(t.Context(), resourcetest.Reader(f.ReadOnly()), all)
	if diff := cmp.Diff([]string{"aliased.service", "aliased.service", ""}, got); diff != "" || err != nil {
		t.Errorf("%v, identities (-want +got):\n%s", err, diff)
	}
}
