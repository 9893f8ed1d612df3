package engine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
)

// resuming is a provider that takes over commands, before each of which a thing had the color in the arguments.
type resuming struct{ plain }

func (p resuming) Resume(ctx context.Context, h resource.Writer, want thing) (thing, *resource.Ended, error) {
	found, err := h.Resume(ctx, h.Job().Owner)
	if err != nil || found == nil {
		return thing{}, nil, err
	}
	is := colored(found.Args[0])
	is.Name = want.Name
	return is, &resource.Ended{Job: found.Job, Err: found.Err}, nil
}

// interrupted is a host on which an earlier process has left one command.
type interrupted struct {
	host.Host
	command *host.Resumed
	end     func() error // waits for its end
}

func (h interrupted) Resume(_ context.Context, owner string) (*host.Resumed, error) {
	if h.command == nil || owner != "Job/a" {
		return nil, nil
	}
	if err := h.end(); err != nil {
		return nil, err
	}
	return h.command, nil
}

func TestCommandsOfAnEarlierProcessAreTakenOver(t *testing.T) {
	t.Parallel()
	changing := host.Resumed{Args: []string{"green"}}
	refreshing := host.Resumed{Args: []string{"red"}, Job: host.Job{Refresh: true, Events: 2}}
	failed := func(r host.Resumed) *host.Resumed { r.Err = errBroken; return &r }
	for name, c := range map[string]struct {
		command *host.Resumed
		color   string // of the thing after the command
		ends    func(m *machine, stop func(error)) error
		events  int // that are due, some of them since the command began
		with    func(*engine.Transaction)
		fails   string // an operation
		did     []string
		want    []string
		due     int
		once    bool // crates are read once: nothing may have changed them
	}{
		"there is none, nor anything to do": {color: "red", want: []string{"Crate/x InSync", "Job/a InSync", "Crate/y InSync"}, once: true},
		"there is none": {
			color: "green",
			did:   []string{"write a (color)"},
			want:  []string{"Crate/x InSync", "Job/a Changed", "  color changed green to red", "Crate/y InSync"},
		},
		"a change": {
			command: &changing, color: "red",
			did:  []string{"take over a"},
			want: []string{"Crate/x InSync", "Job/a Changed", "  color changed green to red", "Crate/y InSync"},
		},
		"a change that failed": {
			command: failed(changing), color: "green",
			did:  []string{"take over a"},
			want: []string{"Crate/x InSync", "Job/a Failed", "  change of color from green to red failed: broken", "Crate/y InSync"},
		},
		"a refresh": {
			command: &refreshing, color: "red", events: 2,
			did:  []string{"take over a"},
			want: []string{"Crate/x InSync", "Job/a Refreshed", "  refreshed by 2 events", "Crate/y InSync"},
		},
		"a refresh, with events since then": {
			command: &refreshing, color: "red", events: 3,
			did:  []string{"take over a", "refresh a"},
			want: []string{"Crate/x InSync", "Job/a Refreshed", "  refreshed by 2 events", "  refreshed by 1 event", "Crate/y InSync"},
		},
		"a refresh that failed": {
			command: failed(refreshing), color: "red", events: 2,
			did:  []string{"take over a"},
			want: []string{"Crate/x InSync", "Job/a Failed", "  cannot refresh: broken", "Crate/y InSync"}, due: 2,
		},
		"a refresh that changed what was read before": {
			command: &refreshing, color: "red", events: 2,
			ends: func(m *machine, _ func(error)) error { m.things["y"] = colored("green"); return nil },
			did:  []string{"take over a", "write y (color)"},
			want: []string{"Crate/x InSync", "Job/a Refreshed", "  refreshed by 2 events", "Crate/y Changed", "  color changed green to red"},
		},
		"one of unknown end": {
			command: &changing, color: "red",
			did:  []string{"take over a"},
			ends: func(*machine, func(error)) error { return errBroken },
			want: []string{"Crate/x InSync", "Job/a Failed", "  broken", "Crate/y InSync"}, once: true,
		},
		"one that outlasts the run": {
			command: &changing, color: "red",
			did:  []string{"take over a"},
			ends: func(_ *machine, stop func(error)) error { stop(errors.New("time is up")); return context.Canceled },
			want: []string{
				"Crate/x InSync", "Job/a Skipped", "  the run was stopped before its turn: time is up",
				"Crate/y Skipped", "  the run was stopped before its turn: time is up",
			}, once: true,
		},
		"one that ends with the run": {
			command: &changing, color: "red",
			did:  []string{"take over a"},
			ends: func(_ *machine, stop func(error)) error { stop(errors.New("time is up")); return nil },
			want: []string{
				"Crate/x InSync", "Job/a Changed", "  color changed green to red",
				"Crate/y Skipped", "  the run was stopped before its turn: time is up",
			}, once: true,
		},
		"not in noop": {
			command: &changing, color: "red", with: noop,
			want: []string{"Crate/x InSync", "Job/a InSync", "Crate/y InSync"}, once: true,
		},
		"not after a failure": {
			command: &changing, color: "red", fails: "read x",
			want: []string{"Crate/x Failed", "  cannot read the present state: broken", "Job/a Skipped", "  skipped because of failed dependencies: Crate/x", "Crate/y InSync"},
			once: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, store := newMachine(), newMemory()
			m.things["x"], m.things["y"], m.things["a"] = colored("red"), colored("red"), colored(c.color)
			if c.fails != "" {
				m.fail[c.fails] = errBroken
			}
			job := m.typ("Job", []resource.Provider[thing]{resuming{plain{m, "hand"}}})
			job.SideEffects = true
			items := []resource.Item{
				m.item(t, "Crate/x", red), m.itemOf(t, map[string]resource.Kind{"Job": bound.Kind(job)}, "Job/a", red, "require:Crate/x"), m.item(t, "Crate/y", red),
			}
			ref := items[1].Ref
			if c.events > 0 {
				store.armed[ref] = c.events
			}
			ctx, stop := context.WithCancelCause(t.Context())
			defer stop(nil)
			tx := engine.Transaction{Now: stoodStill, Store: store, Host: interrupted{nil, c.command, func() error {
				m.did("take over a")
				if c.ends == nil {
					return nil
				}
				return c.ends(m, stop)
			}}}
			if c.with != nil {
				c.with(&tx)
			}
			result, err := tx.Run(ctx, items)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, lines(result)); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.did, m.log); diff != "" || (m.listed == 1) != c.once || store.armed[ref] != c.due {
				t.Errorf("crates were read %d times, %d refreshes are due; done (-want +got):\n%s", m.listed, store.armed[ref], diff)
			}
		})
	}
}
