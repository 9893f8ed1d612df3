package external

import (
	"context"
	"reflect"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/wire"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Precheck implements [resource.Prechecker].
func (p program) Precheck(ctx context.Context, h resource.Reader, writes []resource.Write[Attributes]) []error {
	errs := p.objections(ctx, h, writes)
	for i := range errs {
		if errs[i] == nil {
			errs[i] = &resource.UnknownError{Reason: "runs the program of the type"}
		}
	}
	return errs
}

// objections returns what speaks against changes: the rules of the type, and what the program says about the others. A plan and
// an apply ask the same.
func (p program) objections(ctx context.Context, h resource.Reader, writes []resource.Write[Attributes]) []error {
	errs := make([]error, len(writes))
	var asked []resource.Write[Attributes]
	var places []int
	for i, w := range writes {
		if errs[i] = p.initOnly(w); errs[i] == nil && p.Answers(v1alpha1.RequestValidate) {
			asked, places = append(asked, w), append(places, i)
		}
	}
	resources := p.changes(asked)
	answers := p.inquire(ctx, p.query(h, resources, wire.Validate))
	for n, i := range places {
		_, err := answers[n].Of(wire.Validate, resources[n].Name)
		if err = p.without(err, asked[n].Want, asked[n].Is); err != nil {
			errs[i] = &resource.ProvisionalError{Err: err}
		}
	}
	return errs
}

// PreRunCheck implements [resource.PreRunChecker]: one process checks all. An error in an answer is an objection; a resource
// without an answer has only failed itself.
func (p program) PreRunCheck(ctx context.Context, h resource.Reader, wants []Attributes) []error {
	resources := p.resources(wants)
	answers := p.inquire(ctx, p.query(h, resources, wire.Check))
	errs := make([]error, len(wants))
	for i, w := range wants {
		answer, err := answers[i].Of(wire.Check, resources[i].Name)
		if errs[i] = p.without(err, w); answer.Error != "" {
			errs[i] = &resource.ObjectionError{Err: errs[i]}
		}
	}
	return errs
}

// writing has the program change resources. Of those that a failed process was asked to change, only those are changed again
// that it has left as they were. It changed the others before it failed: they are added to made.
func (p program) writing(h resource.Writer, writes []resource.Write[Attributes], made map[int]bool) inquiry {
	wants := wantsOf(writes)
	q := p.run(h, p.changes(writes), wire.Set)
	read := p.reading(h, wants)
	q.repeatable = func(ctx context.Context, of []int, limit time.Duration) []int {
		if h.Stopped() != nil {
			return nil
		}
		answers := read.ask(ctx, of, limit)
		var again []int
		for _, i := range of {
			is, err := p.state(answers, wants[i])
			switch {
			case err != nil: // it is unknown what was changed
			case reflect.DeepEqual(present(is), present(writes[i].Is)):
				again = append(again, i)
			default:
				made[i] = true
			}
		}
		return again
	}
	return q
}
