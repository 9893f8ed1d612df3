package external

import (
	"context"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/wire"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Precheck implements [resource.Prechecker].
func (p program) Precheck(ctx context.Context, h resource.Reader, writes []resource.Write[Attributes]) []error {
	errs := make([]error, len(writes))
	if !p.Answers(v1alpha1.RequestValidate) {
		return errs
	}
	answers, err := p.query(ctx, h, wantsOf(writes), wire.Request{Request: wire.Validate, Resources: p.changes(writes)})
	for i, w := range writes {
		if errs[i] = err; err == nil {
			_, errs[i] = answers.Of(wire.Validate, *p.namevar(&w.Want))
		}
		errs[i] = p.without(errs[i], w.Want)
	}
	return errs
}

// PreRunCheck implements [resource.PreRunChecker]: one process checks all. An error in an answer is an objection; a resource
// without an answer has only failed itself.
func (p program) PreRunCheck(ctx context.Context, h resource.Reader, wants []Attributes) []error {
	resources := make([]wire.Resource, len(wants))
	for i, w := range wants {
		resources[i] = p.resource(w)
	}
	answers, err := p.query(ctx, h, wants, wire.Request{Request: wire.Check, Resources: resources})
	errs := make([]error, len(wants))
	for i, w := range wants {
		if errs[i] = p.without(err, w); err != nil {
			continue
		}
		answer, err := answers.Of(wire.Check, resources[i].Name)
		if errs[i] = p.without(err, w); answer.Error != "" {
			errs[i] = &resource.ObjectionError{Err: errs[i]}
		}
	}
	return errs
}
