package systemservice

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// offline manages the services of a host for its next boot: the host is a directory in which an image
// is built, or a container without a systemd of its own.
type offline struct{}

// Name implements [resource.Provider].
func (offline) Name() string { return "systemd-offline" }

// Features implements [resource.Featured]: nothing runs.
func (offline) Features() []resource.Feature { return []resource.Feature{enableable, maskable} }

// Limit implements [resource.Limited].
func (offline) Limit() string { return "no systemd runs on this host" }

// Needs implements [resource.Needing].
func (offline) Needs() resource.Needs { return systemd{}.Needs() }

// Suits implements [resource.Provider].
func (offline) Suits(_ resource.Facts, h host.Reader) error {
	if booted(h) == nil {
		return errors.New("systemd runs the host: use the provider systemd")
	}
	return nil
}

// Read implements [resource.Provider].
func (offline) Read(ctx context.Context, h resource.Reader, want attributes) (attributes, error) {
	u, err := unitFile(ctx, h, unitName(want.Name))
	if err != nil {
		return attributes{}, err
	}
	is := u.state(want)
	is.Ensure = nil // unknown to this provider
	return is, nil
}

// Write implements [resource.Provider].
func (offline) Write(ctx context.Context, h resource.Writer, _, want attributes, changes []resource.Change) error {
	c := control{h: h, systemctl: []string{"systemctl", "--root=/"}, look: func(ctx context.Context) (unit, error) {
		return unitFile(ctx, h, unitName(want.Name))
	}}
	return c.write(ctx, want, changes)
}

// maxAliases is the maximum length of a chain of aliases.
const maxAliases = 8

// unitFile returns a unit by the files of the host, with its own name.
func unitFile(ctx context.Context, h host.Reader, name string) (unit, error) {
	for range maxAliases {
		u, err := isEnabled(ctx, h, name)
		if err != nil || u.UnitFileState != "alias" {
			return u, err
		}
		if name, err = aliased(h, name); err != nil {
			return unit{}, err
		}
	}
	return unit{}, fmt.Errorf("cannot find the unit that %s is an alias of: the aliases are a cycle", name)
}

func isEnabled(ctx context.Context, h host.Reader, name string) (unit, error) {
	res, err := h.Query(ctx, host.Cmd{Args: []string{"systemctl", "--root=/", "is-enabled", name}, Services: true, Show: host.Output})
	if err != nil {
		return unit{}, fmt.Errorf("cannot read the state of services: %w", err)
	}
	u := unit{ID: name, LoadState: "loaded", UnitFileState: strings.TrimSpace(string(res.Stdout))}
	if u.UnitFileState == "" || u.UnitFileState == "not-found" { // by older and newer versions
		u.LoadState, u.UnitFileState = "not-found", ""
	}
	return u, nil
}

// aliased returns the name of the unit that an alias leads to.
func aliased(h host.Reader, name string) (string, error) {
	for _, dir := range []string{"/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib"} {
		if text, err := h.Readlink(path.Join(dir, "systemd/system", name)); err == nil {
			return path.Base(text), nil
		}
	}
	return "", fmt.Errorf("cannot find the unit that %s is an alias of", name)
}
