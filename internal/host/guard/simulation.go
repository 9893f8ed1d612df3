package guard

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/own"
)

// Limits bound what a simulation reads. 0 is no limit.
type Limits struct {
	Bytes int64 // of contents of files
	Names int64 // in directories
}

// Options describe a simulation.
type Options struct {
	Own    *own.Files
	Limits Limits
	// Access leaves to commands the network and the sockets that their Confinement names: if only those who may change the
	// host can have named them.
	Access bool
}

// Simulation returns a host for a plan or a noop run:
//
//   - Each command is confined to reading, without a network and sockets, except as Options and [host.Cmd].Services say.
//   - It refuses Fettle's own files with an [*own.Error], also new ones, and leaves their names out of directories above them.
//   - Everything fails once ctx has ended, even while a file is read, and beyond the limits.
func Simulation(ctx context.Context, h host.Reader, o Options) host.Reader {
	s := &simulation{ctx: ctx, access: o.Access}
	s.left.bytes, s.left.names = meter{"bytes of files", o.Limits.Bytes, 0}, meter{"names of files", o.Limits.Names, 0}
	return simulated{reader{h, rules{o.Own, s}}}
}

// A simulation has the rules that a run does not have.
type simulation struct {
	ctx    context.Context //nolint:containedctx // methods that read have none
	access bool

	mu   sync.Mutex
	left struct{ bytes, names meter }
}

// A meter counts what was read.
type meter struct {
	of    string
	limit int64
	used  int64
}

// A LimitError is the error of reading more than a simulation may.
type LimitError struct {
	Limit int64
	Of    string
}

// Error names the limit.
func (e *LimitError) Error() string {
	return fmt.Sprintf("plans and noop runs read up to %d %s: an apply has no such limit", e.Limit, e.Of)
}

func (s *simulation) ended() error {
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	return nil
}

// spend counts what was read.
func (s *simulation) spend(m *meter, n int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m.used += n
	if m.limit > 0 && m.used > m.limit {
		return &LimitError{m.limit, m.of}
	}
	return nil
}

// A stream ends with the simulation.
type stream struct {
	io.ReadCloser
	s *simulation
}

// Read implements [io.Reader].
func (f stream) Read(p []byte) (int, error) {
	if err := f.s.ended(); err != nil {
		return 0, err
	}
	n, err := f.ReadCloser.Read(p)
	if spent := f.s.spend(&f.s.left.bytes, int64(n)); spent != nil {
		return 0, spent
	}
	return n, err
}

// A simulated host also confines commands.
type simulated struct{ reader }

// Bounds of a command without any.
const (
	maxMemory = 512 << 20
	maxTasks  = 256
)

// Query implements [host.Reader].
func (s simulated) Query(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	if err := s.ended(); err != nil {
		return host.Result{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { cancel(context.Cause(s.ctx)) })()
	cmd.Confinement = s.confinement(cmd)
	return s.Reader.Query(ctx, cmd)
}

func (s simulated) confinement(cmd host.Cmd) *host.Confinement {
	c := host.Confinement{Memory: maxMemory, Tasks: maxTasks}
	if cmd.Confinement != nil {
		c = *cmd.Confinement
	}
	c.ReadOnly, c.Services = true, cmd.Services
	if !s.access {
		c.Network, c.Sockets = false, nil
	}
	return &c
}

// LookAs implements [host.Reader].
func (s simulated) LookAs(who host.Credentials) host.Reader {
	return simulated{reader{s.Reader.LookAs(who), s.rules}}
}
