package systemservice

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
)

// A scriptRunner is a supervisor whose services are scripts of /etc/init.d. It only defines the files to
// read and the commands to run: [scripted] does both.
type scriptRunner interface {
	name() string
	resource.Needing
	resource.Defaulter
	suits(h host.Reader) error
	// command is the argv that runs a verb of a script.
	command(service, verb string) []string
	// restarts reports whether every script has a restart verb.
	restarts() bool
	// reloadVerb is the verb by which a script reloads.
	reloadVerb() string
	// starts returns whether a service whose script exists starts at boot.
	starts(h host.Reader, service string) (atBoot, error)
	// enable and disable return the commands to run, in order.
	enable(service string) [][]string
	disable(service string, levels []string) [][]string
}

// atBoot has the runlevels in which a service starts at boot.
type atBoot struct {
	Starts *bool    // nil if it starts only in some of the runlevels of its header
	Levels []string // runlevels in which it starts
}

// scripted is the provider of a scriptRunner.
type scripted struct{ scriptRunner }

var (
	_ resource.Lister[attributes]    = scripted{}
	_ resource.Refresher[attributes] = scripted{}
	_ resource.Defaulter             = scripted{}
	_ resource.Needing               = scripted{}
)

// Name implements [resource.Provider].
func (s scripted) Name() string { return s.name() }

// Features implements [resource.Featured].
func (scripted) Features() []resource.Feature {
	return []resource.Feature{controllable, refreshable, enableable}
}

// Suits implements [resource.Provider].
func (s scripted) Suits(_ resource.Facts, h host.Reader) error {
	if booted(h) == nil {
		return errors.New("systemd runs the host: use the provider systemd")
	}
	return s.suits(h)
}

const scriptDir = "/etc/init.d"

// A script is the present state of a service.
type script struct {
	Name    string
	Missing bool
	Runs    bool
	atBoot
}

// Read implements [resource.Provider].
func (s scripted) Read(ctx context.Context, h resource.Reader, want attributes) (attributes, error) {
	is, err := s.look(ctx, h, want)
	if err != nil {
		return attributes{}, err
	}
	ensure := runState(is.Runs)
	return attributes{Name: want.Name, Ensure: &ensure, Enable: is.enable(want)}, nil
}

// enable returns whether the service starts at boot. If only some runlevels start it, it is the
// opposite of want, so that it is corrected.
func (s script) enable(want attributes) *bool {
	if s.Starts == nil {
		return new(!ptr.Deref(want.Enable, false))
	}
	return s.Starts
}

func (s scripted) look(ctx context.Context, h host.Reader, want attributes) (script, error) {
	is := script{Name: strings.TrimSuffix(want.Name, ".service"), atBoot: atBoot{Starts: new(false)}}
	file, err := h.Stat(path.Join(scriptDir, is.Name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		is.Missing = true
	case err != nil:
		return is, fmt.Errorf("cannot read the state of service %s: %w", is.Name, err)
	case !file.IsRegular():
		is.Missing = true
	default:
		if is.atBoot, err = s.starts(h, is.Name); err != nil {
			return is, fmt.Errorf("cannot find out whether %s starts at boot: %w", is.Name, err)
		}
	}
	is.Runs, err = s.runs(ctx, h, is, want)
	return is, err
}

// runs only considers the exit code: 0 is running.
func (s scripted) runs(ctx context.Context, h host.Reader, is script, want attributes) (bool, error) {
	own, err := queryRuns(ctx, h, want)
	if err != nil || own != nil {
		return own != nil && *own, err
	}
	if is.Missing {
		return false, nil
	}
	res, err := h.Query(ctx, host.Cmd{Args: s.command(is.Name, "status"), Services: true, Timeout: jobLimit})
	if err != nil {
		return false, fmt.Errorf("cannot find out whether %s runs: %w", is.Name, err)
	}
	return res.ExitCode == 0, nil
}

// Write implements [resource.Provider]. It reads the service again.
func (s scripted) Write(ctx context.Context, h resource.Writer, _, want attributes, changes []resource.Change) error {
	is, err := s.look(ctx, h, want)
	if err != nil {
		return err
	}
	if is.Missing && needsUnit(want) {
		return notFound(is.Name)
	}
	var errs []error
	for _, st := range s.plan(is, want) {
		err := st.run(ctx, h)
		if err == nil && st.property == resource.Ensure {
			_, err = s.awaits(ctx, h, want, !st.stops)
		}
		if err != nil {
			errs = append(errs, propertyError(err, st.property, changes))
		}
	}
	return errors.Join(errs...)
}

// A scriptStep is one command.
type scriptStep struct {
	property, what string
	own            *string
	args           []string
	stops          bool
}

// awaits looks until the service runs or stops, and returns its last state.
func (s scripted) awaits(ctx context.Context, h host.Host, want attributes, runs bool) (is script, err error) {
	err = await(ctx, runs, func(ctx context.Context) (bool, error) {
		is, err = s.look(ctx, h, want)
		return is.Runs, err
	})
	return is, err
}

func (s scripted) plan(is script, want attributes) []scriptStep {
	var steps []scriptStep
	switch {
	case wantsRunning(want) && !is.Runs:
		steps = append(steps, s.verb(is, "start", want.Start))
	case wantsStopped(want) && is.Runs:
		steps = append(steps, s.verb(is, "stop", want.Stop))
	}
	if want.Enable == nil || *is.enable(want) == *want.Enable {
		return steps
	}
	what, commands := "enable", s.enable(is.Name)
	if !*want.Enable {
		what, commands = "disable", s.disable(is.Name, is.Levels)
	}
	for _, args := range commands {
		steps = append(steps, scriptStep{property: "enable", what: what + " " + is.Name, args: args})
	}
	return steps
}

func (s scripted) verb(is script, verb string, own *string) scriptStep {
	return scriptStep{resource.Ensure, verb + " " + is.Name, own, s.command(is.Name, verb), verb == "stop"}
}

func (st scriptStep) run(ctx context.Context, h host.Host) error {
	if st.own != nil {
		verb, _, _ := strings.Cut(st.what, " ")
		return runCommand(ctx, h, nil, verb, *st.own)
	}
	res, err := h.Run(ctx, host.Cmd{Args: st.args, Timeout: jobLimit})
	if err != nil {
		return fmt.Errorf("cannot %s: %w", st.what, err)
	}
	if res.ExitCode != 0 {
		return fmt.Errorf("cannot %s: %s", st.what, lastLines(res))
	}
	return nil
}

// lastLines returns the end of a script's output: the reason of a failure follows warnings.
func lastLines(res host.Result) string {
	const maxLines = 3
	for _, stream := range [][]byte{res.Stderr, res.Stdout} {
		var lines []string
		for line := range strings.Lines(string(stream)) {
			if line = strings.TrimLeft(strings.TrimSpace(line), "* "); line != "" {
				lines = append(lines, line)
			}
		}
		if last := strings.Join(lines[max(0, len(lines)-maxLines):], "; "); last != "" {
			return text.ClipFront(last, maxJournal)
		}
	}
	return fmt.Sprintf("it exited with %d", res.ExitCode)
}

// Refresh implements [resource.Refresher].
func (s scripted) Refresh(ctx context.Context, h resource.Writer, _, want attributes) error {
	is, err := s.look(ctx, h, want)
	if err != nil {
		return err
	}
	if !is.Runs {
		return resource.ErrNothingToRefresh
	}
	if ptr.Deref(want.ReloadOnRefresh, false) && s.reload(ctx, h, is) {
		return nil
	}
	for _, st := range s.restart(is, want) {
		err := st.run(ctx, h)
		if err == nil && st.stops { // otherwise a start does nothing
			_, err = s.awaits(ctx, h, want, false)
		}
		if err != nil {
			return err
		}
	}
	return s.stillRuns(ctx, h, want)
}

// reload reports whether the script reloaded. Many can't.
func (s scripted) reload(ctx context.Context, h host.Host, is script) bool {
	return s.verb(is, s.reloadVerb(), nil).run(ctx, h) == nil
}

// restart uses the verb restart only if the script has one.
func (s scripted) restart(is script, want attributes) []scriptStep {
	if want.Restart != nil || ptr.Deref(want.HasRestart, false) || want.HasRestart == nil && s.restarts() {
		return []scriptStep{s.verb(is, "restart", want.Restart)}
	}
	return []scriptStep{s.verb(is, "stop", want.Stop), s.verb(is, "start", want.Start)}
}

func (s scripted) stillRuns(ctx context.Context, h host.Host, want attributes) error {
	is, err := s.awaits(ctx, h, want, true)
	if err == nil && !is.Runs {
		err = fmt.Errorf("%s does not run after its restart", is.Name)
	}
	return err
}
