package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/engine/enginetest/promise"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// packages are those that the repository of a root offers, and one that it does not.
func packages() []string {
	return []string{"p-ok", "p-conf", "p-fails", "p-unit", "p-needs", "p-user", "p-nosuch"}
}

func debs() []debian.Deb {
	return []debian.Deb{
		{Name: "p-ok", Version: "1.0", Files: map[string]string{"/usr/share/p-ok": "1"}},
		{Name: "p-ok", Version: "2.0", Files: map[string]string{"/usr/share/p-ok": "2"}},
		{Name: "p-conf", Version: "1.0", Files: map[string]string{"/etc/p.conf": "a\n"}, Conffiles: []string{"/etc/p.conf"}},
		{Name: "p-fails", Version: "1.0", Scripts: map[string]string{"postinst": "#!/bin/sh\nexit 1\n"}},
		{Name: "p-unit", Version: "1.0", Files: map[string]string{"/lib/systemd/system/p-unit.service": "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"}},
		{Name: "p-needs", Version: "1.0", Depends: "p-nosuch"},
		{Name: "p-user", Version: "1.0", Scripts: map[string]string{"postinst": "#!/bin/sh\nuseradd eve\n"}},
	}
}

// withRoot calls f with a root in the state of a pair.
func (p pair) withRoot(ctx context.Context, layers []debian.Layer, f func(root string) error) (err error) {
	root, remove, err := debian.Open(ctx, debian.Nothing, os.Stderr, layers...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	if slices.ContainsFunc(p.resources, func(d declared) bool { return d.kind == "Package" }) {
		if err := debian.WriteRepository(root, debs()...); err != nil {
			return err
		}
		if err := chroot(root, "apt-get", "-qq", "update"); err != nil {
			return err
		}
	}
	for _, s := range p.state {
		if err := s.make(root); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return f(root)
}

// tryFettle plans and applies the manifest of a pair.
func (p pair) tryFettle(ctx context.Context) (o promise.Outcome, err error) {
	err = p.withRoot(ctx, nil, func(root string) error {
		h, err := linux.Open(linux.Options{Root: root})
		if err != nil {
			return err
		}
		o, err = promise.Host{Host: h, Kinds: providers.Kinds(), Facts: resource.Facts{"os": map[string]any{"family": "Debian"}}, Bind: p.items}.Try(ctx)
		return errors.Join(err, h.Close())
	})
	return o, err
}

// items binds the resources of a pair.
func (p pair) items() ([]resource.Item, error) {
	var items []resource.Item
	for _, d := range p.resources {
		item := resource.Item{Ref: d.bound()}
		for _, r := range d.require {
			i := slices.IndexFunc(p.resources, func(o declared) bool { return o.ref() == r })
			item.Require = append(item.Require, p.resources[i].bound())
		}
		raw, err := json.Marshal(d.all())
		if err != nil {
			return nil, err
		}
		kinds := providers.Kinds()
		i := slices.IndexFunc(kinds, func(k resource.Kind) bool { return k.Name() == d.kind })
		item.Resource, item.Invalid = kinds[i].Bind(item.Ref, raw)
		items = append(items, item)
	}
	return items, nil
}

// all returns the attributes with the name on the host.
func (d declared) all() map[string]any {
	all := maps.Clone(d.attributes)
	if v := d.namevar(); v != "" {
		all[v] = d.name
	}
	return all
}

// unfit matches what the name of an object can't have.
var unfit = regexp.MustCompile(`[^a-z0-9]+`)

func (d declared) bound() resource.Ref {
	name := strings.Trim(unfit.ReplaceAllString(strings.ToLower(d.name), "-"), "-")
	return resource.Ref{Kind: d.kind, Name: name}
}
