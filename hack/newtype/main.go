// Command newtype scaffolds a resource type: its API kind, its package in
// providers/, its samples and its line in the registry and in PROJECT. `make new-type KIND=Sysctl`
// runs it, and then the generators.
//
// The scaffold compiles and obeys the laws of types, so that the
// first edit already implements behaviour.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"

	"github.com/fettle-dev/fettle/hack/newtype/scaffold"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("newtype: ")
	kind := flag.String("kind", "", "the kind, in CamelCase: Sysctl")
	root := flag.String("root", ".", "the checkout")
	flag.Parse()

	files, err := scaffold.Plan(os.DirFS(*root), *kind)
	if err == nil {
		err = scaffold.Write(*root, files)
	}
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range files {
		fmt.Println("wrote", f.Path)
	}
}
