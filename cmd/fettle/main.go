// Command fettle brings one machine to the state that resources describe, without a cluster. The commands about the nodes of a
// cluster are those of the program kubectl-fettle.
package main

import (
	"os"
	"syscall"

	"github.com/fettle-dev/fettle/cmd/internal/process"
	"github.com/fettle-dev/fettle/internal/cli"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/providers"
)

func main() { os.Exit(process.Code(run())) }

func run() error {
	process.Begin()
	// Files get the modes of their resources, whatever the umask of the shell.
	syscall.Umask(0o022)
	if err := checkName(os.Args[0]); err != nil {
		return err
	}
	// A signal ends a run after the current resource. The second one kills its commands, apart from those in a unit of systemd,
	// which the next run waits for.
	ctx, abort := process.Interruptible()
	hosts, err := process.Hosts()
	if err != nil {
		return err
	}
	return cli.Run(host.WithAbort(ctx, abort), cli.Options{
		Streams: process.Streams(), Kinds: providers.Kinds(), Hosts: hosts,
		NodeName: os.Getenv("NODE_NAME"), Kustomize: process.Kustomize, CopyOfRoot: copyOfRoot, Plugin: plugin,
	}, os.Args[1:])
}
