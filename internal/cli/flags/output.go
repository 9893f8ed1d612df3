package flags

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli/output"
)

// Formats of output.
const (
	Text     = "text"
	Table    = "table"
	Wide     = "wide" // a table with more columns or rows
	JSON     = "json"
	YAML     = "yaml"
	CSV      = "csv"
	Markdown = "markdown"
)

// An Output is the flag --output of a command: the format in which it prints its result.
type Output struct{ format string }

// AddText adds the flag to a command that prints lines.
func (o *Output) AddText(cmd *cobra.Command) { o.Add(cmd, Text, Text, JSON, YAML) }

// AddTable adds the flag to a command that prints a table.
func (o *Output) AddTable(cmd *cobra.Command) { o.Add(cmd, Table, Table, Wide, JSON, YAML, CSV) }

// Add adds the flag with a default and the formats that the command accepts and completes. Others fail before the command runs.
func (o *Output) Add(cmd *cobra.Command, byDefault string, formats ...string) {
	last := len(formats) - 1
	usage := strings.Join(formats[:last], ", ") + " or " + formats[last]
	cmd.Flags().StringVarP(&o.format, "output", "o", byDefault, usage)
	Complete(cmd, "output", formats...)
	cmd.PreRunE = func(*cobra.Command, []string) error { return OneOf("--output", o.format, formats...) }
}

// Is reports whether the output has a format.
func (o Output) Is(format string) bool { return o.format == format }

// String returns the format.
func (o Output) String() string { return o.format }

// encoded reports whether the output is for programs that know its fields.
func (o Output) encoded() bool { return o.Is(JSON) || o.Is(YAML) }

// Print prints a value as JSON or YAML, or else calls a function that prints it as text.
func (o Output) Print(p *output.Printer, value any, text func()) error {
	if o.encoded() {
		return p.Encode(value, o.format)
	}
	text()
	return nil
}

// PrintRows prints a value as JSON or YAML, or its rows as CSV or as a table.
func (o Output) PrintRows(p *output.Printer, value any, rows [][]string) error {
	return o.PrintTable(p, value, rows, func() { p.Table(rows) })
}

// PrintTable is PrintRows with a function that prints the table.
func (o Output) PrintTable(p *output.Printer, value any, rows [][]string, table func()) error {
	if o.Is(CSV) {
		return p.CSV(rows)
	}
	return o.Print(p, value, table)
}
