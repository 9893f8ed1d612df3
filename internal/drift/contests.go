package drift

import (
	"time"

	"github.com/fettle-dev/fettle/internal/resource"
)

// contended is the number of corrections, without a calm time between them, that make a contest of drift.
const contended = 3

// contests are the resources whose drift was corrected lately.
type contests map[resource.Ref]contest

type contest struct {
	corrections int
	calms       time.Time // when it is over if nothing more happens
}

// corrected counts a correction. calms is when the paths of the resource will be calm.
func (c contests) corrected(now time.Time, ref resource.Ref, calms time.Time) {
	is := c[ref]
	if now.After(is.calms) {
		is.corrections = 0
	}
	c[ref] = contest{is.corrections + 1, calms}
}

// contended returns the resources in a contest. It forgets the others that are calm.
func (c contests) contended(now time.Time) map[resource.Ref]bool {
	refs := map[resource.Ref]bool{}
	for ref, is := range c {
		switch {
		case now.After(is.calms):
			delete(c, ref)
		case is.corrections >= contended:
			refs[ref] = true
		}
	}
	return refs
}
