package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// A result is what was measured of a program with a pair.
type result struct {
	Program   string
	Number    int
	Seed      uint64
	Resources int
	Planned   map[string]int `json:",omitempty"` // resources by what the plan says
	Wrong     map[string]int `json:",omitempty"` // by class
	Unknown   map[string]int `json:",omitempty"` // by reason
	Told      []string       `json:",omitempty"` // a line for each of the wrong ones
}

// A progress has the results so far, of one seed.
type progress struct {
	seed    uint64
	results []result
	file    io.WriteCloser
	done    map[string]bool
}

func openProgress(o options) (*progress, error) {
	p := &progress{seed: o.seed, done: map[string]bool{}, file: nopCloser{io.Discard}}
	if o.progress == "" {
		return p, nil
	}
	file, err := os.OpenFile(o.progress, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r result
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			continue // the line that was being written when a run was stopped
		}
		if r.Seed == o.seed && inRange(o, r) {
			p.add(r)
		}
	}
	p.file = file
	return p, lines.Err()
}

// inRange reports whether a result is of a pair that is asked for.
func inRange(o options, r result) bool {
	switch r.Program {
	case "fettle":
		return r.Number < o.pairs
	case "fettle-fresh":
		return r.Number < o.fresh
	}
	return r.Number < o.peers
}

func (p *progress) add(r result) {
	p.done[key(r.Program, r.Number)] = true
	p.results = append(p.results, r)
}

func key(program string, number int) string { return fmt.Sprint(program, number) }

// measure measures unless that was done.
func (p *progress) measure(ctx context.Context, program string, number int, try func() (result, error)) error {
	if p.done[key(program, number)] {
		return nil
	}
	r, err := try()
	if err = errors.Join(err, ctx.Err()); err != nil {
		return fmt.Errorf("pair %d of %s: %w", number, program, err)
	}
	r.Program, r.Number, r.Seed = program, number, p.seed
	for _, line := range r.Told {
		fmt.Fprintf(os.Stderr, "%s %d: %s\n", program, number, line)
	}
	p.add(r)
	line, err := json.Marshal(r)
	if err == nil {
		_, err = p.file.Write(append(line, '\n'))
	}
	return err
}

func (p *progress) close() { _ = p.file.Close() }

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
