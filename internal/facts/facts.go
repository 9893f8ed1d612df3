// Package facts asks a host what it is, and answers in Facter's structured names.
//
// Everything is read through a [host.Reader], so it is the host that answers and never
// the container that asks: of /proc only what is the same for every reader is read,
// or what belongs to the host's first process. Facts that change by the minute are
// left out, because facts are published and a quiet fleet is quiet.
//
// Where Facter's value is unfit for that, ours differs: timezone is the zone's name
// (its abbreviation changes twice a year), processors.models has each model once, and
// mountpoints have no sizes. Interfaces, mounts and addresses that containers come
// and go with are left out.
package facts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Gather asks a host for all its facts. A fact that the host does not have is missing.
// The errors say what could not be found out although it is there; the rest is good.
func Gather(ctx context.Context, r host.Reader) (resource.Facts, []error) {
	g := &gatherer{ctx: ctx, Reader: r}
	cpus := g.cpus()
	all := resource.Facts{
		"kernel": "Linux",
		"path":   host.SearchPath,
	}
	set(all, "os", g.os())
	maps.Copy(all, kernel(g.line("/proc/sys/kernel/osrelease")))
	set(all, "networking", g.networking())
	set(all, "memory", memory(g.text("/proc/meminfo")))
	set(all, "processors", cpus.facts())
	set(all, "mountpoints", mountpoints(g.text("/proc/1/mounts")))
	set(all, "dmi", g.dmi())
	set(all, "timezone", g.timezone())
	set(all, "init", g.init())
	virtual := g.virtual(cpus)
	all["virtual"], all["is_virtual"] = virtual, virtual != physical
	maps.Copy(all, g.external())
	return all, g.errs
}

// gatherer reads, and keeps the errors.
type gatherer struct {
	host.Reader
	ctx  context.Context
	errs []error
}

// text is a file's content, "" if there is none.
func (g *gatherer) text(path string) string {
	text, err := g.ReadFile(path)
	g.failed(err, "read "+path)
	return string(text)
}

// line is a file's content where that is one line.
func (g *gatherer) line(path string) string { return strings.TrimSpace(g.text(path)) }

// failed notes an error; that something does not exist is none.
func (g *gatherer) failed(err error, what string) bool {
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		g.errs = append(g.errs, fmt.Errorf("cannot %s: %w", what, err))
	}
	return err != nil
}

func (g *gatherer) exists(path string) bool {
	_, err := g.Stat(path)
	return err == nil
}

// set sets a fact, unless it is empty.
func set(m map[string]any, name string, v any) {
	switch v := v.(type) {
	case string:
		if v == "" {
			return
		}
	case map[string]any:
		if len(v) == 0 {
			return
		}
	case []any:
		if len(v) == 0 {
			return
		}
	}
	m[name] = v
}

// timezone is the name of the host's zone, as Europe/Berlin.
func (g *gatherer) timezone() string {
	if link, err := g.Readlink("/etc/localtime"); err == nil {
		if _, zone, ok := strings.Cut(link, "zoneinfo/"); ok {
			return zone
		}
	}
	if zone := g.line("/etc/timezone"); zone != "" {
		return zone
	}
	return "UTC"
}

// init is the program that runs the host. systemd says where it does; that it runs the
// machine outside of a chroot is no fact of the chroot.
func (g *gatherer) init() string {
	if g.exists("/run/systemd/system") {
		return "systemd"
	}
	if comm := g.line("/proc/1/comm"); comm != "systemd" {
		return comm
	}
	return ""
}
