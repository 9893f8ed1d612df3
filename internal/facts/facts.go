// Package facts gathers the facts of a host, with Facter's structured names.
//
// It reads everything through a [host.Reader], so the facts are those of the host and never of the container
// that gathers them: from /proc it reads only files that are the same for every reader, or those of the
// host's first process. It omits facts that change by the minute, because facts are published and
// a quiet fleet should write nothing.
//
// For the same reason, some values differ from Facter's: timezone is the name of the zone
// (its abbreviation changes twice a year), processors.models lists each model once, and
// mountpoints have no sizes. Interfaces, mounts and addresses of containers are omitted.
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

// Gather returns all facts of a host. A fact that the host does not have is missing.
// The errors are about facts that exist but could not be read; the others are valid.
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

// A gatherer reads a host and collects errors.
type gatherer struct {
	host.Reader
	ctx  context.Context
	errs []error
}

// text returns the content of a file, "" if it does not exist.
func (g *gatherer) text(path string) string {
	text, err := g.ReadFile(path)
	g.failed(err, "read "+path)
	return string(text)
}

// line returns the content of a file with one line.
func (g *gatherer) line(path string) string { return strings.TrimSpace(g.text(path)) }

// failed reports whether there is an error, and records it unless something does not exist.
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

// timezone is the name of the host's zone, such as Europe/Berlin.
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

// init is the init system of the host. In a chroot without systemd, the systemd of the machine outside does
// not count.
func (g *gatherer) init() string {
	if g.exists("/run/systemd/system") {
		return "systemd"
	}
	if comm := g.line("/proc/1/comm"); comm != "systemd" {
		return comm
	}
	return ""
}
