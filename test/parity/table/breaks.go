package table

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Folder is where the breaks are, relative to the repository's root: a file for each section, such as 2.3.txt. A break
// is a paragraph of it: three lines that begin with row, breaks and file, then lines of the file as a diff has them,
// those that go behind a minus, those that come behind a plus, and those around them behind a space.
//
//	row mode
//	breaks what is more than nine bits is taken
//	file providers/file/mode.go
//	 	switch {
//	-	case mode > 0o777:
//	+	case false:
const Folder = "test/parity/breaks"

// A Break is an edit of one source file that takes a row's behaviour away; one of the tests that the row cites must
// then fail.
type Break struct {
	Section string
	Row     string // its name, in full
	Breaks  string // what is no longer so, in a few words
	File    string // relative to the root, no test
	old     string // whole lines, which occur once in the file
	broken  string
}

// Breaks returns those of the repository at root by section.
func Breaks(root fs.FS) ([]Break, error) {
	files, err := fs.Glob(root, Folder+"/*.txt")
	if err != nil {
		return nil, err
	}
	var all []Break
	for _, name := range files {
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return nil, err
		}
		for paragraph := range strings.SplitSeq(strings.Trim(string(text), "\n"), "\n\n") {
			b, err := parseBreak(paragraph)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			b.Section = strings.TrimSuffix(path.Base(name), ".txt")
			all = append(all, b)
		}
	}
	return all, nil
}

func parseBreak(paragraph string) (Break, error) {
	var b Break
	for line := range strings.SplitSeq(strings.Trim(paragraph, "\n"), "\n") {
		if err := b.add(line); err != nil {
			return b, err
		}
	}
	if b.Row == "" || b.Breaks == "" || b.File == "" || b.old == b.broken {
		return b, fmt.Errorf("a break needs row, breaks, file and an edit: %q", paragraph)
	}
	return b, nil
}

// add takes a line of the paragraph in.
func (b *Break) add(line string) error {
	kind, rest, _ := strings.Cut(line, " ")
	switch head := map[string]*string{"row": &b.Row, "breaks": &b.Breaks, "file": &b.File}[kind]; {
	case head != nil && *head == "":
		*head = rest
	case strings.HasPrefix(line, " "):
		b.old, b.broken = b.old+line[1:]+"\n", b.broken+line[1:]+"\n"
	case strings.HasPrefix(line, "-"):
		b.old += line[1:] + "\n"
	case strings.HasPrefix(line, "+"):
		b.broken += line[1:] + "\n"
	default:
		return fmt.Errorf("%q begins with none of row, breaks, file, space, minus and plus, or with one of the three again", line)
	}
	return nil
}

// Apply returns the broken file. It fails where the source has changed so that the edit means nothing any more.
func (b Break) Apply(root fs.FS) ([]byte, error) {
	if strings.HasSuffix(b.File, "_test.go") {
		return nil, fmt.Errorf("%s: %s is a test: break what it tests", b, b.File)
	}
	text, err := fs.ReadFile(root, b.File)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b, err)
	}
	source := strings.SplitAfter(string(text), "\n")
	old := strings.SplitAfter(strings.TrimSuffix(b.old, "\n"), "\n")
	at := places(source, old, sameText)
	if len(at) == 0 {
		at = places(source, old, sameWords)
	}
	if len(at) != 1 {
		return nil, fmt.Errorf("%s: its lines occur %d times in %s in place of once: change the break along with the source", b, len(at), b.File)
	}
	rest := source[at[0]+len(old):]
	return []byte(strings.Join(source[:at[0]], "") + b.broken + strings.Join(rest, "")), nil
}

// places are where lines occur among others.
func places(all, lines []string, same func(a, b string) bool) []int {
	var at []int
	for i := range len(all) - len(lines) + 1 {
		if slices.EqualFunc(lines, all[i:i+len(lines)], same) {
			at = append(at, i)
		}
	}
	return at
}

func sameText(a, b string) bool { return strings.TrimSuffix(a, "\n") == strings.TrimSuffix(b, "\n") }

// sameWords looks through indentation and alignment, which change with the lines around.
func sameWords(a, b string) bool {
	return slices.Equal(strings.Fields(a), strings.Fields(b))
}

// String names the break: section, row and what is broken.
func (b Break) String() string {
	return fmt.Sprintf("%s %s: %s", b.Section, b.Row, b.Breaks)
}
