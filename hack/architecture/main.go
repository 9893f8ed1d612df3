// Command architecture draws the packages of this module and their imports into docs/architecture.md: `make manifests`
// calls it, and its test fails if the picture is out of date.
//
// The picture is a Mermaid flowchart. A box is a group of packages, and an arrow an import between groups, except for imports
// that other arrows imply.
package main

import (
	"fmt"
	"io/fs"
	"log"
	"os"
	"strings"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("architecture: ")
	if err := run(os.DirFS("."), "docs/architecture.md"); err != nil {
		log.Fatal(err)
	}
}

// run replaces the picture in a page of the checkout.
func run(checkout fs.FS, page string) error {
	text, err := fs.ReadFile(checkout, page)
	if err != nil {
		return err
	}
	picture, err := draw(checkout, groups())
	if err != nil {
		return err
	}
	changed, err := replace(string(text), picture)
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	return os.WriteFile(page, []byte(changed), 0o644)
}

const (
	begin = "```mermaid\n"
	end   = "```\n"
)

// replace replaces the only picture of a page.
func replace(page, picture string) (string, error) {
	before, rest, begins := strings.Cut(page, begin)
	_, after, ends := strings.Cut(rest, end)
	if !begins || !ends {
		return "", fmt.Errorf("there is no block of code that begins with %q and ends with %q", begin, end)
	}
	return before + begin + picture + end + after, nil
}

// draw returns the picture of a checkout.
func draw(checkout fs.FS, all []group) (string, error) {
	imports, err := importsOf(checkout)
	if err != nil {
		return "", err
	}
	p, err := newPicture(all, imports)
	if err != nil {
		return "", err
	}
	return p.mermaid(), nil
}
