package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	goyaml "sigs.k8s.io/yaml/goyaml.v3"

	"github.com/fettle-dev/fettle/internal/engine/enginetest/promise"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// common are the kinds that all three programs have.
func common() []string { return []string{"File", "File", "User", "Group", "SSHAuthorizedKey", "Exec"} }

// layers have Puppet and Ansible, as Debian packages them.
func layers() []debian.Layer {
	return []debian.Layer{{Install: []string{"puppet-agent", "puppet-module-puppetlabs-sshkeys-core", "ansible"}}}
}

// A verdict is what a program says of a resource: that it fails, and what it changes.
type verdict struct {
	fails   bool
	skipped bool // because another one failed
	changes string
	says    string
}

// classOf is how a plan differs from the apply; "" if it does not. Only a person can compare the messages of two failures.
func classOf(planned, applied verdict) promise.Class {
	switch {
	case applied.skipped, planned.fails && applied.fails:
		return ""
	case applied.fails:
		return promise.Fails
	case planned.fails:
		return promise.Succeeds
	case planned.changes != applied.changes:
		return promise.Differs
	}
	return ""
}

// wrong compares what a program planned with what it did.
func wrong(planned, applied, next map[string]verdict, refs []string) (r result) {
	r.Wrong, r.Planned = map[string]int{}, map[string]int{}
	for _, ref := range refs {
		p, a := planned[ref], applied[ref]
		class := classOf(p, a)
		if class == "" && !a.skipped && !p.fails && next[ref].changes != "" && !strings.HasPrefix(ref, "Exec/") { // which runs each time
			class = promise.Remains
		}
		if class != "" {
			r.Wrong[string(class)]++
			r.Told = append(r.Told, fmt.Sprintf("%s: %s: planned %q, applied %q", ref, class, p.says, a.says))
		}
	}
	r.Resources = len(refs)
	return r
}

// tryPeer runs a program three times, with its simulation first and last.
func (p pair) tryPeer(ctx context.Context, manifest string, run func(ctx context.Context, root string, simulate bool) (map[string]verdict, error)) (r result, err error) {
	err = p.withRoot(ctx, layers(), func(root string) error {
		if err := os.WriteFile(filepath.Join(root, "root/manifest"), []byte(manifest), 0o600); err != nil {
			return err
		}
		var runs [3]map[string]verdict
		for i := range runs {
			if runs[i], err = run(ctx, root, i != 1); err != nil {
				return err
			}
		}
		var refs []string
		for _, d := range p.resources {
			refs = append(refs, d.ref())
		}
		r = wrong(runs[0], runs[1], runs[2], refs)
		return nil
	})
	return r, err
}

// inRoot runs a program of a root. Its exit code is data.
func inRoot(ctx context.Context, root string, command ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "chroot", append([]string{root}, command...)...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8", "ANSIBLE_STDOUT_CALLBACK=json", "ANSIBLE_LOCALHOST_WARNING=false"}
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if _, exits := errors.AsType[*exec.ExitError](err); exits {
		err = nil
	}
	return string(out) + errs.String(), err
}

func puppet(ctx context.Context, p pair) (result, error) {
	return p.tryPeer(ctx, p.puppet(), func(ctx context.Context, root string, simulate bool) (map[string]verdict, error) {
		command := []string{"puppet", "apply", "--logdest", "console", "/root/manifest"}
		if simulate {
			command = append(command, "--noop")
		}
		report := filepath.Join(root, "var/cache/puppet/state/last_run_report.yaml")
		_ = os.Remove(report)
		out, err := inRoot(ctx, root, command...)
		if err != nil {
			return nil, err
		}
		text, err := os.ReadFile(report)
		if errors.Is(err, os.ErrNotExist) {
			return p.allFail(out), nil
		}
		if err != nil {
			return nil, err
		}
		return p.puppetVerdicts(text)
	})
}

// allFail is the verdict on each resource if a program does not even start on the host, for example because groupadd is missing.
func (p pair) allFail(out string) map[string]verdict {
	verdicts := map[string]verdict{}
	for _, d := range p.resources {
		verdicts[d.ref()] = verdict{fails: true, says: out}
	}
	return verdicts
}

// puppetVerdicts reads a report.
func (p pair) puppetVerdicts(text []byte) (map[string]verdict, error) {
	var report struct {
		Statuses map[string]struct {
			Failed  bool `yaml:"failed"`
			Skipped bool `yaml:"skipped"`
			Events  []struct {
				Property, Status, Message string
				Previous                  any `yaml:"previous_value"`
				Desired                   any `yaml:"desired_value"`
			} `yaml:"events"`
		} `yaml:"resource_statuses"`
	}
	if err := goyaml.Unmarshal(text, &report); err != nil {
		return nil, err
	}
	verdicts := map[string]verdict{}
	for _, d := range p.resources {
		status := report.Statuses[puppetRef(d)]
		v := verdict{fails: status.Failed, skipped: status.Skipped}
		for _, e := range status.Events {
			v.says += e.Message + "; "
			if e.Status == "failure" {
				v.fails = true
			} else if e.Status != "audit" {
				v.changes += fmt.Sprintf("%s: %v to %v; ", e.Property, e.Previous, e.Desired)
			}
		}
		verdicts[d.ref()] = v
	}
	return verdicts, nil
}

func puppetType(kind string) string {
	return map[string]string{"SSHAuthorizedKey": "Ssh_authorized_key"}[kind] + map[bool]string{true: kind}[kind != "SSHAuthorizedKey"]
}

func puppetRef(d declared) string { return puppetType(d.kind) + "[" + d.name + "]" }

// puppet writes the manifest in Puppet's language.
func (p pair) puppet() string {
	var b strings.Builder
	for _, d := range p.resources {
		fmt.Fprintf(&b, "%s { %s:\n", strings.ToLower(puppetType(d.kind)), quoted(d.name))
		for _, name := range slices.Sorted(maps.Keys(d.attributes)) {
			fmt.Fprintf(&b, "  %s => %s,\n", puppetName(d, name), puppetValue(d.attributes[name]))
		}
		for _, r := range d.require {
			i := slices.IndexFunc(p.resources, func(o declared) bool { return o.ref() == r })
			o := p.resources[i]
			fmt.Fprintf(&b, "  require => %s[%s],\n", puppetType(o.kind), quoted(o.name))
		}
		b.WriteString("}\n")
	}
	return b.String()
}

func puppetName(d declared, name string) string {
	switch {
	case d.kind == "Group" && name == "authMembership":
		return "auth_membership"
	case name == "manageHome" || name == "allowDupe":
		return strings.ToLower(name)
	}
	return name
}

func puppetValue(v any) string {
	switch v := v.(type) {
	case string:
		return quoted(v)
	case []string:
		return "[" + quoted(v[0]) + "]"
	}
	return fmt.Sprint(v)
}

// quoted is a string of Puppet's language.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "$", `\$`).Replace(s) + `"`
}

func ansible(ctx context.Context, p pair) (result, error) {
	book, err := p.playbook()
	if err != nil {
		return result{}, err
	}
	return p.tryPeer(ctx, book, func(ctx context.Context, root string, simulate bool) (map[string]verdict, error) {
		command := []string{"ansible-playbook", "--inventory", "localhost,", "--connection", "local", "/root/manifest"}
		if simulate {
			command = append(command, "--check")
		}
		out, err := inRoot(ctx, root, command...)
		if err != nil {
			return nil, err
		}
		return ansibleVerdicts(out)
	})
}

// ansibleVerdicts reads the output of the callback json.
func ansibleVerdicts(out string) (map[string]verdict, error) {
	_, text, _ := strings.Cut("\n"+out, "\n{")
	var report struct {
		Plays []struct {
			Tasks []struct {
				Task  struct{ Name string }
				Hosts map[string]struct {
					Failed, Changed bool
					Msg             string
				}
			}
		}
	}
	if err := json.NewDecoder(strings.NewReader("{" + text)).Decode(&report); err != nil {
		return nil, fmt.Errorf("ansible made no report: %w: %s", err, out)
	}
	verdicts := map[string]verdict{}
	for _, play := range report.Plays {
		for _, task := range play.Tasks {
			h := task.Hosts["localhost"]
			v := verdict{fails: h.Failed, says: fmt.Sprintf("changed %v, failed %v %s", h.Changed, h.Failed, h.Msg)}
			if h.Changed && !h.Failed {
				v.changes = "changed"
			}
			verdicts[task.Task.Name] = v
		}
	}
	return verdicts, nil
}

// playbook writes the manifest as tasks, in an order that keeps the requirements: resources only require earlier ones. Each is tried,
// whatever fails before, as Fettle and Puppet do.
func (p pair) playbook() (string, error) {
	var tasks []map[string]any
	for _, d := range p.resources {
		module, arguments := ansibleModule(d)
		tasks = append(tasks, map[string]any{"name": d.ref(), "ignore_errors": true, module: arguments})
	}
	text, err := json.Marshal([]map[string]any{{"hosts": "all", "gather_facts": false, "tasks": tasks}})
	return string(text), err
}

func ansibleModule(d declared) (string, map[string]any) {
	a := maps.Clone(d.attributes)
	switch d.kind {
	case "File":
		return ansibleFile(d, a)
	case "User":
		return ansibleUser(d, a)
	case "Group":
		rename(a, map[string]string{"ensure": "state", "allowDupe": "non_unique"})
		delete(a, "members") // users have groups, there
		delete(a, "authMembership")
		a["name"] = d.name
		return "ansible.builtin.group", a
	case "SSHAuthorizedKey":
		arguments := map[string]any{"user": a["user"], "state": a["ensure"], "key": fmt.Sprintf("%s %s %s", a["type"], a["key"], d.name)}
		if v, ok := a["target"]; ok {
			arguments["path"] = v
		}
		return "ansible.posix.authorized_key", arguments
	}
	arguments := map[string]any{"cmd": a["command"]}
	if v, ok := a["creates"].([]string); ok {
		arguments["creates"] = v[0]
	}
	if v, ok := a["cwd"]; ok {
		arguments["chdir"] = v
	}
	return "ansible.builtin.command", arguments
}

func rename(attributes map[string]any, names map[string]string) {
	for from, to := range names {
		if v, ok := attributes[from]; ok {
			delete(attributes, from)
			attributes[to] = v
		}
	}
}

func ansibleUser(d declared, a map[string]any) (string, map[string]any) {
	rename(a, map[string]string{"ensure": "state", "gid": "group", "manageHome": "create_home", "allowDupe": "non_unique"})
	a["name"] = d.name
	if a["state"] == "absent" {
		rename(a, map[string]string{"create_home": "remove"})
	} else if _, set := a["create_home"]; !set {
		a["create_home"] = false
	}
	if _, set := a["groups"]; set {
		a["append"] = true
	}
	return "ansible.builtin.user", a
}

func ansibleFile(d declared, a map[string]any) (string, map[string]any) {
	ensure, content, source := a["ensure"], a["content"], a["source"]
	for _, name := range []string{"ensure", "content", "source", "target"} {
		delete(a, name)
	}
	if content != nil || source != nil {
		a["dest"] = d.name
		if source != nil {
			a["src"], a["remote_src"] = source, true
		} else {
			a["content"] = content
		}
		return "ansible.builtin.copy", a
	}
	a["path"] = d.name
	switch ensure {
	case "file", "present":
		a["state"], a["access_time"], a["modification_time"] = "touch", "preserve", "preserve"
	case "link":
		a["state"], a["src"] = "link", d.attributes["target"]
	default:
		a["state"] = ensure
	}
	return "ansible.builtin.file", a
}
