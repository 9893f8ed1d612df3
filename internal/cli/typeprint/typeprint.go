// Package typeprint runs commands that print something about types, when a type is built.
package typeprint

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/external/dscbuild"
	"github.com/fettle-dev/fettle/internal/external/store"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/state"
	"github.com/fettle-dev/fettle/internal/text"
)

// Print returns what a command of a DSC manifest prints. It stores the files of the command on the host; the command itself
// cannot change anything.
func Print(ctx context.Context, h host.Host, c dscbuild.Command) ([]byte, error) {
	d := &definition.Definition{Name: "build", Digest: dscbuild.BuildDigest, Spec: v1alpha1.ExternalTypeSpec{Kind: "type", Source: v1alpha1.ExternalSource{Files: c.Files}}}
	dir, err := store.New(h, path.Join(state.DefaultDir, "types")).Dir(ctx, h, d)
	if err != nil {
		return nil, err
	}
	const maxOutput, maxMemory, maxTasks = 4 << 20, 512 << 20, 256
	res, err := h.Query(ctx, host.Cmd{
		Args: definition.CommandIn(dir, slices.Concat([]string{c.Executable}, c.Args)), Dir: dir, MaxOutput: maxOutput, Timeout: time.Minute,
		Confinement: &host.Confinement{ReadOnly: true, Memory: maxMemory, Tasks: maxTasks},
	})
	switch {
	case err != nil:
		return nil, err
	case res.Truncated:
		return nil, fmt.Errorf("the command printed more than %d MiB", maxOutput>>20)
	case res.ExitCode != 0:
		return nil, fmt.Errorf("the command exited with %d: %s", res.ExitCode, text.Line(string(bytes.TrimSpace(res.Stderr))))
	}
	return res.Stdout, nil
}
