package main

import (
	"bytes"
	"context"
	"time"

	"github.com/fettle-dev/fettle/test/benchmarks/bench"
	"github.com/fettle-dev/fettle/test/suites/glance"
)

// floor is what a client has to read at least to know the state of every node.
const floor = "kubectl get --raw /apis/fettle.dev/v1alpha1/nodecatalogs"

// A row is a command with its times.
type row struct {
	command string
	times   []time.Duration
	target  time.Duration // 0 for none
}

type results struct {
	nodes  int
	bytes  int // of all NodeCatalogs
	floor  row
	rows   []row
	memory int64 // of the manager, at most
}

// measure calls each command several times.
func measure(ctx context.Context, s *bench.Stage, f *glance.Fleet, calls int) results {
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
		s.Logf("%s: %s, at most %s", command, bench.Median(row.times), bench.At(row.times, 1))
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
	usage, err := bench.UsageOf(f.ManagerPID())
	s.Must(err)
	r.memory = usage.Peak
	return r
}
