package external

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fettle-dev/fettle/internal/external/translation"
	"github.com/fettle-dev/fettle/internal/external/wire"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// maxSearch is the maximum number of further processes that search for the resources that made one fail. Two thousand resources need 22
// to find one of them if the program answers for all or none.
const maxSearch = 32

// An inquiry asks a program about resources.
type inquiry struct {
	resources []wire.Resource
	requests  []string // in the order in which the program gets them
	// ask starts a process that is asked about some of the resources and may take this long.
	ask func(ctx context.Context, of []int, limit time.Duration) wire.Answers
	// repeatable returns those resources, of a process that failed, that may be asked about again.
	repeatable func(ctx context.Context, of []int, limit time.Duration) []int
}

// query asks without a change to the host.
func (p program) query(h resource.Reader, resources []wire.Resource, requests ...string) inquiry {
	return p.inquiry(h, resources, requests, func(ctx context.Context, cmd host.Cmd) (host.Result, error) {
		cmd.Confinement.ReadOnly = true
		cmd.Confinement.Network, cmd.Confinement.Sockets = p.Spec.Access.Network, p.Spec.Access.Sockets
		return h.Query(ctx, cmd)
	})
}

// run has the program make changes.
func (p program) run(h resource.Writer, resources []wire.Resource, request string) inquiry {
	return p.inquiry(h, resources, []string{request}, func(ctx context.Context, cmd host.Cmd) (host.Result, error) {
		return p.change(ctx, h, cmd)
	})
}

func (p program) inquiry(h host.Reader, resources []wire.Resource, requests []string, start func(context.Context, host.Cmd) (host.Result, error)) inquiry {
	return inquiry{
		resources: resources, requests: requests,
		ask: func(ctx context.Context, of []int, limit time.Duration) wire.Answers {
			about := selected(resources, of)
			r := p.recorderOf(about)
			var lines []wire.Request
			for _, name := range requests {
				lines = append(lines, wire.Request{Request: name, Resources: about})
			}
			cmd, err := p.command(ctx, h, r, translation.Requests(p.Definition, lines))
			if err != nil {
				return wire.Answers{Err: err}
			}
			cmd.Timeout = limit
			res, err := start(ctx, cmd)
			return translation.Answers(p.Definition, lines, answersOf(r, res, err))
		},
		repeatable: func(_ context.Context, of []int, _ time.Duration) []int { return of },
	}
}

func selected[T any](all []T, of []int) []T {
	some := make([]T, len(of))
	for n, i := range of {
		some[n] = all[i]
	}
	return some
}

// inquire asks about all resources, and returns for each the answers of the last process that was asked about it. If a process
// fails before it has answered everything, because of a crash, a hang or output that is no answer, others are asked about
// the rest, until each resource that makes the program fail is alone. Together these may take as long as one
// process, and each of them half of what is left: so it is bounded how often a program that hangs is waited for.
func (p program) inquire(ctx context.Context, q inquiry) []wire.Answers {
	s := &search{inquiry: q, answers: make([]wire.Answers, len(q.resources)), limit: p.timeout()}
	if len(q.resources) == 0 {
		return nil
	}
	everything := make([]int, len(q.resources))
	for i := range everything {
		everything[i] = i
	}
	s.try(ctx, everything)
	if len(s.open) > 0 {
		s.narrow(ctx, p.timeout())
	}
	return s.answers
}

// A search finds the resources that make a program fail.
type search struct {
	inquiry

	answers []wire.Answers // parallel to the resources
	open    [][]int        // groups that are still to be asked about
	limit   time.Duration  // of the next process
}

// narrow asks about the groups that are open, for at most this long.
func (s *search) narrow(ctx context.Context, most time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	s.limit = most / 2 //nolint:mnd // half of what is left, now and after each process that hangs
	if _, err := s.answers[s.open[0][0]].Of(wire.Hello, ""); err != nil && s.ask(ctx, nil, s.limit).Err != nil {
		return // it fails without resources, too
	}
	for n := 0; len(s.open) > 0 && n < maxSearch && ctx.Err() == nil; n++ {
		group := s.open[0]
		s.open = s.open[1:]
		if group = s.repeatable(ctx, group, s.limit); len(group) > 0 {
			s.try(ctx, group)
		}
	}
	for _, group := range s.open {
		for _, i := range group {
			s.answers[i].Err = fmt.Errorf("the program failed when it was asked about %d resources, and it is unknown because of which: %w", len(s.resources), s.answers[i].Err)
		}
	}
}

// try asks about a group, and divides what remains open if the process fails.
func (s *search) try(ctx context.Context, group []int) {
	answers := s.ask(ctx, group, s.limit)
	if errors.Is(answers.Err, context.DeadlineExceeded) {
		s.limit /= 2
	}
	for _, i := range group {
		s.answers[i] = answers
	}
	left := slices.DeleteFunc(slices.Clone(group), func(i int) bool { return s.unanswered(i) == "" })
	if answers.Err == nil || len(left) == 0 || len(group) == 1 || ctx.Err() != nil {
		return
	}
	suspect := s.suspect(group)
	if suspect < 0 {
		half := len(left) / 2 //nolint:mnd // halves
		s.open = append(s.open, left[:half], left[half:])
		return
	}
	if rest := slices.DeleteFunc(left, func(i int) bool { return i == suspect }); len(rest) > 0 {
		s.open = append(s.open, rest)
	}
	s.open = append(s.open, []int{suspect})
}

// unanswered returns the first request without an answer about a resource; "" if there is none.
func (s *search) unanswered(i int) string {
	for _, request := range s.requests {
		if !s.answers[i].Has(request, s.resources[i].Name) {
			return request
		}
	}
	return ""
}

// suspect returns the first resource without an answer to a request that others of a group have an answer to: a program that
// answers one by one failed there. It is -1 if there is none.
func (s *search) suspect(group []int) int {
	for _, request := range s.requests {
		lacks := func(i int) bool { return !s.answers[i].Has(request, s.resources[i].Name) }
		switch first := slices.IndexFunc(group, lacks); {
		case first < 0: // all have one
		case slices.ContainsFunc(group, func(i int) bool { return !lacks(i) }):
			return group[first]
		default:
			return -1
		}
	}
	return -1
}
