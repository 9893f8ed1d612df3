package file

import (
	"context"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// writers is how many files are written next to each other. What takes time is to wait
// until each is safe on disk, and a file system has many wait for the same write of its
// journal.
const writers = 32

// WriteAll implements [resource.BatchWriter]: each file by itself, many at once.
func (p posix) WriteAll(ctx context.Context, h host.Host, writes []resource.Write[Attributes]) []error {
	return resource.Together(len(writes), writers, func(i int) error {
		return p.Write(ctx, h, writes[i].Is, writes[i].Want, writes[i].Changes)
	})
}
