// Package validatecmd runs the command that checks new content before it replaces a file.
package validatecmd

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/shellwords"
	"github.com/fettle-dev/fettle/internal/text"
)

// placeholder is the word that stands for the path of the staged file.
const placeholder = "%"

// Validate rejects a command that can't be split into words, or that has no placeholder.
func Validate(command string) error {
	_, err := split(command)
	return err
}

// split repeats the schema's rule about the placeholder in part, because without it the new content would not be checked. A placeholder
// inside a larger word does not count: it is never replaced, so a shell can't run the path as a part of its script.
func split(command string) ([]string, error) {
	words, err := shellwords.Split(command, "run it with sh -c '...' sh %")
	if err != nil {
		return nil, fmt.Errorf("validateCmd %q %w", text.FirstLine(command), err)
	}
	if !slices.Contains(words, placeholder) {
		return nil, fmt.Errorf(`validateCmd %q needs %% as a word of its own, which stands for the path of the staged file, as in visudo -c -f %%, or sh -c 'check --file="$1"' sh %%`, text.FirstLine(command))
	}
	return words, nil
}

// args replaces the placeholder after the split, so that a space or a quote in the path has
// no meaning.
func args(command, staged string) ([]string, error) {
	words, err := split(command)
	if err != nil {
		return nil, err
	}
	for i, word := range words {
		if word == placeholder {
			words[i] = staged
		}
	}
	return words, nil
}

// A Check is a command that new content must pass.
type Check struct {
	Command string
	// Path is the file that the content is for.
	Path string
	// Hide is the reason why the output of the command, which may quote the content, must not be
	// shown. It follows "because" in an error; empty if the output may be shown.
	Hide string
}

// Run fails if the staged file does not pass the check.
func (c Check) Run(ctx context.Context, h host.Host, staged string) error {
	argv, err := args(c.Command, staged)
	if err != nil {
		return err
	}
	cmd := host.Cmd{Args: argv}
	if c.Hide == "" {
		cmd.Show = host.Output
	}
	res, err := h.Run(ctx, cmd)
	if err != nil {
		return fmt.Errorf("cannot run validateCmd: %w", err)
	}
	if res.ExitCode == 0 {
		return nil
	}
	return fmt.Errorf("validateCmd %q exited with %d, so the file stays as it is%s", text.FirstLine(c.Command), res.ExitCode, c.output(res, staged))
}

// maxOutput is the maximum length of the output in an error, in bytes.
const maxOutput = 512

// output returns the end of the command's output. It names the final path instead of the staged
// one, which differs each time and would make every error a new one.
func (c Check) output(res host.Result, staged string) string {
	if c.Hide != "" {
		return "; its output is not shown, because " + c.Hide
	}
	output := strings.TrimSpace(string(res.Stderr))
	if output == "" {
		output = strings.TrimSpace(string(res.Stdout))
	}
	if output == "" {
		return ""
	}
	output = strings.NewReplacer(staged, c.Path, path.Base(staged), path.Base(c.Path)).Replace(output)
	return ": " + text.ClipFront(output, maxOutput)
}
