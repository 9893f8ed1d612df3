package text

import "strings"

// Wrap breaks the lines of a text between words so that each has at most width characters where possible, and indents them. Lines
// that are indented already, such as examples, stay as they are.
func Wrap(s string, width int, indent string) string {
	var out []string
	for line := range strings.SplitSeq(strings.TrimRight(s, "\n"), "\n") {
		if strings.HasPrefix(line, " ") || line == "" {
			out = append(out, strings.TrimRight(indent+line, " "))
			continue
		}
		current := ""
		for word := range strings.FieldsSeq(line) {
			if current != "" && len([]rune(current))+len([]rune(word)) >= width {
				out, current = append(out, indent+current), ""
			}
			current = strings.TrimLeft(current+" "+word, " ")
		}
		out = append(out, indent+current)
	}
	return strings.Join(out, "\n")
}

// Reflow wraps the paragraphs of Markdown: lines that follow each other are one paragraph, and each item of a list is one. Tables, code,
// and indented lines that continue no item stay as they are.
func Reflow(markdown string, width int, indent string) string {
	r := reflow{width: width - len(indent), indent: indent}
	for line := range strings.SplitSeq(strings.TrimRight(markdown, "\n"), "\n") {
		r.add(line)
	}
	r.end()
	return strings.Join(r.out, "\n")
}

// A reflow wraps paragraphs that come line by line.
type reflow struct {
	width     int
	indent    string
	out       []string
	paragraph string // so far
	item      bool   // it is one of a list
	fenced    bool   // within ```
}

func (r *reflow) add(line string) {
	fence := strings.HasPrefix(strings.TrimSpace(line), "```")
	switch {
	case r.fenced || fence || r.stays(line):
		r.end()
		r.out = append(r.out, strings.TrimRight(r.indent+line, " "))
	case begins(line):
		r.end()
		r.paragraph, r.item = line, true
	default:
		r.paragraph = strings.TrimSpace(r.paragraph + " " + strings.TrimSpace(line))
	}
	r.fenced = r.fenced != fence
}

// stays reports whether a line is no part of a paragraph.
func (r *reflow) stays(line string) bool {
	return line == "" || strings.HasPrefix(line, "|") || !r.item && strings.HasPrefix(line, " ")
}

// end ends the paragraph.
func (r *reflow) end() {
	if r.paragraph != "" {
		r.out = append(r.out, Wrap(r.paragraph, r.width, r.indent))
	}
	r.paragraph, r.item = "", false
}

// begins reports whether a line of Markdown begins an item of a list, or is a heading.
func begins(line string) bool {
	rest := strings.TrimLeft(line, "0123456789")
	return strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* ") || strings.HasPrefix(line, "#") || rest != line && strings.HasPrefix(rest, ". ")
}
