package file

import (
	"context"

	"github.com/fettle-dev/fettle/internal/resource"
)

// writers is how many files are written next to each other. What takes time is to wait
// until each is safe on disk, and a file system has many wait for the same write of its
// journal.
const writers = 32

// WriteAll implements [resource.BatchWriter]: each file by itself, many at once.
func (p posix) WriteAll(ctx context.Context, h resource.Writer, writes []resource.Write[Attributes]) []error {
	errs := make([]error, 0, len(writes))
	for _, row := range rows(writes) {
		errs = append(errs, resource.Together(len(row), writers, func(i int) error {
			if h.Stopped() != nil {
				return resource.ErrNotBegun
			}
			return p.Write(ctx, h, row[i].Is, row[i].Want, row[i].Changes)
		})...)
	}
	return errs
}

// rows are what is written at once. A file with a validateCmd is one by itself: the command
// may look at other files, all of those before it and none of those after it.
func rows(writes []resource.Write[Attributes]) (all [][]resource.Write[Attributes]) {
	for i, w := range writes {
		alone := w.Want.ValidateCmd != nil || i > 0 && writes[i-1].Want.ValidateCmd != nil
		if alone || i == 0 {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], w)
	}
	return all
}
