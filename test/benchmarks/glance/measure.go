package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/prometheus/procfs"

	"github.com/fettle-dev/fettle/test/benchmarks/stage"
	"github.com/fettle-dev/fettle/test/suites/glance"
)

// floor is what a client has to read at least to know the state of every node.
const floor = "kubectl get --raw /apis/fettle.dev/v1alpha1/nodecatalogs"

// A row is a command with its times, sorted.
type row struct {
	command string
	times   []time.Duration
	target  time.Duration // 0 for none
}

func (r row) median() time.Duration { return r.times[len(r.times)/2] }

func (r row) longest() time.Duration { return r.times[len(r.times)-1] }

type results struct {
	nodes  int
	bytes  int // of all NodeCatalogs
	floor  row
	rows   []row
	memory uint64 // of the manager, at most
}

// measure calls each command several times.
func measure(ctx context.Context, s *stage.Stage, f *glance.Fleet, calls int) results {
	r := results{nodes: f.Nodes()}
	call := func(command string, calls int, target time.Duration) row {
		row := row{command: command, target: target}
		for range calls {
			began := time.Now()
			out, err := f.Command(ctx, command).Output()
			s.Must(err)
			row.times = append(row.times, time.Since(began))
			if command == floor {
				r.bytes = len(bytes.TrimSpace(out))
			}
		}
		slices.Sort(row.times)
		fmt.Fprintf(os.Stderr, "glance: %s: %s, at most %s\n", command, row.median(), row.longest())
		return row
	}
	r.floor = call(floor, calls, 0)
	for _, c := range glance.Commands() {
		if c.Every {
			r.rows = append(r.rows, call(c.Line, min(3, calls), c.Target))
			continue
		}
		r.rows = append(r.rows, call(c.Line, calls, c.Target))
	}
	r.rows = append(r.rows, call("kubectl fettle why File/motd", calls, glance.Soon), call("kubectl fettle diff File/motd", min(3, calls), 0))
	p, err := procfs.NewProc(f.ManagerPID())
	s.Must(err)
	status, err := p.NewStatus()
	s.Must(err)
	r.memory = status.VmHWM
	return r
}
