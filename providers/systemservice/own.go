package systemservice

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/regex"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/shellwords"
	"github.com/fettle-dev/fettle/internal/text"
)

// words splits a command of the resource, which no shell runs.
func words(attribute, command string) ([]string, error) {
	args, err := shellwords.Split(command, "run it with sh -c '...'")
	if err != nil {
		return nil, fmt.Errorf("%s %q %w", attribute, text.FirstLine(command), err)
	}
	return args, nil
}

// validateCommands validates the commands of a resource, which a schema can't split into words.
func validateCommands(want attributes) error {
	var errs []error
	for _, c := range []struct {
		name    string
		command *string
	}{{"start", want.Start}, {"stop", want.Stop}, {"restart", want.Restart}, {"status", want.Status}} {
		if c.command != nil {
			_, err := words(c.name, *c.command)
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, validatePattern(want.Pattern))...)
}

func validatePattern(pattern *string) error {
	if pattern == nil {
		return nil
	}
	if _, err := regex.Measure(*pattern); err != nil {
		return fmt.Errorf("pattern %.60q is not valid: %w", *pattern, err)
	}
	return nil
}

// queryRuns returns whether the service runs by its status or pattern; nil if it has neither, so that
// the supervisor is queried.
func queryRuns(ctx context.Context, h host.Reader, want attributes) (*bool, error) {
	switch {
	case want.Status != nil:
		return queryCommand(ctx, h, *want.Status)
	case !ptr.Deref(want.HasStatus, true):
		return lookForProcess(h, want)
	}
	return nil, nil
}

// queryCommand treats exit code 0 as running and any other as stopped.
func queryCommand(ctx context.Context, h host.Reader, command string) (*bool, error) {
	args, err := words("status", command)
	if err != nil {
		return nil, err
	}
	res, err := h.Query(ctx, host.Cmd{Args: args, Timeout: jobLimit})
	if err != nil {
		return nil, fmt.Errorf("cannot run the status command: %w", err)
	}
	return new(res.ExitCode == 0), nil
}

// reportSandboxedStatus reports that a status command may have seen less than it would without a simulation.
func reportSandboxedStatus(writes []resource.Write[attributes]) {
	for _, w := range writes {
		if w.Want.Status != nil {
			w.AddNote("status ran in a sandbox without a network, /run and other processes: an apply may find another state\n")
		}
	}
}

// lookForProcess reports whether the command line of a process matches.
func lookForProcess(h host.Reader, want attributes) (*bool, error) {
	pattern := regexp.QuoteMeta(want.Name)
	if want.Pattern != nil {
		pattern = *want.Pattern
	}
	re, err := regex.Compile(pattern)
	if err != nil {
		return nil, err
	}
	names, err := h.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("cannot look for the service's process: %w", err)
	}
	for _, name := range names {
		found, err := processMatches(h, name, re)
		if found || err != nil {
			return new(found), err
		}
	}
	return new(false), nil
}

// maxCommandLine is the matched length of a command line, in bytes. Command lines may have megabytes.
const maxCommandLine = 32 << 10

// processMatches matches the words of a command line, joined by spaces. It skips our own process, which
// may contain the pattern. A process that has ended meanwhile, and a kernel thread, has none.
func processMatches(h host.Reader, name string, re *regexp.Regexp) (bool, error) {
	if pid, err := strconv.Atoi(name); err != nil || pid == os.Getpid() {
		return false, nil
	}
	file := path.Join("/proc", name, "cmdline")
	raw, err := readUpTo(h, file, maxCommandLine)
	if err != nil {
		if _, gone := h.Lstat(file); errors.Is(gone, fs.ErrNotExist) {
			return false, nil
		}
		return false, fmt.Errorf("cannot look for the service's process: %w", err)
	}
	line := strings.TrimRight(strings.ReplaceAll(string(raw), "\x00", " "), " ")
	return line != "" && re.MatchString(line), nil
}

// readUpTo reads the beginning of a file.
func readUpTo(h host.Reader, file string, limit int64) ([]byte, error) {
	f, err := h.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}

// patience is the approximate time limit for a service to start or stop. Only a supervisor waits until a
// process has ended; a script and a command do not, and a daemon may go to the background before it
// is ready.
const patience = 2 * time.Second

// await polls, at increasing intervals, until a service runs or stops. A timeout is not an error: the
// next read shows the state.
func await(ctx context.Context, runs bool, look func(context.Context) (bool, error)) error {
	for waited, pause := time.Duration(0), 10*time.Millisecond; ; pause *= 2 {
		is, err := look(ctx)
		if err != nil || is == runs || waited >= patience {
			return err
		}
		if err := resource.Wait(ctx, pause); err != nil {
			return err
		}
		waited += pause
	}
}

// runCommand runs the resource's command for a verb.
func runCommand(ctx context.Context, h host.Host, prefix []string, verb, command string) error {
	args, err := words(verb, command)
	if err != nil {
		return err
	}
	res, err := h.Run(ctx, host.Cmd{Args: slices.Concat(prefix, args), Timeout: jobLimit})
	if err != nil {
		return fmt.Errorf("cannot %s the service by its command: %w", verb, err)
	}
	if res.ExitCode != 0 {
		return fmt.Errorf("cannot %s the service by its command: %s", verb, firstLine(res))
	}
	return nil
}

// scope runs a command in a scope of its own, so that a daemon that it starts survives the agent's
// pod.
func scope() []string {
	return []string{"systemd-run", "--scope", "--collect", "--quiet", "--"}
}
