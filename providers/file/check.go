package file

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"strings"

	// POSIX words and quoting, and unlike others neither comments nor expansion.
	"github.com/kballard/go-shellquote"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/text"
)

// placeholder is the word of validateCmd that stands for the staged file.
const placeholder = "%"

// wholeWords matches a command in which every quote is closed and each placeholder is a
// word of its own. The schema of the API has the same expression. It is never changed.
var wholeWords = regexp.MustCompile(`^[ \t\n]*((%|([^ \t\n%'"\\]|\\[^%]|'[^'%]*'|"([^"\\%]|\\[^%])*")+)([ \t\n]+|$))*$`)

// checkWords splits a command. A placeholder is never part of a larger word: a shell would
// run the path as part of its script.
func checkWords(command string) ([]string, error) {
	if !strings.Contains(command, placeholder) {
		return nil, fmt.Errorf("validateCmd %q needs a %% where the path of the staged file goes, as in visudo -c -f %%", command)
	}
	words, err := shellquote.Split(command)
	if err != nil {
		return nil, fmt.Errorf("validateCmd %q cannot be split into words: %w; close the quote", command, err)
	}
	if !wholeWords.MatchString(command) {
		return nil, fmt.Errorf(`validateCmd %q has a %% inside a larger word: write %% as a word of its own, as in visudo -c -f %%, or sh -c 'check --file="$1"' sh %%`, command)
	}
	return words, nil
}

// checkArgs is the argv that checks a staged file. The path goes in after the split,
// so that nothing in it is taken for a quote or a space.
func checkArgs(command, staged string) ([]string, error) {
	words, err := checkWords(command)
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

// check makes the test that a staged file must pass, nil if there is none.
func check(h host.Host, want Attributes) func(ctx context.Context, staged string) error {
	if want.ValidateCmd == nil {
		return nil
	}
	return func(ctx context.Context, staged string) error {
		args, err := checkArgs(*want.ValidateCmd, staged)
		if err != nil {
			return err
		}
		cmd := host.Cmd{Args: args}
		if !discreet(want) {
			cmd.Show = host.Output
		}
		res, err := h.Run(ctx, cmd)
		if err != nil {
			return fmt.Errorf("cannot run validateCmd: %w", err)
		}
		if res.ExitCode == 0 {
			return nil
		}
		return fmt.Errorf("validateCmd %q exited with %d, so the file stays as it is%s",
			*want.ValidateCmd, res.ExitCode, complaint(res, staged, want))
	}
}

// complaint is what the command wrote, unless it may quote content that is not to be
// shown.
func complaint(res host.Result, staged string, want Attributes) string {
	switch {
	case want.secret:
		return "; what it said is not shown, because the content is a secret"
	case discreet(want):
		return "; what it said is not shown, because of showDiff: false"
	}
	return said(res, staged, want.Path)
}

// maxSaid is how much of what a command said, in bytes, is worth telling. The end
// has the reason.
const maxSaid = 512

// said is the end of what a command wrote. It calls the staged file by its final
// name: the temporary one says nothing and makes each message new.
func said(res host.Result, staged, final string) string {
	output := strings.TrimSpace(string(res.Stderr))
	if output == "" {
		output = strings.TrimSpace(string(res.Stdout))
	}
	if output == "" {
		return ""
	}
	output = strings.NewReplacer(staged, final, path.Base(staged), path.Base(final)).Replace(output)
	return ": " + text.ClipFront(output, maxSaid)
}
