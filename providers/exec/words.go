package exec

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/shellwords"
	"github.com/fettle-dev/fettle/internal/text"
)

// shell runs a line with shell: true.
const shell = "/bin/sh"

// words returns the argv of a command line.
func words(line string, a Attributes) ([]string, error) {
	if ptr.Deref(a.Shell, false) {
		return []string{shell, "-c", line}, nil
	}
	split, err := shellwords.Split(line, "set shell: true")
	if err != nil {
		return nil, fmt.Errorf("%q %s", shown(line, a), redacted(err.Error(), a))
	}
	return split, nil
}

// commandWords returns the argv of the command itself.
func commandWords(a Attributes) ([]string, error) {
	if a.Args != nil {
		return append([]string{a.Command}, a.Args...), nil
	}
	return words(a.Command, a)
}

// maxClip is the maximum length of a quoted line, in bytes.
const maxClip = 200

// shown returns a line as messages quote it.
func shown(line string, a Attributes) string {
	return text.Clip(text.FirstLine(redacted(line, a)), maxClip)
}

// program returns the file that a line begins with, or "" if it is unknown.
func program(line string, a Attributes) string {
	if ptr.Deref(a.Shell, false) {
		return regexp.MustCompile(`^/[\w./+-]+`).FindString(line)
	}
	if line == a.Command && a.Args != nil {
		return line
	}
	split, err := words(line, a)
	if err != nil {
		return ""
	}
	return split[0]
}

// validate rejects lines that could never be run, which a schema can't split into words.
func validate(a Attributes) error {
	argv, err := commandWords(a)
	errs := []error{runnable("command", argv, err, a), validateSecret(a)}
	if sleep := ptr.Deref(a.TrySleepSeconds, 0); sleep > 3600 {
		errs = append(errs, fmt.Errorf("trySleepSeconds is %d: use at most 3600, which is 1h", sleep))
	}
	each := func(attribute string, lines []string) {
		for _, line := range lines {
			argv, err := words(line, a)
			errs = append(errs, runnable(attribute, argv, err, a))
		}
	}
	each("onlyIf", a.OnlyIf)
	each("unless", a.Unless)
	if a.Refresh != nil {
		each("refresh", []string{*a.Refresh})
	}
	return errors.Join(errs...)
}

// validateSecret returns errors that never contain a value.
func validateSecret(a Attributes) error {
	for _, kv := range a.secret {
		name, value, _ := strings.Cut(kv, "=")
		if strings.ContainsRune(value, 0) {
			return fmt.Errorf("the value of %s in environmentFrom contains a zero byte, which an environment cannot: remove it from the Secret", name)
		}
	}
	return nil
}

func runnable(attribute string, argv []string, err error, a Attributes) error {
	if err != nil {
		return fmt.Errorf("%s %w", attribute, err)
	}
	if strings.HasPrefix(argv[0], "/") {
		return nil
	}
	if strings.Contains(argv[0], "/") {
		return fmt.Errorf("%s %q is a relative path: use an absolute one", attribute, shown(argv[0], a))
	}
	if a.Path == nil {
		return fmt.Errorf("%s %q is not absolute and there is no path to look it up: use an absolute one, or set path", attribute, shown(argv[0], a))
	}
	return nil
}

// find returns argv with the path of its program on the host.
func find(h host.Reader, argv []string, a Attributes) ([]string, error) {
	if strings.HasPrefix(argv[0], "/") {
		_, err := h.LookPath(argv[0])
		return argv, err
	}
	for dir := range strings.SplitSeq(strings.Join(a.Path, ":"), ":") {
		if file := path.Join("/", dir, argv[0]); usable(h, file) {
			return append([]string{file}, argv[1:]...), nil
		}
	}
	return nil, fmt.Errorf("cannot find command %q in path %s", shown(argv[0], a), strings.Join(a.Path, ":"))
}

func usable(h host.Reader, file string) bool {
	_, err := h.LookPath(file)
	return err == nil
}
