package bundle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/internal/cli/hostservice"
	"github.com/fettle-dev/fettle/internal/facts"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/state"
)

// logBytes bounds the output of a command.
const logBytes = 4 << 20

// A Host collects from a host.
type Host struct {
	Reader host.Host
	// StateDir is the path of the state directory in this process.
	StateDir string
	Now      func() time.Time
}

// Collect adds what it finds to the folder host of an archive.
func (h Host) Collect(ctx context.Context, a *Archive) {
	all, errs := facts.Gather(ctx, h.Reader)
	a.Problem("host/facts.yaml", errors.Join(errs...))
	a.AddYAML("host/facts.yaml", factFields().Pick(map[string]any(all)))
	h.report(a)
	h.agent(ctx, a)
	a.Add("host/state.txt", []byte(h.listing()))
	h.command(ctx, a, "host/journal.txt", "journalctl", "--no-pager", "--output=short-iso", "--lines=5000", "--unit="+hostservice.Name)
	h.command(ctx, a, "host/units.txt", "systemctl", "show", "--property=Id,ActiveState,SubState,Result,ExecMainStatus,NRestarts", "fettle-*")
}

// factFields omit external facts, which can have any content, and names and addresses.
func factFields() Fields {
	return Allow("os", "kernel", "kernelrelease", "kernelmajversion", "virtual", "is_virtual", "memory", "processors", "init", "timezone")
}

// reportFields omit values, diffs and output.
func reportFields() Fields {
	return Allow("kind", "apiVersion", "host", "status", "message", "noop", "correctiveChange", "started", "duration", "catalogDigest", "cachedCatalogStatus",
		"counts", "metrics", "resources.ref", "resources.provider", "resources.state", "resources.duration", "resources.message",
		"resources.events.property", "resources.events.status", "resources.events.corrective")
}

// report adds the report of the last run.
func (h Host) report(a *Archive) {
	const name = "host/last_report.yaml"
	text, err := state.Report(h.StateDir)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var report any
	if err == nil {
		err = json.Unmarshal(text, &report)
	}
	if err != nil {
		a.Problem(name, err)
		return
	}
	a.AddYAML(name, reportFields().Pick(report))
}

// agent adds the state of the service, and which agent acts.
func (h Host) agent(ctx context.Context, a *Archive) {
	const name = "host/agent.yaml"
	is, err := hostservice.Service{Host: h.Reader}.Status(ctx)
	a.Problem(name, err)
	acting, _, err := state.ActingAgent(h.StateDir)
	a.Problem(name, err)
	out := map[string]any{"service": is.String(), "actingAgent": acting, "disabled": false}
	if is.Installed {
		out["credentials"] = is.Credentials(h.Now())
	}
	if why := state.Disabled(h.StateDir); why != nil {
		out["disabled"] = why.Error()
	}
	a.AddYAML(name, out)
}

// listing lists the files of the state directory without their contents.
func (h Host) listing() string {
	var out strings.Builder
	err := filepath.WalkDir(h.StateDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // it was removed meanwhile
		}
		name, err := filepath.Rel(h.StateDir, path)
		if err == nil {
			fmt.Fprintf(&out, "%s %10d %s %s\n", info.Mode(), info.Size(), info.ModTime().UTC().Format(time.RFC3339), name)
		}
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		fmt.Fprintf(&out, "%v\n", err)
	}
	return out.String()
}

// command adds the output of a command that only reads.
func (h Host) command(ctx context.Context, a *Archive, name string, args ...string) {
	res, err := h.Reader.Query(ctx, host.Cmd{Args: args, MaxOutput: logBytes})
	if errors.Is(err, fs.ErrNotExist) { // a host without systemd
		return
	}
	a.Problem(name, err)
	a.Add(name, append(res.Stdout, res.Stderr...))
}
