// Package source takes the prose out of files: comments, texts and test names of Go, the paragraphs of
// Markdown, the comments of anything else.
package source

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// A Passage is prose that belongs together. It begins in line Line of its file, the first line is 1; a
// line of the text is a line of the file.
type Passage struct {
	Line int
	Text string
}

// Passages returns the prose of a file. Generated Go has none.
func Passages(name string, content []byte) ([]Passage, error) {
	switch path.Ext(name) {
	case ".go":
		return golang(name, content)
	case ".md":
		return markdown(string(content)), nil
	}
	return comments(string(content)), nil
}

func golang(name string, content []byte) ([]Passage, error) {
	files := token.NewFileSet()
	syntax, err := parser.ParseFile(files, name, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("cannot read Go: %w", err)
	}
	if ast.IsGenerated(syntax) {
		return nil, nil
	}
	var all []Passage
	add := func(pos token.Pos, text string) {
		all = append(all, Passage{files.Position(pos).Line, text})
	}
	for _, group := range syntax.Comments {
		add(group.Pos(), commentText(group))
	}
	ast.Inspect(syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec, *ast.CommentGroup:
			return false
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil {
				add(n.Pos(), text)
			}
		case *ast.FuncDecl:
			if name, isTest := strings.CutPrefix(n.Name.Name, "Test"); isTest {
				add(n.Pos(), words(name))
			}
		}
		return true
	})
	return all, nil
}

// commentText returns a comment without its marks. Unlike [ast.CommentGroup.Text] it retains all lines.
func commentText(group *ast.CommentGroup) string {
	var lines []string
	for _, c := range group.List {
		text := strings.TrimSpace(strings.TrimPrefix(c.Text, "//"))
		if strings.HasPrefix(text, "+") || strings.HasPrefix(text, "nolint") {
			text = "" // a marker, not prose
		}
		lines = append(lines, text)
	}
	return withoutCode(strings.Join(lines, "\n"))
}

var capital = regexp.MustCompile(`[A-Z][a-z]*`)

// words splits the name of a test: AFileIsWritten becomes "a file is written".
func words(name string) string {
	return strings.TrimSpace(capital.ReplaceAllStringFunc(name, func(w string) string { return " " + strings.ToLower(w) }))
}

var code = regexp.MustCompile("`[^`\n]*`")

// withoutCode replaces code by a word, so that nothing in it is taken for prose.
func withoutCode(text string) string { return code.ReplaceAllString(text, "CODE") }

// markdown returns the paragraphs, list items and table rows outside of blocks of code.
func markdown(text string) []Passage {
	var all []Passage
	var paragraph []string
	begin, inBlock := 0, false
	end := func() {
		if len(paragraph) > 0 {
			all = append(all, Passage{begin, withoutCode(strings.Join(paragraph, "\n"))})
		}
		paragraph = nil
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\n")
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		switch {
		case fence, inBlock, strings.TrimSpace(line) == "", strings.HasPrefix(line, "    "), strings.HasPrefix(line, "#"):
			end()
			inBlock = inBlock != fence
			continue
		case strings.HasPrefix(line, "|"), strings.HasPrefix(line, "- "):
			end()
		}
		if paragraph == nil {
			begin = number
		}
		paragraph = append(paragraph, line)
	}
	end()
	return all
}

var comment = regexp.MustCompile(`^\s*#+ (.*)$`)

// comments returns those that begin with #, consecutive lines together.
func comments(text string) []Passage {
	var all []Passage
	last, number := 0, 0
	for line := range strings.Lines(text) {
		number++
		m := comment.FindStringSubmatch(strings.TrimRight(line, "\n"))
		switch {
		case m == nil:
		case last == number-1 && last > 0:
			all[len(all)-1].Text += "\n" + withoutCode(m[1])
			last = number
		default:
			all = append(all, Passage{number, withoutCode(m[1])})
			last = number
		}
	}
	return all
}
