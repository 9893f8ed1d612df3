package debian

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// Open is [Root] for those who have no test: the caller must be root and calls remove in the end. With Archive apt
// in the root installs from the archive that the base came from.
func Open(ctx context.Context, network Network, progress io.Writer) (root string, remove func() error, err error) {
	tree, err := newTree(ctx, nil, progress)
	if err != nil {
		return "", nil, err
	}
	err = tree.prepareChroot()
	if err == nil && network == Archive {
		err = tree.connect(ctx, progress)
	}
	if err != nil {
		return "", nil, errors.Join(err, tree.place.remove())
	}
	return tree.root, tree.place.remove, nil
}

// A Network is what a root can reach.
type Network int

// The networks: none, as in all tests, or the archive of the base.
const (
	Nothing Network = iota
	Archive
)

// connect gives a root the archive's address and the machine's way to resolve it.
func (t *tree) connect(ctx context.Context, progress io.Writer) error {
	base, err := Base(ctx, progress)
	if err != nil {
		return err
	}
	for from, to := range map[string]string{base + ".sources": sourcesList, "/etc/resolv.conf": "etc/resolv.conf"} {
		text, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(t.root, to), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
