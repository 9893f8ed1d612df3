package systemservice

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// List implements [resource.Lister]: the executable scripts.
func (s scripted) List(ctx context.Context, h resource.Reader) ([]attributes, error) {
	names, err := h.ReadDir(scriptDir)
	if err != nil {
		return nil, fmt.Errorf("cannot list services: %w", err)
	}
	var all []attributes
	for _, name := range names {
		if ok, err := isService(h, name); err != nil || !ok {
			if err != nil {
				return nil, err
			}
			continue
		}
		is, err := s.Read(ctx, h, attributes{Name: name})
		if err != nil {
			return nil, err
		}
		all = append(all, is)
	}
	return all, nil
}

// isService excludes files that are not scripts, and scripts of the init system itself. A script that
// does not mention status might do anything when it is called with that verb.
func isService(h host.Reader, name string) (bool, error) {
	switch name {
	case "rc", "rcS", "rc.local", "skeleton", "single", "halt", "reboot", "killprocs", "sendsigs", "umountfs", "umountroot", "umountnfs.sh", "functions", "functions.sh":
		return false, nil
	}
	file := path.Join(scriptDir, name)
	info, err := h.Stat(file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (!info.IsRegular() || info.Mode&0o100 == 0 || !validName.MatchString(name)) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("cannot list services: %w", err)
	}
	text, err := h.ReadFile(file)
	if err != nil {
		return false, fmt.Errorf("cannot list services: %w", err)
	}
	shebang, _, _ := strings.Cut(string(text), "\n")
	return strings.Contains(string(text), "status") || strings.HasSuffix(shebang, "openrc-run"), nil
}
