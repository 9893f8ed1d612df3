package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/fettle-dev/fettle/internal/text"
)

// table writes rows in columns, two spaces apart.
func (a *app) table(rows [][]string) {
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		cells := make([]string, len(r))
		for i, cell := range r {
			cells[i] = text.Line(cell)
		}
		_, _ = fmt.Fprintln(w, strings.Join(cells, "\t")) // as say
	}
	_ = w.Flush()
}
