package contract

import (
	"bytes"
	"fmt"

	"github.com/fettle-dev/fettle/internal/host"
)

// Limits of the processes of a program. Its output takes many times as much memory once it is decoded, as {} does.
const (
	MaxOutput = 4 << 20 // of each stream, in bytes
	maxValues = 200_000 // in JSON, in an output
	maxMemory = 512 << 20
	maxTasks  = 256
)

// Confined returns how a program that changes something is confined.
func Confined() *host.Confinement { return &host.Confinement{Memory: maxMemory, Tasks: maxTasks} }

// Bounded returns the result of a process with the lines that are to be decoded of its output: until there are too many values.
// The error says what the process did if that is not everything.
func Bounded(res host.Result) (host.Result, error) {
	end := boundary(res.Stdout)
	whole := end == len(res.Stdout)
	res.Stdout = res.Stdout[:end]
	switch {
	case res.Truncated:
		return res, fmt.Errorf("wrote more than %d MiB", MaxOutput>>20)
	case !whole:
		return res, fmt.Errorf("wrote more than %d values", maxValues)
	}
	return res, nil
}

// boundary returns where the line begins that has more values than allowed, or the length of the output. Values are counted by
// what is before them in lists and objects.
func boundary(output []byte) int {
	var at scanState
	count := 0
	for i, c := range output {
		if at.isBeforeValue(c) {
			count++
		}
		if count > maxValues {
			return bytes.LastIndexByte(output[:i], '\n') + 1
		}
	}
	return len(output)
}

// A scanState is the state of a scanner of lines of JSON. The zero value is the beginning of a line.
type scanState struct{ quoted, escaped bool }

// isBeforeValue moves over a byte, and reports whether a value may follow it in a list or an object.
func (p *scanState) isBeforeValue(c byte) bool {
	switch {
	case c == '\n':
		*p = scanState{}
	case p.escaped:
		p.escaped = false
	case c == '"':
		p.quoted = !p.quoted
	case p.quoted:
		p.escaped = c == '\\'
	default:
		return c == ',' || c == '[' || c == '{'
	}
	return false
}
