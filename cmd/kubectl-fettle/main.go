// Command kubectl-fettle is kubectl fettle, a plugin of kubectl: it shows the state of a cluster's nodes, and plans changes.
package main

import (
	"os"

	"github.com/fettle-dev/fettle/cmd/internal/process"
	"github.com/fettle-dev/fettle/internal/cli/fleet"
)

func main() { os.Exit(process.Code(run())) }

func run() error {
	process.Begin()
	ctx, _ := process.Interruptible()
	hosts, err := process.Hosts()
	if err != nil {
		return err
	}
	return fleet.Run(ctx, fleet.Options{Streams: process.Streams(), Hosts: hosts, Kustomize: process.Kustomize}, os.Args[1:])
}
