package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// table writes rows in columns, two spaces apart.
func (a *app) table(rows [][]string) {
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		_, _ = fmt.Fprintln(w, strings.Join(r, "\t")) // as say
	}
	_ = w.Flush()
}
