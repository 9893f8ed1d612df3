// Command installyaml prints the manifests of config/default as one file, with the images of a release.
package main

import (
	"flag"
	"log"
	"os"

	"github.com/fettle-dev/fettle/hack/manifests/bundle"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("installyaml: ")
	manager := flag.String("manager", bundle.ManagerImage, "image of the manager")
	agent := flag.String("agent", bundle.AgentImage, "image of the agent")
	flag.Parse()
	files, err := bundle.Read(os.DirFS("."), "config/default")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := os.Stdout.WriteString(bundle.Join(files, *manager, *agent)); err != nil {
		log.Fatal(err)
	}
}
