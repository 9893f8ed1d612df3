// Command manpages writes the manual pages of fettle and kubectl fettle into a directory: `make man`.
//
// They are made from the command's own help, a page for each subcommand.
package main

import (
	"io"
	"log"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/fettle-dev/fettle/internal/cli"
	"github.com/fettle-dev/fettle/internal/cli/fleet"
	"github.com/fettle-dev/fettle/internal/cli/program"
	"github.com/fettle-dev/fettle/internal/version"
	"github.com/fettle-dev/fettle/providers"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("manpages: ")
	if len(os.Args) != 2 {
		log.Fatal("give the directory to write to")
	}
	if err := write(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

// write writes all pages, with the date in SOURCE_DATE_EPOCH or else today's.
func write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	streams := program.Streams{Out: io.Discard, Err: io.Discard}
	for _, cmd := range []*cobra.Command{cli.Command(cli.Options{Streams: streams, Kinds: providers.Kinds()}), fleet.Command(fleet.Options{Streams: streams})} {
		cmd.DisableAutoGenTag = true
		header := &doc.GenManHeader{Section: "1", Source: "fettle " + version.String(), Manual: "Fettle"}
		if err := doc.GenManTree(cmd, header, dir); err != nil {
			return err
		}
	}
	return nil
}
