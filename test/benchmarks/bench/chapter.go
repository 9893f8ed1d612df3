package bench

import (
	"fmt"
	"os"
	"strings"
)

// WriteChapter replaces a chapter in the Markdown document at path, or adds it at the end. With an empty path it prints
// only the chapter. A chapter is between two comments with its name; it is an error if only one of them exists.
func WriteChapter(path, name, text string) error {
	if path == "" {
		_, err := os.Stdout.WriteString(text)
		return err
	}
	old, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	document, err := replace(string(old), name, text)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(document), 0o644)
}

func replace(document, name, text string) (string, error) {
	begin, end := "<!-- begin: "+name+" -->\n", "<!-- end: "+name+" -->\n"
	before, rest, begins := strings.Cut(document, begin)
	_, after, ends := strings.Cut(rest, end)
	switch {
	case begins != ends || strings.Count(document, end) > 1:
		return "", fmt.Errorf("chapter %s does not both begin and end: write %q and %q around it", name, begin, end)
	case !begins && strings.Contains(document, end):
		return "", fmt.Errorf("chapter %s ends but does not begin: write %q before it", name, begin)
	case !begins && document != "":
		before += "\n"
	}
	return before + begin + "\n" + strings.Trim(text, "\n") + "\n\n" + end + after, nil
}
