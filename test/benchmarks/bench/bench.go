// Package bench is what the benchmarks share: a program that measures on a [Stage] and writes one chapter of a page, and the
// statistics in its tables.
package bench

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Main is the main function of a benchmark, whose own flags are declared. measure returns the text of its chapter, which
// replaces the chapter of that name in the document of the flag -out; "" replaces nothing.
func Main(name string, measure func(ctx context.Context, s *Stage) (chapter string)) {
	out := flag.String("out", "", "Markdown document whose chapter "+name+" is replaced (default: print it)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err := On(name, func(s *Stage) {
		if chapter := measure(ctx, s); chapter != "" {
			s.Must(WriteChapter(*out, name, chapter))
		}
	})
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}
