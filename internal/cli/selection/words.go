package selection

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Split splits a name such as File/motd. The error for another form says how to write it.
func Split(word string) (kind, name string, err error) {
	if kind, title, ok := strings.Cut(strings.TrimSuffix(word, "]"), "["); ok && kind != "" && strings.HasSuffix(word, "]") {
		return "", "", fmt.Errorf("%q is how Puppet writes it: write %s/%s", word, kind, strings.Trim(title, `"'`))
	}
	kind, name, ok := strings.Cut(word, "/")
	if !ok || kind == "" || name == "" {
		return "", "", fmt.Errorf("%q is not KIND/NAME, such as File/motd", word)
	}
	return kind, name, nil
}

// mostSuggested is the number of names that DidYouMean has.
const mostSuggested = 5

// DidYouMean suggests names that are similar to a word, as the end of an error; "" if none is.
func DidYouMean(word string, names []string) string {
	candidates := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, name := range names {
		candidates.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	similar := candidates.SuggestionsFor(word)
	if len(similar) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(similar[:min(len(similar), mostSuggested)], " or ") + "?"
}
