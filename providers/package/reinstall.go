package pkg

import (
	"context"
	"errors"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Refresh implements [resource.Refresher]: it installs again what is installed, if the
// resource says so. The version stays, unless the source is another one by now.
func (a apt) Refresh(ctx context.Context, h resource.Writer, is, want Attributes) error {
	if want.ReinstallOnRefresh == nil || !*want.ReinstallOnRefresh || !installing(want) {
		return resource.ErrNothingToRefresh
	}
	writes := []resource.Write[Attributes]{{Is: is, Want: want}}
	b := &batch{tools: a.tools(h), look: h, writes: writes, errs: make([]error, len(writes))}
	o, err := b.planReinstall(ctx)
	if err != nil {
		return err
	}
	return b.reinstall(ctx, o)
}

// planReinstall orders the version that is there.
func (b *batch) planReinstall(ctx context.Context) (order, error) {
	if err := b.prepare(ctx); err != nil {
		return order{}, err
	}
	want := b.writes[0].Want
	name := b.db.actual(want)
	is := b.db.find(name)
	switch {
	case is.damage() != nil:
		return order{}, is.damage()
	case !is.installed():
		return order{}, resource.ErrNothingToRefresh
	}
	o := order{name: name, action: install, from: is.version, version: is.version, pinned: true, setting: settingOf(want, want.InstallOptions)}
	o.setting.reinstall = true
	if want.Source == nil {
		return o, nil
	}
	has, err := b.offerOf(ctx, want)
	o.version, o.source = has.candidate, has.source
	return o, err
}

func (b *batch) reinstall(ctx context.Context, o order) error {
	orders := b.preseed(ctx, []order{o})
	if len(orders) == 0 {
		return b.errs[0]
	}
	released, err := b.release(ctx, orders)
	if err != nil {
		return err
	}
	err = b.attempt(ctx, transaction{o.setting, orders})
	if is := b.db.find(o.name); err != nil || !o.done(is) {
		b.errs[0] = o.failed(err, is)
	}
	b.hold(context.WithoutCancel(ctx), released)
	return b.errs[0]
}

// notReinstalled is what apt-get could not install again, which is a success to it.
func notReinstalled(res host.Result) error {
	for line := range strings.Lines(string(res.Stdout)) {
		if strings.HasPrefix(line, "Reinstallation of ") {
			return errors.New(strings.TrimSpace(line))
		}
	}
	return nil
}
