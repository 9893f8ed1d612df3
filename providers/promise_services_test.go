package providers_test

import (
	"testing"

	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// units has the functions by which cases make units: unit NAME [LINE...] makes one that runs until it is stopped, installed also gives it an
// [Install] section.
const units = `
unit() {
  file=/etc/systemd/system/$1; shift
  printf '%s\n' "$@" > "$file"
  case $file in *.service) printf '%s\n' '[Service]' 'ExecStart=/bin/sleep infinity' >> "$file";; esac
}
installed() {
  file=/etc/systemd/system/$1
  unit "$@"
  printf '%s\n' '[Install]' 'WantedBy=multi-user.target' >> "$file"
}
`

// service is the content of a unit file for a catalog.
const (
	service   = `"[Service]\nExecStart=/bin/sleep infinity\n"`
	installed = `"[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n"`
)

// running has the cases of services, which need a running systemd. They share a machine, so each has units of its own.
func running() map[string]promised {
	return map[string]promised{
		"a unit refuses to be stopped": {
			given:   "unit a1.service '[Unit]' RefuseManualStop=yes; unit a2.service '[Unit]' Requires=a1.service; systemctl daemon-reload; systemctl start a2",
			catalog: []string{"SystemService/a1 {ensure: stopped}"},
			plan: []string{"SystemService/a1 Failed: cannot be applied: cannot stop a1.service: only systemd itself does " +
				"(RefuseManualStop=yes, or a unit such as a device): leave ensure out, or change the unit"},
		},
		"a unit refuses to be started": {
			given:   "unit b1.service '[Unit]' RefuseManualStart=yes; systemctl daemon-reload",
			catalog: []string{"SystemService/b1 {ensure: running}"},
			plan: []string{"SystemService/b1 Failed: cannot be applied: cannot start b1.service: only systemd itself does " +
				"(RefuseManualStart=yes, or a unit such as a device): leave ensure out, or change the unit"},
		},
		"a unit refuses to be restarted": {
			given:   "unit c1.service '[Unit]' RefuseManualStop=yes; systemctl daemon-reload; systemctl start c1",
			catalog: []string{"File/c {path: /srv/c, content: c, notify: [SystemService/c1]}", "SystemService/c1 {ensure: running}"},
			plan: []string{"File/c Noop", "SystemService/c1 Failed: cannot be refreshed: cannot restart c1.service: only systemd itself does " +
				"(RefuseManualStop=yes, or a unit such as a device): set restart or reloadOnRefresh, or change the unit"},
		},
		"a unit file is not valid": {
			given:   "echo '[Service]' > /etc/systemd/system/d1.service; systemctl daemon-reload",
			catalog: []string{"SystemService/d1 {ensure: running}"},
			plan:    []string{"SystemService/d1 Failed: cannot be applied: cannot start d1.service: its unit file is not valid (bad-setting): systemctl status tells why"},
		},
		"a unit file is empty, which is a mask": {
			given:   ": > /etc/systemd/system/e1.service; systemctl daemon-reload",
			catalog: []string{"SystemService/e1 {enable: true}"},
			plan: []string{"SystemService/e1 Failed: cannot be applied: service e1.service does not exist on the host: " +
				"install its package first, for example with require: [Package/...]"},
		},
		"a unit file was removed, and systemd has not noticed": {
			given:   "installed f1.service; systemctl daemon-reload; systemctl start f1; rm /etc/systemd/system/f1.service",
			catalog: []string{"SystemService/f1 {enable: true}"},
			plan: []string{"SystemService/f1 Failed: cannot be applied: cannot enable f1.service: it has no unit file: " +
				"install that first, or leave enable out"},
		},
		"a template is masked": {
			given:   "unit g1@.service; mv /etc/systemd/system/g1@.service /usr/lib/systemd/system; systemctl daemon-reload; systemctl mask g1@.service",
			catalog: []string{"SystemService/g1 {name: g1@a, mask: false}"},
			plan: []string{"SystemService/g1 Failed: cannot be applied: g1@a.service is masked by its template: " +
				"run systemctl unmask g1@.service on the host"},
		},
		"a file has the path of an alias": {
			given:   "installed h1.service; echo Alias=h2.service >> /etc/systemd/system/h1.service; unit h2.service; systemctl daemon-reload",
			catalog: []string{"SystemService/h1 {enable: true}"},
			plan: []string{"SystemService/h1 Failed: cannot be applied: cannot enable h1.service: /etc/systemd/system/h2.service exists, " +
				"and its alias would have the same path: remove that file first"},
		},
		"an alias is masked": {
			given:   "installed aa1.service; echo Alias=aa2.service >> /etc/systemd/system/aa1.service; systemctl daemon-reload; systemctl mask aa2.service",
			catalog: []string{"SystemService/aa1 {enable: true}"},
			plan: []string{"SystemService/aa1 Failed: cannot be applied: cannot enable aa1.service: /etc/systemd/system/aa2.service exists, " +
				"and its alias would have the same path: remove that file first"},
		},
		"an alias is masked before": {
			given:   "installed ab1.service; echo Alias=ab2.service >> /etc/systemd/system/ab1.service; systemctl daemon-reload",
			catalog: []string{"SystemService/ab2 {mask: true}", "SystemService/ab1 {enable: true}"},
			plan:    []string{"SystemService/ab2 Noop", "SystemService/ab1 Noop (unknown: is affected by ab2.service)"},
		},
		"a unit is transient": {
			given:   "systemd-run --unit=ac1 sleep infinity",
			catalog: []string{"SystemService/ac1 {mask: true}"},
			plan: []string{"SystemService/ac1 Failed: cannot be applied: cannot mask ac1.service: it is a transient unit, which hides a mask: " +
				"stop it, or leave mask out"},
		},
		"a script has no header": {
			given:   "printf '#!/bin/sh\\nexit 0\\n' > /etc/init.d/i1; chmod 755 /etc/init.d/i1; systemctl daemon-reload",
			catalog: []string{"SystemService/i1 {enable: true}"},
			plan: []string{"SystemService/i1 Failed: cannot be applied: cannot enable i1.service: /etc/init.d/i1 does not say when it starts: " +
				"add an LSB header with Default-Start"},
		},
		"a script comes before": {
			catalog: []string{
				`File/j {path: /etc/init.d/j1, mode: "0755", content: "#!/bin/sh\n### BEGIN INIT INFO\n# Provides: j1\n# Required-Start:\n# Required-Stop:\n` +
					`# Default-Start: 2 3 4 5\n# Default-Stop: 0 1 6\n### END INIT INFO\nexit 0\n"}`,
				"SystemService/j1 {ensure: running, enable: true, require: [File/j]}",
			},
			plan: []string{"File/j Noop", "SystemService/j1 Noop (unknown: loads a new unit, starts the service)"},
		},
		"a unit is masked twice": {
			given: "installed k1.service; mv /etc/systemd/system/k1.service /usr/lib/systemd/system; systemctl daemon-reload; " +
				"systemctl mask k1; systemctl mask --runtime k1",
			catalog: []string{"SystemService/k1 {mask: false}"},
			plan:    []string{"SystemService/k1 Noop"},
		},
		"a unit is enabled twice": {
			given:   "installed l1.service; systemctl daemon-reload; systemctl enable l1; systemctl enable --runtime l1",
			catalog: []string{"SystemService/l1 {enable: false}"},
			plan:    []string{"SystemService/l1 Noop"},
		},
		"a service is stopped along with what it requires": {
			given: "unit m1.service '[Unit]' Requires=m2.service; unit m2.service '[Unit]' Requires=m3.service; unit m3.service; " +
				"systemctl daemon-reload; systemctl start m1",
			catalog: []string{"SystemService/m3 {ensure: stopped}", "SystemService/m1 {ensure: stopped}"},
			plan: []string{
				"SystemService/m3 Noop (unknown: affects m1.service, m2.service, too)", "SystemService/m1 Noop (unknown: is affected by m3.service)",
			},
		},
		"a service in sync is stopped along with what it requires": {
			given:   "unit n1.service '[Unit]' Requires=n2.service; unit n2.service; systemctl daemon-reload; systemctl start n1",
			catalog: []string{"SystemService/n2 {ensure: stopped}", "SystemService/n1 {ensure: running}"},
			plan:    []string{"SystemService/n2 Noop (unknown: affects n1.service, too)", "SystemService/n1 InSync (unknown: is affected by n2.service)"},
		},
		"a service is started along with what requires it": {
			given:   "unit o1.service '[Unit]' Requires=o2.service; unit o2.service; systemctl daemon-reload",
			catalog: []string{"SystemService/o1 {ensure: running}", "SystemService/o2 {ensure: stopped}"},
			plan:    []string{"SystemService/o1 Noop (unknown: starts the service)", "SystemService/o2 InSync (unknown: is affected by o1.service)"},
		},
		"a service is stopped by what conflicts with it": {
			given:   "unit p1.service '[Unit]' Conflicts=p2.service; unit p2.service; systemctl daemon-reload; systemctl start p2",
			catalog: []string{"SystemService/p1 {ensure: running}", "SystemService/p2 {ensure: stopped}"},
			plan:    []string{"SystemService/p1 Noop (unknown: starts the service)", "SystemService/p2 Noop (unknown: is affected by p1.service)"},
		},
		"a service is upheld": {
			given:   "unit q1.service '[Unit]' Upholds=q2.service; unit q2.service; systemctl daemon-reload; systemctl start q1",
			catalog: []string{"SystemService/q2 {ensure: stopped}"},
			plan:    []string{"SystemService/q2 Noop (unknown: affects q1.service, too)"},
		},
		"services that have nothing to do with each other": {
			given:   "installed r1.service; unit r2.service; systemctl daemon-reload; systemctl start r1 r2",
			catalog: []string{"SystemService/r1 {ensure: stopped, enable: true}", "SystemService/r2 {ensure: stopped}"},
			plan:    []string{"SystemService/r1 Noop", "SystemService/r2 Noop"},
		},
		"a service is enabled along with another": {
			given: "installed s1.service; echo Also=s2.service >> /etc/systemd/system/s1.service; installed s2.service; installed s3.service; " +
				"systemctl daemon-reload",
			catalog: []string{"SystemService/s1 {enable: true}", "SystemService/s2 {enable: true}", "SystemService/s3 {enable: true}"},
			plan: []string{
				"SystemService/s1 Noop (unknown: affects s2.service, too)", "SystemService/s2 Noop (unknown: is affected by s1.service)",
				"SystemService/s3 Noop",
			},
		},
		"an alias comes into being before": {
			given:   "installed t1.service; echo Alias=t2.service >> /etc/systemd/system/t1.service; systemctl daemon-reload",
			catalog: []string{"SystemService/t1 {enable: true}", "SystemService/t2 {mask: false, require: [SystemService/t1]}"},
			plan:    []string{"SystemService/t1 Noop", "SystemService/t2 InSync (unknown: is affected by t1.service)"},
		},
		"a unit file loses its section": {
			given:   "installed u1.service; systemctl daemon-reload",
			catalog: []string{"File/u {path: /etc/systemd/system/u1.service, content: " + service + "}", "SystemService/u1 {enable: true, require: [File/u]}"},
			plan:    []string{"File/u Noop", "SystemService/u1 Noop (unknown: loads a changed unit)"},
		},
		"a drop-in has the section": {
			given: "unit v1.service; systemctl daemon-reload; mkdir /etc/systemd/system/v1.service.d",
			catalog: []string{
				`File/v {path: /etc/systemd/system/v1.service.d/a.conf, content: "[Install]\nWantedBy=multi-user.target\n"}`,
				"SystemService/v1 {enable: true, require: [File/v]}",
			},
			plan: []string{"File/v Noop", "SystemService/v1 InSync (unknown: loads a changed unit)"},
		},
		"a link enables a unit before": {
			given: "installed w1.service; systemctl daemon-reload",
			catalog: []string{
				"File/w {path: /etc/systemd/system/multi-user.target.wants/w1.service, ensure: link, target: ../w1.service}",
				"SystemService/w1 {enable: true, require: [File/w]}",
			},
			plan: []string{"File/w Noop", "SystemService/w1 Noop (unknown: loads a changed unit)"},
		},
		"a template comes before": {
			catalog: []string{
				"File/x {path: /etc/systemd/system/x1@.service, content: " + installed + "}",
				"SystemService/x1 {name: x1@a, enable: true, require: [File/x]}",
			},
			plan: []string{"File/x Noop", "SystemService/x1 Noop (unknown: loads a new unit)"},
		},
		"a unit file is removed before": {
			given: "installed y1.service; systemctl daemon-reload",
			catalog: []string{
				"File/y {path: /etc/systemd/system/y1.service, ensure: absent}", "SystemService/y1 {enable: true, require: [File/y]}",
			},
			plan: []string{"File/y Noop", "SystemService/y1 Noop (unknown: loads a changed unit)"},
		},
		"a service that is stopped, or will be, is not restarted": {
			given: "installed z1.service; unit z2.service; unit z3.service; systemctl daemon-reload; systemctl start z2 z3",
			catalog: []string{
				"File/z {path: /srv/z, content: z, notify: [SystemService/z1, SystemService/z2, SystemService/z3]}",
				"SystemService/z1 {enable: true}", "SystemService/z2 {ensure: stopped}", "SystemService/z3 {ensure: running}",
			},
			plan: []string{"File/z Noop", "SystemService/z1 Noop", "SystemService/z2 Noop", "SystemService/z3 Noop (unknown: runs its refresh)"},
		},
	}
}

func TestAPlanOfServicesIsAPromise(t *testing.T) {
	m := debian.Boot(t)
	h, err := linux.Open(linux.Options{PID: m.PID()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	for name, c := range running() {
		t.Run(name, func(t *testing.T) {
			if _, err := m.Run(t.Context(), "sh", "-ec", units+c.given); err != nil {
				t.Fatal(err)
			}
			c.keep(t, h)
		})
	}
}
