package linux

import (
	"context"

	"github.com/fettle-dev/fettle/internal/host"
)

// hasSystemd asks what sd_booted(3) asks.
func (h *Host) hasSystemd() bool {
	info, err := h.Stat("/run/systemd/system")
	return err == nil && info.IsDir()
}

func (h *Host) runTransient(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	return h.runPlain(ctx, cmd)
}
