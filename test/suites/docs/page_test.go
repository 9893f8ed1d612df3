package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

const checkout = "../../.."

// A page is a Markdown file.
type page struct {
	name   string // relative to the root of the repository
	source []byte
	root   ast.Node
	blocks []block
}

// A block is a code block with the directives before it.
type block struct {
	page       string
	line       int
	language   string // "" for an indented block
	text       string
	directives map[string]string
}

// pages returns the README and all pages in docs/.
func pages(t *testing.T) []page {
	t.Helper()
	names := []string{"README.md"}
	err := fs.WalkDir(os.DirFS(checkout), "docs", func(name string, _ fs.DirEntry, err error) error {
		if filepath.Ext(name) == ".md" {
			names = append(names, name)
		}
		return err
	})
	must(t, err)
	if len(names) < 30 {
		t.Fatalf("only the pages %s were found", names)
	}
	var all []page
	for _, name := range names {
		source, err := os.ReadFile(filepath.Join(checkout, name))
		must(t, err)
		all = append(all, parse(t, name, source))
	}
	return all
}

func parse(t *testing.T, name string, source []byte) page {
	t.Helper()
	markdown := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	p := page{name: name, source: source, root: markdown.Parser().Parse(text.NewReader(source))}
	must(t, ast.Walk(p.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering && (n.Kind() == ast.KindFencedCodeBlock || n.Kind() == ast.KindCodeBlock) {
			p.blocks = append(p.blocks, p.block(t, n))
		}
		return ast.WalkContinue, nil
	}))
	return p
}

func (p *page) block(t *testing.T, n ast.Node) block {
	t.Helper()
	b := block{page: p.name, text: string(n.Lines().Value(p.source)), directives: map[string]string{}}
	if n.Lines().Len() > 0 {
		b.line = 1 + strings.Count(string(p.source[:n.Lines().At(0).Start]), "\n")
	}
	if f, fenced := n.(*ast.FencedCodeBlock); fenced {
		b.language = string(f.Language(p.source))
	}
	for before := n.PreviousSibling(); before != nil && before.Kind() == ast.KindHTMLBlock; before = before.PreviousSibling() {
		comment := strings.TrimSpace(string(before.Lines().Value(p.source)))
		comment = strings.TrimSuffix(strings.TrimPrefix(comment, "<!--"), "-->")
		name, value, _ := strings.Cut(comment, ":")
		name = strings.TrimSpace(name)
		if !slices.Contains([]string{"file", "with", "nodes", "packages", "not run"}, name) {
			break
		}
		b.directives[name] = strings.TrimSpace(value)
	}
	return b
}

func (b block) notRun() (reason string, marked bool) {
	reason, marked = b.directives["not run"]
	return reason, marked
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// languages are those that a block may have; the value tells whether the block is a set of commands.
var languages = map[string]bool{"sh": true, "console": true, "yaml": false, "text": false, "cel": false, "gotemplate": false, "mermaid": false, "puppet": false}

func TestCodeBlocksAreTestedOrSayWhyNot(t *testing.T) {
	t.Parallel()
	tested, marked := map[string]int{}, map[string]int{}
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			if _, known := languages[b.language]; !known {
				t.Errorf("%s:%d: the language %q is not one of sh, console, yaml, text, cel, gotemplate, mermaid, puppet; an indented block has none", b.page, b.line, b.language)
			}
			switch reason, is := b.notRun(); {
			case is && len(reason) < 10:
				t.Errorf("%s:%d: %q is not a reason", b.page, b.line, reason)
			case is:
				marked[b.language]++
				t.Logf("%s:%d is not run: %s", b.page, b.line, reason)
			default:
				tested[b.language]++
			}
		}
	}
	t.Logf("tested: %v, not run: %v", tested, marked)
	if tested["sh"]+tested["console"] < 25 || tested["yaml"] < 30 {
		t.Errorf("only %v are tested: blocks are probably not found", tested)
	}
}
