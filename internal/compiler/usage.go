package compiler

import "errors"

// Usage is what a compilation takes besides its input and one Catalog of each resource: about 100 bytes for each pair, and the bytes.
type Usage struct {
	// Pairs counts nodes for each targeting that matches their labels and each entry of their own, and resources for each
	// distinct state of a node.
	Pairs int
	// Bytes is the size of rendered templates.
	Bytes int
}

// ErrUsage means that a compilation would take more than its limit.
var ErrUsage = errors.New("too many resources on too many nodes, or too much rendered content")

// ErrStopped means that a compilation was stopped.
var ErrStopped = errors.New("the compilation was stopped")

// A meter adds up the usage of one compilation.
type meter struct {
	Usage
	limit Usage // the zero value does not limit
	stop  <-chan struct{}
	err   error
}

// spend adds to the usage, and reports whether the compilation may go on.
func (m *meter) spend(u Usage) bool {
	m.Pairs += u.Pairs
	m.Bytes += u.Bytes
	select {
	case <-m.stop:
		m.err = ErrStopped
	default:
	}
	if m.err == nil && m.limit != (Usage{}) && (m.Pairs > m.limit.Pairs || m.Bytes > m.limit.Bytes) {
		m.err = ErrUsage
	}
	return m.err == nil
}

// usageOf is what a rendering takes: its text, that as JSON, and a resource that has it.
func usageOf(text string) Usage { return Usage{Bytes: 4*len(text) + 4<<10} }
