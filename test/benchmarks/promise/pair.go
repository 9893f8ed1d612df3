package main

import (
	"math/rand/v2"
	"slices"
)

// A pair is a host's state and a manifest, the same for the same number.
type pair struct {
	number    int
	state     []step
	resources []declared
}

// A declared resource has attributes with the names of Fettle, which those of the other programs are made of.
type declared struct {
	kind, name string
	attributes map[string]any
	require    []string
}

func (d declared) ref() string { return d.kind + "/" + d.name }

// A source draws the parts of a pair from small sets, so that they collide.
type source struct{ *rand.Rand }

func oneOf[T any](s source, all ...T) T { return all[s.IntN(len(all))] }

// maybe reports true in some of a hundred cases.
func (s source) maybe(percent int) bool { return s.IntN(100) < percent }

// newPair makes the pair of a number.
func newPair(seed uint64, number int, only ...string) pair {
	s := source{rand.New(rand.NewPCG(seed, uint64(number)))} //nolint:gosec // a reproducible choice
	p := pair{number: number}
	for range s.IntN(6) {
		p.state = append(p.state, s.step())
	}
	kinds := only
	if len(kinds) == 0 {
		kinds = s.kinds()
	}
	for range 1 + s.IntN(4) {
		d := s.resource(oneOf(s, kinds...))
		if slices.ContainsFunc(p.resources, func(o declared) bool { return o.bound() == d.bound() }) {
			continue
		}
		if len(p.resources) > 0 && s.maybe(40) {
			d.require = []string{oneOf(s, p.resources...).ref()}
		}
		p.resources = append(p.resources, d)
	}
	return p
}

// kinds are those of a pair: packages take seconds, so few pairs have any.
func (s source) kinds() []string {
	kinds := []string{"File", "File", "User", "Group", "SSHAuthorizedKey", "Exec", "SystemService", "Tidy", "Purge", "Notify"}
	if s.maybe(12) {
		kinds = append(kinds, "Package", "Package", "Package", "Package")
	}
	return kinds
}

func (s source) resource(kind string) declared {
	d := declared{kind: kind, attributes: map[string]any{}}
	draw := map[string]func(*declared){
		"File": s.file, "User": s.user, "Group": s.group, "SSHAuthorizedKey": s.key, "Exec": s.exec, "Package": s.pkg,
		"SystemService": s.service, "Tidy": s.tidy, "Purge": s.purge, "Notify": s.notify,
	}[kind]
	draw(&d)
	return d
}

func (s source) notify(d *declared) {
	d.name, d.attributes["message"] = oneOf(s, "a", "b"), "hello"
}

func (s source) pkg(d *declared) {
	d.name = oneOf(s, packages()...)
	d.attributes["ensure"] = oneOf(s, "present", "present", "absent", "latest", "2.0", "purged")
}

func (s source) service(d *declared) {
	d.name = oneOf(s, "cron", "dbus", "systemd-journald", "nosuch", "own", "p-unit")
	d.attributes["enable"] = s.maybe(60)
	if s.maybe(20) {
		d.attributes = map[string]any{"mask": s.maybe(70)}
	}
}

func (s source) tidy(d *declared) {
	d.name = oneOf(s, "/srv/a", "/srv/a/b", "/srv/nosuch", "/srv/f")
	d.attributes["ageSeconds"] = 0
	if s.maybe(70) {
		d.attributes["recurse"], d.attributes["rmdirs"] = true, s.maybe(50)
	}
}

func (s source) path() string {
	return oneOf(s, "/srv/a", "/srv/a", "/srv/a/b", "/srv/a/b/c", "/srv/f", "/srv/l", "/srv/l/x", "/srv/nosuch/x", "/bin/own", "/etc/systemd/system/own.service", "/home/ann/.ssh", "/home/ann")
}

func (s source) owner() any {
	return oneOf[any](s, "root", "ann", "bob", "eve", "nosuch", 0, 1500, "1501")
}

func (s source) file(d *declared) {
	d.name = s.path()
	a := d.attributes
	a["ensure"] = oneOf(s, "present", "file", "file", "directory", "directory", "link", "absent")
	switch a["ensure"] {
	case "link":
		a["target"] = oneOf(s, "/srv/f", "/srv/nosuch", "a")
	case "file", "present":
		if s.maybe(60) {
			a["content"] = oneOf(s, "", "one\n", "two\n", "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n")
		} else if s.maybe(40) {
			a["source"] = oneOf(s, "/srv/f", "/srv/nosuch", "/srv/a")
		}
	}
	if s.maybe(40) {
		a["owner"] = s.owner()
	}
	if s.maybe(30) {
		a["group"] = oneOf[any](s, "root", "web", "ann", "nosuch", 1600)
	}
	if s.maybe(40) {
		a["mode"] = oneOf(s, "0644", "0755", "0000", "4755", "1777")
	}
	if s.maybe(25) {
		a["force"] = true
	}
}

func (s source) user(d *declared) {
	d.name = oneOf(s, "ann", "bob", "eve", "root", "Ann Lee", "-x", "a.b", "ann$", "123", "Änn")
	a := d.attributes
	a["ensure"] = oneOf(s, "present", "present", "present", "absent")
	if s.maybe(50) {
		a["uid"] = oneOf(s, 0, 1000, 1500, 1501, 1502)
	}
	if a["ensure"] == "absent" {
		a["manageHome"] = s.maybe(50)
		return
	}
	if s.maybe(30) {
		a["gid"] = oneOf[any](s, "web", "ops", "nosuch", 1600, 0)
	}
	if s.maybe(30) {
		a["groups"] = []string{oneOf(s, "web", "ops", "staff", "nosuch")}
	}
	if s.maybe(30) {
		a["home"] = oneOf(s, "/home/ann", "/srv/a", "/srv/nosuch/home", "/srv/f")
	}
	if s.maybe(30) {
		a["shell"] = oneOf(s, "/bin/sh", "/bin/bash", "/bin/nosuch", "/bin/own", "/srv/f")
	}
	if s.maybe(40) {
		a["manageHome"] = true
	}
	if s.maybe(10) {
		a["allowDupe"] = true
	}
	if s.maybe(10) {
		a["comment"] = oneOf(s, "Ann", "Änn, of ops", "")
	}
}

func (s source) group(d *declared) {
	d.name = oneOf(s, "web", "ops", "ann", "root", "Web Ops", "-x", "a.b", "a-name-that-is-longer-than-thirty-two-characters")
	a := d.attributes
	a["ensure"] = oneOf(s, "present", "present", "absent")
	if a["ensure"] == "absent" {
		return
	}
	if s.maybe(50) {
		a["gid"] = oneOf(s, 0, 1500, 1600, 1601)
	}
	if s.maybe(30) {
		a["members"] = []string{oneOf(s, "ann", "bob", "nosuch", "root")}
		a["authMembership"] = s.maybe(50)
	}
	if s.maybe(10) {
		a["allowDupe"] = true
	}
}

func (s source) key(d *declared) {
	d.name = oneOf(s, "ann@laptop", "bob@laptop")
	a := d.attributes
	a["ensure"] = oneOf(s, "present", "present", "present", "absent")
	a["user"] = oneOf(s, "ann", "bob", "root", "nosuch")
	a["type"] = "ssh-ed25519"
	a["key"] = "AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"
	if s.maybe(20) {
		a["target"] = oneOf(s, "/srv/a/keys", "/srv/nosuch/keys", "/etc/ssh/keys")
	}
}

func (s source) exec(d *declared) {
	d.name = oneOf(s, "x", "y")
	a := d.attributes
	a["command"] = oneOf(s, "/bin/true", "/bin/false", "/bin/nosuch", "/bin/own", "/usr/bin/touch /srv/made", "/bin/rm -rf /srv/a")
	if s.maybe(30) {
		a["creates"] = []string{oneOf(s, "/srv/made", "/srv/a", "/srv/nosuch/x")}
	}
	if s.maybe(20) {
		a["user"] = oneOf(s, "ann", "nosuch", "root")
	}
	if s.maybe(20) {
		a["cwd"] = oneOf(s, "/srv/a", "/srv/nosuch", "/")
	}
}

func (s source) purge(d *declared) {
	d.name = oneOf(s, "Group", "User", "SSHAuthorizedKey")
	if d.name == "SSHAuthorizedKey" {
		d.attributes["confirm"] = d.name
	}
}

// namevar is the attribute with the name of a resource on the host; "" if it has none.
func (d declared) namevar() string {
	switch d.kind {
	case "File", "Tidy":
		return "path"
	case "Purge":
		return "kind"
	case "Exec", "Notify":
		return ""
	}
	return "name"
}
