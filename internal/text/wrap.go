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
