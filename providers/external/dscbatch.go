package external

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fettle-dev/fettle/internal/external/dsc"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A dscBatch is a resource of an adapter that takes a configuration: one process reads many. Changes are made one by one,
// because an adapter that fails does not say what it has changed.
type dscBatch struct{ dscResource }

// Limits of reads together.
const (
	maxTogether = 100 // resources in a configuration
	maxSplits   = 16  // processes that look for resources that cannot be read, in each call
)

// splits are how often reads are divided after they failed.
type splits struct {
	left  int           // processes
	limit time.Duration // of each process: it halves after one that hangs, so that all of them take as long as two
}

// allowed reports whether a read that failed is divided.
func (s *splits) allowed(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) {
		s.limit /= 2
	}
	s.left -= 2
	return s.left >= 0
}

// ReadAll implements [resource.BatchReader].
func (p dscBatch) ReadAll(ctx context.Context, h resource.Reader, wants []Attributes) []resource.Result[Attributes] {
	results := make([]resource.Result[Attributes], len(wants))
	var places []int
	for i, w := range wants {
		if !p.asksTest(w) {
			places = append(places, i)
			continue
		}
		results[i].State, results[i].Err = p.Read(ctx, h, w)
	}
	s := &splits{left: maxSplits, limit: p.timeout()}
	for some := range slices.Chunk(places, maxTogether) {
		p.together(ctx, h, wants, results, some, s)
	}
	return results
}

// together reads the resources at some places by one process. If that fails, it reads the halves, so that one resource fails
// no other.
func (p dscBatch) together(ctx context.Context, h resource.Reader, wants []Attributes, results []resource.Result[Attributes], places []int, s *splits) {
	c := dscCall{name: "get", op: p.DSC.Manifest.Get, limit: s.limit}
	for _, i := range places {
		c.wants = append(c.wants, wants[i])
		c.instances = append(c.instances, p.instance(wants[i], p.keys(wants[i])))
	}
	states, err := p.states(ctx, h, c)
	if half := len(places) / 2; err != nil && half > 0 && s.allowed(err) && ctx.Err() == nil { //nolint:mnd // a half
		p.together(ctx, h, wants, results, places[:half], s)
		p.together(ctx, h, wants, results, places[half:], s)
		return
	}
	err = p.without(err, c.wants...) // the process knew the secrets of all
	for n, i := range places {
		if results[i].Err = err; err == nil {
			results[i].State, results[i].Err = p.compared(states[n], wants[i])
		}
		results[i] = p.completed(results[i], wants[i])
	}
}

// completed returns a result with what all states have, and with an error without secrets.
func (p dscResource) completed(r resource.Result[Attributes], want Attributes) resource.Result[Attributes] {
	r.State.name, r.State.secrets = cmp.Or(p.NameOf(r.State.values), *p.namevar(&want)), want.secrets
	r.State.hide = p.recorder(want, r.State).secrets
	r.Err = p.without(r.Err, want, r.State)
	return r
}

func (p dscBatch) states(ctx context.Context, h resource.Reader, c dscCall) ([]dsc.State, error) {
	output, err := p.query(ctx, h, c)
	if err != nil {
		return nil, err
	}
	r, err := p.DSC.Manifest.Results(output, c.instances)
	if err != nil {
		return nil, fmt.Errorf("get: %w", err)
	}
	return r.States, nil
}
