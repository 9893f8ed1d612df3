package file_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine/enginetest"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/providers/file"
	"github.com/fettle-dev/fettle/providers/group"
	"github.com/fettle-dev/fettle/providers/user"
)

// A plan predicts an apply: if one fails, the other fails too.
func TestPlanFailsLikeApply(t *testing.T) {
	const failing, passing = true, false
	for name, c := range map[string]struct {
		fails     bool
		message   string // part of it
		resources []string
	}{
		"a missing source":                      {failing, "/srv/none", []string{`File/a {path: /etc/a, source: /srv/none}`}},
		"a missing source of an existing file":  {failing, "/srv/none", []string{`File/a {path: /etc/there, source: /srv/none}`}},
		"a source that the run creates":         {passing, "", []string{`File/s {path: /etc/s, content: x}`, `File/a {path: /etc/a, source: /etc/s, require: [File/s]}`}},
		"a source that is a directory":          {failing, "/etc", []string{`File/a {path: /etc/a, source: /etc}`}},
		"a directory in the way":                {failing, "set force: true", []string{`File/a {path: /etc/dir, content: x}`}},
		"a directory in the way, with force":    {passing, "", []string{`File/a {path: /etc/dir, content: x, force: true}`}},
		"a directory to be removed":             {failing, "set force: true", []string{`File/a {path: /etc/dir, ensure: absent}`}},
		"a missing parent":                      {failing, "its parent directory /no does not exist", []string{`File/a {path: /no/a, content: x}`}},
		"a parent that the run creates":         {passing, "", []string{`File/a {path: /new/a, content: x}`, `File/d {path: /new, ensure: directory}`}},
		"a parent whose parent the run creates": {failing, "/new/sub does not exist", []string{`File/a {path: /new/sub/a, content: x}`, `File/d {path: /new, ensure: directory}`}},
		"a parent that is a file":               {failing, "is not a directory", []string{`File/a {path: /etc/there/a, content: x}`}},
		"an unknown owner":                      {failing, `the host has no user "zed"`, []string{`File/a {path: /etc/a, content: x, owner: zed}`}},
		"an unknown owner of an existing file":  {failing, `the host has no user "zed"`, []string{`File/a {path: /etc/there, owner: zed}`}},
		"an unknown group":                      {failing, `the host has no group "zed"`, []string{`File/a {path: /etc/a, content: x, group: zed}`}},
	} {
		t.Run(name, func(t *testing.T) {
			var failed []bool
			for _, noop := range []bool{true, false} {
				h := hosttest.New(t)
				h.PutDir("/etc/dir")
				h.Put("/etc/there", "")
				h.Put("/etc/passwd", "root:x:0:0::/root:/bin/sh\n")
				h.Put("/etc/group", "root:x:0:\n")
				report := enginetest.Machine{Host: h, Noop: noop, Kinds: []resource.Kind{bound.Kind(file.Type(nil))}}.Report(t, c.resources...)
				failed = append(failed, report.Counts.Failed > 0)
				text := ""
				for _, res := range report.Resources {
					text += strings.Join(res.Lines(), "\n")
				}
				if c.fails && !strings.Contains(text, c.message) {
					t.Errorf("noop %v: %s", noop, text)
				}
			}
			if diff := cmp.Diff([]bool{c.fails, c.fails}, failed); diff != "" {
				t.Errorf("plan and apply fail (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPlanDoubtsACopyOfADirectoryThatGetsEntries(t *testing.T) {
	h := hosttest.New(t)
	h.Put("/srv/s/a", "x")
	h.Put("/srv/t/a", "x")
	m := enginetest.Machine{Host: h, Noop: true, Kinds: []resource.Kind{bound.Kind(file.Type(nil))}}
	r := m.Report(t, `File/new {path: /srv/s/new, content: x}`, `File/t {path: /srv/t, source: /srv/s, recurse: true, require: [File/new]}`)
	if got, want := r.Resources[1].Unknown, "copies /srv/s/new, which is planned"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPlanExpectsAccountsOfTheSameRun(t *testing.T) {
	h := hosttest.New(t)
	h.PutDir("/etc")
	h.Put("/etc/passwd", "root:x:0:0::/root:/bin/sh\n")
	h.Put("/etc/group", "root:x:0:\n")
	h.Put("/etc/login.defs", "USERGROUPS_ENAB yes\n")
	for _, tool := range []string{"useradd", "usermod", "userdel", "chage", "chpasswd", "groupadd", "groupmod", "groupdel", "gpasswd"} {
		h.Handle(tool, func(host.Cmd) host.Result { return host.Result{ExitCode: 1} })
	}
	m := enginetest.Machine{Host: h, Noop: true, Kinds: []resource.Kind{bound.Kind(file.Type(nil)), bound.Kind(user.Type()), bound.Kind(group.Type())}}
	want := []string{
		"User/zed: created (noop)", "Group/web: created (noop)", "File/a: created (noop)",
		`File/b: cannot be applied: the host has no user "ann": create it first, or use a number`,
	}
	got := m.Apply(t, `User/zed {ensure: present}`, `Group/web {ensure: present}`, `File/a {path: /etc/a, content: x, owner: zed, group: web}`, `File/b {path: /etc/b, content: x, owner: ann, group: zed}`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}
