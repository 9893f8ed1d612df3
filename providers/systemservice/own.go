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

	// POSIX words and quoting, and unlike others neither comments nor expansion.
	"github.com/kballard/go-shellquote"
	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/regex"
)

// words splits one of a resource's own commands. No shell ever sees it.
func words(attribute, command string) ([]string, error) {
	args, err := shellquote.Split(command)
	if err != nil {
		return nil, fmt.Errorf("%s %q can't be split into words: %w; close the quote", attribute, command, err)
	}
	if len(args) == 0 || args[0] == "" {
		return nil, fmt.Errorf("%s is empty: name a command, or leave it out", attribute)
	}
	return args, nil
}

// validateOwn checks what a resource says of its own commands.
func validateOwn(want attributes) error {
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
	return errors.Join(append(errs, validateMeans(want), validatePattern(want.Pattern))...)
}

// validateMeans refuses two ways to learn or to do one thing.
func validateMeans(want attributes) error {
	var errs []error
	if want.Pattern != nil && !isFalse(want.HasStatus) {
		errs = append(errs, errors.New("pattern requires hasStatus: false: set it, or remove pattern"))
	}
	if want.Status != nil && isFalse(want.HasStatus) {
		errs = append(errs, errors.New("status cannot be combined with hasStatus: false: remove one of them"))
	}
	if want.Restart != nil && ptr.Deref(want.ReloadOnRefresh, false) {
		errs = append(errs, errors.New("restart cannot be combined with reloadOnRefresh: true: remove one of them"))
	}
	return errors.Join(errs...)
}

func validatePattern(pattern *string) error {
	if pattern == nil {
		return nil
	}
	if *pattern == "" {
		return errors.New("pattern is empty and would match every process: leave it out to look for the service's name")
	}
	if _, err := regex.Measure(*pattern); err != nil {
		return fmt.Errorf("pattern %.60q is not valid: %w", *pattern, err)
	}
	return nil
}

// asked is what a resource's own means say of whether its service runs; nil where it
// has none and the supervisor is to be asked.
func asked(ctx context.Context, h host.Reader, want attributes) (*bool, error) {
	switch {
	case want.Status != nil:
		return askCommand(ctx, h, *want.Status)
	case isFalse(want.HasStatus):
		return lookForProcess(h, want)
	}
	return nil, nil
}

// askCommand takes 0 for running and all else for stopped, whatever the command says.
func askCommand(ctx context.Context, h host.Reader, command string) (*bool, error) {
	args, err := words("status", command)
	if err != nil {
		return nil, err
	}
	res, err := h.Query(ctx, host.Cmd{Args: args, Timeout: jobLimit})
	if err != nil {
		return nil, fmt.Errorf("cannot ask the service's own status: %w", err)
	}
	return new(res.ExitCode == 0), nil
}

// lookForProcess reports whether some process's command line matches.
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

// maxCommandLine is how much of a command line is matched, in bytes. A process can have one of megabytes.
const maxCommandLine = 32 << 10

// processMatches compares the words of a command line with spaces in between. Our own
// may hold the pattern. One that has ended meanwhile, and the kernel's, have none.
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

// patience is about how long a service may take to be what it was told to be. Only a
// supervisor waits until a process has ended; a script and a command tell it to, and a
// daemon may have gone to the background before it is ready.
const patience = 2 * time.Second

// await looks, at ever longer intervals, until a service runs or no longer does. That it
// is not so at the end is no error: anyone who looks next will see.
func await(ctx context.Context, runs bool, look func(context.Context) (bool, error)) error {
	for waited, pause := time.Duration(0), 10*time.Millisecond; ; pause *= 2 {
		is, err := look(ctx)
		if err != nil || is == runs || waited >= patience {
			return err
		}
		select {
		case <-time.After(pause):
			waited += pause
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// runOwn runs a resource's own command for a verb.
func runOwn(ctx context.Context, h host.Host, prefix []string, verb, command string) error {
	args, err := words(verb, command)
	if err != nil {
		return err
	}
	res, err := h.Run(ctx, host.Cmd{Args: slices.Concat(prefix, args), Timeout: jobLimit})
	if err != nil {
		return fmt.Errorf("cannot %s the service by its own command: %w", verb, err)
	}
	if res.ExitCode != 0 {
		return fmt.Errorf("cannot %s the service by its own command: %s", verb, said(res))
	}
	return nil
}

// ownScope has systemd keep what an own command leaves running apart from who started
// it: a daemon must not end with an agent's pod.
func ownScope() []string {
	return []string{"systemd-run", "--scope", "--collect", "--quiet", "--"}
}
