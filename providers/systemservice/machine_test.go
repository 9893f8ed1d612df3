package systemservice_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
	"github.com/fettle-dev/fettle/providers/systemservice"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// units have a predictable effect in systemd.
var units = map[string]string{
	"plain":    "[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n",
	"local":    "[Service]\nExecStart=/bin/sleep infinity\n",
	"rigid":    "[Service]\nExecStart=/bin/sleep infinity\n",
	"other":    "[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n",
	"static":   "[Service]\nExecStart=/bin/sleep infinity\n",
	"stays":    "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n",
	"over":     "[Service]\nType=oneshot\nExecStart=/bin/true\n",
	"mute":     "[Service]\nType=exec\nExecStartPre=/bin/sh -c 'echo lost my voice; exit 3'\nExecStart=/bin/sleep infinity\n",
	"refusing": "[Service]\nType=exec\nExecStartPre=/bin/sh -c 'echo cannot open /etc/refusing.conf; exit 3'\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n",
	"dying":    "[Service]\nExecStart=/bin/sh -c 'sleep 0.2; echo lost my port; exit 1'\n",
	"looping":  "[Service]\nExecStart=/bin/sh -c 'sleep 0.1; exit 1'\nRestart=always\nRestartSec=50ms\nStartLimitBurst=1000\n",
	"fixable":  "[Service]\nExecStart=/bin/sh -c 'test -e /run/fixed && exec sleep infinity; exit 1'\nRestart=always\nRestartSec=1h\n",
	"reloads":  "[Service]\nExecStart=/bin/sleep infinity\nExecReload=/bin/sh -c 'echo reloaded >> /run/reloads'\n",
	"working":  "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'test -e /run/begun && exit; touch /run/begun; exec sleep 1000'\n",
	"named":    "[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\nAlias=nick.service\n",
	"of@":      "[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n",
}

// A machine is a booted machine with those units, and its host.
type machine struct {
	*debian.Machine
	host host.Host
}

func boot(t *testing.T) machine {
	t.Helper()
	m := debian.Boot(t)
	h, err := linux.Open(linux.Options{PID: m.PID()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	for name, text := range units {
		write(t, h, "/etc/systemd/system/"+name+".service", text)
	}
	booted := machine{m, h}
	booted.run(t, "systemctl", "daemon-reload")
	booted.run(t, "systemctl", "enable", "named")
	return booted
}

func write(t testing.TB, h host.Host, path, text string) {
	t.Helper()
	if _, err := h.WriteFile(t.Context(), path, host.NewFile{Content: strings.NewReader(text), UID: -1, GID: -1}); err != nil {
		t.Fatal(err)
	}
}

func (m machine) run(t *testing.T, command ...string) string {
	t.Helper()
	out, err := m.Run(t.Context(), command...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// property returns a property of systemctl show.
func (m machine) property(t *testing.T, name, unit string) string {
	t.Helper()
	return m.run(t, "systemctl", "show", "--value", "--property="+name, unit)
}

// bind returns a resource from attributes in YAML.
func bind(t testing.TB, h host.Reader, attributes string) resource.Resource {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(attributes))
	if err != nil {
		t.Fatal(err)
	}
	r, err := bound.Kind(systemservice.Type()).Bind(resource.Ref{Kind: "SystemService", Name: "a"}, raw)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.Choose(nil, h, ""), r.Unsupported()); err != nil {
		t.Fatal(err)
	}
	return r
}

// look returns the necessary changes of a resource.
func look(t *testing.T, h host.Reader, r resource.Resource) []resource.Change {
	t.Helper()
	if err := r.Read(t.Context(), resourcetest.Reader(h)); err != nil {
		t.Fatal(err)
	}
	return r.Compare().Changes
}

// apply makes the necessary changes, and returns their messages. A remaining
// change fails the test.
func apply(t *testing.T, h host.Host, attributes string) []string {
	t.Helper()
	r := bind(t, h, attributes)
	changes := look(t, h, r)
	var messages []string
	for _, c := range changes {
		messages = append(messages, c.Message)
	}
	if len(changes) > 0 {
		if err := r.Write(t.Context(), resourcetest.Writer(h), changes); err != nil {
			t.Fatal(err)
		}
	}
	if left := look(t, h, r); len(left) > 0 {
		t.Errorf("%s still needs changes: %+v", attributes, left)
	}
	return messages
}

func refused(t *testing.T, h host.Host, attributes string) string {
	t.Helper()
	r := bind(t, h, attributes)
	changes := look(t, h, r)
	if len(changes) == 0 {
		t.Fatal("no change is necessary")
	}
	err := r.Write(t.Context(), resourcetest.Writer(h), changes)
	if err == nil {
		t.Fatal("the change was made")
	}
	return err.Error()
}

func TestSystemdOnARealMachine(t *testing.T) {
	m := boot(t)
	t.Run("the laws hold", m.theLawsHold)
	t.Run("a service is started, enabled, stopped and disabled", m.startsAndStops)
	t.Run("a masked unit is unmasked before it is started", m.unmasksToStart)
	t.Run("a missing unit can be masked", m.handlesMissing)
	t.Run("the error of a failed start has the reason", m.saysWhy)
	t.Run("a service in a crash loop stays failed", m.staysFailed)
	t.Run("an alias identifies its unit", m.followsAliases)
	t.Run("a template's instance is a service", m.startsInstances)
	t.Run("a mask hides an alias and not its unit", m.masksAlias)
	t.Run("an instance is masked if its template is in /etc", m.masksInstances)
	t.Run("a unit that can't be masked is not disabled", m.refusesMaskFirst)
	t.Run("a service's own commands replace systemd's", m.runsOwnCommands)
	t.Run("a process that an own command starts survives the agent", m.keepsDaemons)
	t.Run("a unit without install section is in sync with any enable", m.leavesStatic)
	t.Run("a changed unit file is read before a start", m.reloadsSystemd)
	t.Run("a script of init.d is enabled by its own tool", m.enablesScripts)
	t.Run("a notified service is restarted if it runs", m.refreshes)
	t.Run("a job in progress is restarted when notified", m.refreshesJobs)
	t.Run("a failing service is restarted when notified", m.refreshesLooping)
	t.Run("all services are listed", m.lists)
}

func (m machine) theLawsHold(t *testing.T) {
	resourcetest.Run(t, systemservice.Type(), resourcetest.Case{
		Host:    m.host,
		Name:    "other",
		Absent:  "{ensure: stopped, enable: false, mask: false}",
		Present: "{ensure: running, enable: true, mask: false}",
		Changed: []string{"{ensure: stopped, enable: true}", "{ensure: running, enable: false}"},
		Snapshot: func(t *testing.T) string {
			t.Helper()
			return m.run(t, "systemctl", "show", "--property=ActiveState,UnitFileState,LoadState", "other")
		},
	})
}

func (m machine) startsAndStops(t *testing.T) {
	changes := apply(t, m.host, "{name: plain, ensure: running, enable: true}")
	if diff := cmp.Diff([]string{"ensure changed stopped to running"}, changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if got := m.property(t, "ActiveState", "plain") + " " + m.property(t, "UnitFileState", "plain"); got != "active enabled" {
		t.Errorf("it is %s", got)
	}
	started := m.property(t, "InvocationID", "plain")
	if changes := apply(t, m.host, "{name: plain.service, ensure: running, enable: true, mask: false}"); changes != nil {
		t.Errorf("a second time it changed %v", changes)
	}
	if m.property(t, "InvocationID", "plain") != started {
		t.Error("a second time it was started again")
	}
	apply(t, m.host, "{name: plain, enable: false}")
	if got := m.property(t, "ActiveState", "plain") + " " + m.property(t, "UnitFileState", "plain"); got != "active disabled" {
		t.Errorf("it is %s", got)
	}
	apply(t, m.host, "{name: plain, ensure: stopped}")
	apply(t, m.host, "{name: stays, ensure: running}")
	if got := m.property(t, "ActiveState", "plain") + " " + m.property(t, "ActiveState", "stays"); got != "inactive active" {
		t.Errorf("they are %s", got)
	}
}

// Ctrl-Alt-Del reboots, because its target is another name of reboot.target.
func (m machine) masksAlias(t *testing.T) {
	const manifest = "{name: ctrl-alt-del.target, mask: true}"
	before := m.property(t, "UnitFileState", "reboot.target")
	if m.property(t, "Id", "ctrl-alt-del.target") != "reboot.target" || before == "masked" {
		t.Fatal("the machine has no such alias")
	}
	apply(t, m.host, manifest)
	if got := m.property(t, "UnitFileState", "ctrl-alt-del.target") + " " + m.property(t, "UnitFileState", "reboot.target"); got != "masked "+before {
		t.Errorf("the alias and its unit are %s", got)
	}
	if changes := apply(t, m.host, manifest); changes != nil {
		t.Errorf("a second run: %v", changes)
	}
	apply(t, m.host, "{name: ctrl-alt-del.target, mask: false}")
	if got := m.property(t, "Id", "ctrl-alt-del.target"); got != "reboot.target" {
		t.Errorf("without its mask, the alias is one of %s", got)
	}
}

func (m machine) unmasksToStart(t *testing.T) {
	write(t, m.host, "/lib/systemd/system/shipped.service", units["plain"])
	m.run(t, "systemctl", "daemon-reload")
	apply(t, m.host, "{name: shipped, ensure: running, enable: true}")

	apply(t, m.host, "{name: shipped, ensure: stopped, mask: true}")
	if got := m.property(t, "ActiveState", "shipped") + " " + m.property(t, "UnitFileState", "shipped"); got != "inactive masked" {
		t.Errorf("it is %s", got)
	}
	apply(t, m.host, "{name: shipped, mask: false, enable: false}")
	if got := m.property(t, "UnitFileState", "shipped"); got != "disabled" {
		t.Errorf("masking left it %s", got)
	}
	apply(t, m.host, "{name: shipped, mask: true}")
	changes := apply(t, m.host, "{name: shipped, ensure: running}")
	if diff := cmp.Diff([]string{"ensure changed stopped to running"}, changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	apply(t, m.host, "{name: shipped, ensure: stopped, mask: true}")
	apply(t, m.host, "{name: shipped, enable: true}")
	apply(t, m.host, "{name: shipped, enable: false}")
}

func (m machine) handlesMissing(t *testing.T) {
	if changes := apply(t, m.host, "{name: missing, ensure: stopped, enable: false, mask: false}"); changes != nil {
		t.Errorf("it changed %v", changes)
	}
	const want = "service missing.service does not exist on the host: install its package first, for example with require: [Package/...]"
	for _, attributes := range []string{"{name: missing, ensure: running}", "{name: missing, enable: true}"} {
		if got := refused(t, m.host, attributes); got != want {
			t.Errorf("%s: %s", attributes, got)
		}
	}
	apply(t, m.host, "{name: missing, mask: true}")
	apply(t, m.host, "{name: missing, mask: false}")
}

func (m machine) saysWhy(t *testing.T) {
	for name, c := range map[string]struct{ attributes, says, quotes string }{
		"its program fails at once":        {"{name: refusing, ensure: running}", "cannot start refusing.service: Job for refusing.service failed because the control process exited with error code.", "cannot open /etc/refusing.conf"},
		"it ends soon after its start":     {"{name: dying, ensure: running}", "dying.service ended soon after its start; it is failed (failed)", "lost my port"},
		"it ends repeatedly":               {"{name: looping, ensure: running}", "looping.service ended soon after its start and systemd keeps restarting it", "looping.service: Scheduled restart job"},
		"it is a finished oneshot service": {"{name: over, ensure: running}", "over.service is a oneshot service, which ends once it has run: remove ensure, or set RemainAfterExit=yes in the unit", ""},
		"its file can't be masked":         {"{name: local, mask: true}", "cannot mask local.service: /etc/systemd/system/local.service exists, and a mask would have the same path: move the unit to /usr/local/lib/systemd/system, or set ensure: stopped and enable: false instead", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := refused(t, m.host, c.attributes)
			if !strings.Contains(got, c.says) || !strings.Contains(got, c.quotes) {
				t.Errorf("error: %s\nwants: %s ... %s", got, c.says, c.quotes)
			}
		})
	}
	m.run(t, "systemctl", "stop", "looping")

	t.Run("the journal is behind", func(t *testing.T) {
		m.run(t, "systemctl", "kill", "--signal=STOP", "systemd-journald")
		m.run(t, "systemd-run", "--on-active=2", "--timer-property=AccuracySec=1ms", "systemctl", "kill", "--signal=CONT", "systemd-journald")
		if got := refused(t, m.host, "{name: mute, ensure: running}"); !strings.Contains(got, "lost my voice") {
			t.Errorf("error: %s", got)
		}
	})

	// The unit is enabled although the start failed.
	refused(t, m.host, "{name: refusing, ensure: running, enable: true}")
	if got := m.property(t, "UnitFileState", "refusing"); got != "enabled" {
		t.Errorf("it is %s", got)
	}
}

func (m machine) followsAliases(t *testing.T) {
	apply(t, m.host, "{name: named, ensure: running}")
	if changes := apply(t, m.host, "{name: nick, ensure: running, enable: true}"); changes != nil {
		t.Errorf("the alias differs from its unit: %v", changes)
	}
	m.run(t, "systemctl", "disable", "named")
	m.run(t, "systemctl", "link", "/etc/systemd/system/named.service")
}

func (m machine) startsInstances(t *testing.T) {
	apply(t, m.host, "{name: of@one, ensure: running, enable: true}")
	if got := m.property(t, "ActiveState", "of@two") + " " + m.property(t, "UnitFileState", "of@two"); got != "inactive disabled" {
		t.Errorf("the other instance is %s", got)
	}
	apply(t, m.host, "{name: of@one, ensure: stopped, enable: false}")
}

func (m machine) leavesStatic(t *testing.T) {
	for _, attributes := range []string{"{name: static, enable: true}", "{name: static, enable: false}"} {
		if changes := apply(t, m.host, attributes); changes != nil {
			t.Errorf("%s changed %v", attributes, changes)
		}
	}
}

func (m machine) reloadsSystemd(t *testing.T) {
	apply(t, m.host, "{name: static, ensure: running}")
	write(t, m.host, "/etc/systemd/system/static.service", "[Service]\nExecStart=/bin/sleep 1000\n")
	if got := m.property(t, "NeedDaemonReload", "static"); got != "yes" {
		t.Fatalf("NeedDaemonReload is %s", got)
	}
	r := bind(t, m.host, "{name: static, ensure: running}")
	if changes := look(t, m.host, r); changes != nil {
		t.Errorf("a changed unit file is out of sync: %+v", changes)
	}
	if err := r.Refresh(t.Context(), resourcetest.Writer(m.host)); err != nil {
		t.Fatal(err)
	}
	if got := m.property(t, "ExecStart", "static"); !strings.Contains(got, "sleep 1000") {
		t.Errorf("after the refresh it runs %s", got)
	}

	// Systemd does not miss the first drop-in of a unit, whose directory is new.
	m.run(t, "mkdir", "/etc/systemd/system/static.service.d")
	write(t, m.host, "/etc/systemd/system/static.service.d/a.conf", "[Service]\nEnvironment=NEW=1\n")
	if err := r.Refresh(t.Context(), resourcetest.Writer(m.host)); err != nil {
		t.Fatal(err)
	}
	if got := m.property(t, "Environment", "static"); got != "NEW=1" {
		t.Errorf("after the refresh it runs with %q", got)
	}

	// Another unit refers to a unit that does not exist.
	write(t, m.host, "/etc/systemd/system/wanting.service", "[Unit]\nWants=late.service\n[Service]\nExecStart=/bin/sleep infinity\n")
	apply(t, m.host, "{name: wanting, ensure: running}")
	write(t, m.host, "/etc/systemd/system/late.service", units["plain"])
	apply(t, m.host, "{name: late, ensure: running, enable: true}")

	// Another unit refers to it, so systemd does not unload it while it is stopped.
	apply(t, m.host, "{name: late, ensure: stopped}")
	write(t, m.host, "/etc/systemd/system/late.service", "[Service]\nExecStart=/bin/sleep 1000\n")
	apply(t, m.host, "{name: late, ensure: running}")
	if got := m.property(t, "ExecStart", "late"); !strings.Contains(got, "sleep 1000") {
		t.Errorf("after the start it runs %s", got)
	}
}

func (m machine) enablesScripts(t *testing.T) {
	const script = "#!/bin/sh\n### BEGIN INIT INFO\n# Provides: scripted\n# Required-Start: $remote_fs\n# Required-Stop: $remote_fs\n" +
		"# Default-Start: 2 3 4 5\n# Default-Stop: 0 1 6\n### END INIT INFO\nexit 0\n"
	write(t, m.host, "/etc/init.d/scripted", script)
	m.run(t, "chmod", "0755", "/etc/init.d/scripted")
	m.run(t, "systemctl", "daemon-reload")
	if diff := cmp.Diff([]string{"enable changed false to true"}, apply(t, m.host, "{name: scripted, enable: true}")); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	apply(t, m.host, "{name: scripted, enable: false}")
}

func (m machine) refreshes(t *testing.T) {
	stopped := bind(t, m.host, "{name: of@stopped}")
	look(t, m.host, stopped)
	if err := stopped.Refresh(t.Context(), resourcetest.Writer(m.host)); !errors.Is(err, resource.ErrNothingToRefresh) {
		t.Errorf("refresh of a stopped service: %v", err)
	}

	apply(t, m.host, "{name: reloads, ensure: running}")
	first := m.property(t, "InvocationID", "reloads")
	refresh(t, m, "{name: reloads, reloadOnRefresh: true}")
	if got := m.property(t, "InvocationID", "reloads"); got != first {
		t.Error("a reload restarted it")
	}
	if got := m.run(t, "cat", "/run/reloads"); got != "reloaded" {
		t.Errorf("reloads: %q", got)
	}
	refresh(t, m, "{name: reloads}")
	if got := m.property(t, "InvocationID", "reloads"); got == first {
		t.Error("a refresh did not restart it")
	}

	apply(t, m.host, "{name: rigid, ensure: running}")
	before := m.property(t, "InvocationID", "rigid")
	refresh(t, m, "{name: rigid, reloadOnRefresh: true}")
	if m.property(t, "InvocationID", "rigid") == before {
		t.Error("one that can't reload was not restarted")
	}
}

func (m machine) refreshesJobs(t *testing.T) {
	m.run(t, "systemctl", "start", "--no-block", "working")
	m.run(t, "sh", "-c", "until test -e /run/begun; do sleep 0.01; done")
	refresh(t, m, "{name: working}")
	if got := m.property(t, "ActiveState", "working") + " " + m.property(t, "Result", "working"); got != "inactive success" {
		t.Errorf("it is %s", got)
	}
}

func refresh(t *testing.T, m machine, attributes string) {
	t.Helper()
	if err := bind(t, m.host, attributes).Refresh(t.Context(), resourcetest.Writer(m.host)); err != nil {
		t.Fatal(err)
	}
}

func (m machine) refreshesLooping(t *testing.T) {
	if got := refused(t, m.host, "{name: fixable, ensure: running}"); !strings.Contains(got, "it is activating (auto-restart)") {
		t.Errorf("error: %s", got)
	}
	write(t, m.host, "/run/fixed", "")
	refresh(t, m, "{name: fixable}")
	if got := m.property(t, "ActiveState", "fixable"); got != "active" {
		t.Errorf("it is %s", got)
	}
}

func (m machine) lists(t *testing.T) {
	all, err := bound.Kind(systemservice.Type()).Instances(t.Context(), nil, resourcetest.Reader(m.host), "")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, i := range all {
		found[i.Namevar] = string(i.Attributes)
	}
	if diff := cmp.Diff(`{"name":"cron","ensure":"running","enable":true,"mask":false}`, found["cron"]); diff != "" {
		t.Errorf("cron (-want +got):\n%s", diff)
	}
	for _, name := range []string{"nick", "of@", "getty@"} {
		if _, listed := found[name]; listed {
			t.Errorf("%s is listed", name)
		}
	}
	for name, text := range found {
		var a map[string]any
		if err := json.Unmarshal([]byte(text), &a); err != nil || a["ensure"] == nil || a["mask"] == nil {
			t.Errorf("%s is listed as %s", name, text)
		}
	}
}
