// Package programs pulls the images of external types in the background, and chooses which types a run can use.
package programs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/external/store"
	"github.com/fettle-dev/fettle/internal/host"
)

// Patience is how long [Programs.Prepare] waits for images before a run starts without them.
const Patience = 20 * time.Second

// Times between attempts to pull an image.
const (
	firstDelay = 10 * time.Second
	maxDelay   = 10 * time.Minute
)

// Types remember the last type of each kind whose program could be used: a *types.Store.
type Types interface {
	Usable(kind string) *definition.Definition
	SetUsable(d *definition.Definition)
}

// A Config has what Programs need. All fields are required.
type Config struct {
	Store    *store.Store
	Registry store.Registry
	Types    Types
	Clock    clock.Clock
	Random   func() float64
	Log      *slog.Logger
	// Start starts a goroutine.
	Start func(func(context.Context))
	// OnPulled is called in a goroutine after an image was pulled that a run had to do without.
	OnPulled func(context.Context)
}

// Programs are the programs of a node's types. Safe for concurrent use.
type Programs struct {
	Config

	mu       sync.Mutex
	pulls    map[string]*pull // by image
	next     []string         // images of the types that are prepared for a later run
	outdated []string         // what the last run used instead of the newest types
}

// A pull is what is known about an image that is not there. done is closed by tried, when the first attempt has ended.
type pull struct {
	stop   context.CancelFunc
	done   chan struct{}
	tried  func()
	missed bool // by a run
	why    error
}

// New returns programs. Nothing is pulled yet.
func New(c Config) *Programs {
	return &Programs{Config: c, pulls: map[string]*pull{}}
}

// Prepare starts to pull missing images of types for the next run, and waits until each was tried, or for [Patience].
func (p *Programs) Prepare(ctx context.Context, types []*definition.Definition) {
	var waits []<-chan struct{}
	p.mu.Lock()
	p.next = imagesOf(types)
	p.mu.Unlock()
	for _, d := range types {
		if p.Store.Check(d) != nil {
			waits = append(waits, p.pull(d).done)
		}
	}
	if len(waits) == 0 {
		return
	}
	patience := p.Clock.NewTimer(Patience)
	defer patience.Stop()
	for _, done := range waits {
		select {
		case <-done:
		case <-patience.C():
			return
		case <-ctx.Done():
			return
		}
	}
}

func imagesOf(types []*definition.Definition) []string {
	var all []string
	for _, d := range types {
		if d.Spec.Source.Image != "" {
			all = append(all, d.Spec.Source.Image)
		}
	}
	return all
}

// Choose returns the types that a run uses: each type, or the last one of its kind with a program that can be used if the newer one
// has an image that cannot, and both mean the same by their resources. Missing images are pulled in the background. Programs of other
// types are deleted.
func (p *Programs) Choose(types []*definition.Definition) []*definition.Definition {
	chosen := make([]*definition.Definition, len(types))
	var outdated []string
	keep := slices.Clone(types)
	for i, d := range types {
		err := p.Store.Check(d)
		if err == nil {
			p.Types.SetUsable(d)
			chosen[i] = d
			continue
		}
		p.miss(d)
		last := p.Types.Usable(d.Spec.Kind)
		if last != nil {
			keep = append(keep, last)
		}
		if chosen[i] = p.instead(d, last); chosen[i] != d {
			outdated = append(outdated, fmt.Sprintf("%s: %v; version %s stays in use", d.Spec.Kind, p.explain(d, err), chosen[i].Spec.Version))
		}
	}
	if err := p.Store.Retain(keep...); err != nil {
		p.Log.Warn("cannot remove unused programs of external types", "error", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.outdated = outdated
	wanted := slices.Concat(imagesOf(types), p.next)
	for image, pull := range p.pulls {
		if !slices.Contains(wanted, image) {
			pull.stop()
			delete(p.pulls, image)
		}
	}
	return chosen
}

// instead returns the type to use instead of one whose image is missing: the last one of its kind, which is nil if there is
// none, or else that type.
func (p *Programs) instead(d, last *definition.Definition) *definition.Definition {
	if last != nil && last.AcceptsSame(d) && p.Store.Check(last) == nil {
		return last
	}
	return d
}

func (p *Programs) miss(d *definition.Definition) {
	pull := p.pull(d)
	p.mu.Lock()
	defer p.mu.Unlock()
	pull.missed = true
}

// Outdated says which types the last run used in an older version, and why; "" if there are none.
func (p *Programs) Outdated() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.outdated, "; ")
}

// Dir returns the directory of a type's program on the host. The error says why an image was not pulled yet.
func (p *Programs) Dir(ctx context.Context, h host.Reader, d *definition.Definition) (string, error) {
	dir, err := p.Store.Dir(ctx, h, d)
	return dir, p.explain(d, err)
}

// explain adds why the image of a type was not pulled yet.
func (p *Programs) explain(d *definition.Definition, err error) error {
	missing, ok := errors.AsType[*store.MissingError](err)
	if !ok {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if pull := p.pulls[d.Spec.Source.Image]; pull != nil && pull.why != nil {
		return pull.why
	}
	return missing
}

// pull pulls the image of a type in the background until that succeeds, unless it does already.
func (p *Programs) pull(d *definition.Definition) *pull {
	p.mu.Lock()
	defer p.mu.Unlock()
	image := d.Spec.Source.Image
	if running := p.pulls[image]; running != nil {
		return running
	}
	this := &pull{done: make(chan struct{}), stop: func() {}}
	this.tried = sync.OnceFunc(func() { close(this.done) })
	p.pulls[image] = this
	p.Start(func(ctx context.Context) {
		defer this.tried()
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		if p.begin(image, this, stop) {
			p.repeat(ctx, d, this)
		}
	})
	return this
}

// begin reports whether a pull is still wanted when its goroutine starts.
func (p *Programs) begin(image string, this *pull, stop context.CancelFunc) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	this.stop = stop
	return p.pulls[image] == this
}

// repeat tries to pull an image until it is there.
func (p *Programs) repeat(ctx context.Context, d *definition.Definition, this *pull) {
	for delay := firstDelay; ctx.Err() == nil; delay = min(2*delay, maxDelay) {
		err := p.Store.Pull(ctx, p.Registry, d)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			p.pulled(ctx, d, this)
			return
		}
		p.failed(d, this, err)
		this.tried()
		timer := p.Clock.NewTimer(time.Duration(float64(delay) * (0.5 + p.Random()))) //nolint:mnd // plus or minus a half
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

func (p *Programs) failed(d *definition.Definition, this *pull, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if this.why == nil || this.why.Error() != err.Error() {
		p.Log.Warn("cannot pull the image of a type, retrying", "type", d.Name, "error", err)
	}
	this.why = err
}

func (p *Programs) pulled(ctx context.Context, d *definition.Definition, this *pull) {
	p.mu.Lock()
	if p.pulls[d.Spec.Source.Image] == this {
		delete(p.pulls, d.Spec.Source.Image)
	}
	missed := this.missed
	p.mu.Unlock()
	p.Log.Info("the image of a type was pulled", "type", d.Name, "image", d.Spec.Source.Image)
	if missed {
		p.OnPulled(ctx)
	}
}
