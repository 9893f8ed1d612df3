package nodeagent

import (
	"log/slog"
	"math/rand/v2"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/external/image"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/own"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Defaults of Config.
const (
	DefaultInterval = 10 * time.Minute
	DefaultSplay    = time.Minute
	// DefaultSpread makes 5,000 nodes that change at once request 2,500 catalogs a second.
	DefaultSpread = 2 * time.Second
	// DefaultQPS limits an agent's requests per second, and DefaultBurst how many may exceed that
	// at once. In normal operation an agent sends one request in 40 s.
	DefaultQPS    = 5
	DefaultBurst  = 10
	DefaultKeyAge = 90 * 24 * time.Hour
)

// A Config configures an agent. The fields up to Splay are required.
type Config struct {
	Node     string // the name of the Node and of its NodeCatalog
	Cluster  *rest.Config
	Host     host.Host
	Bucket   resource.Bucket // saves the contents of replaced files
	Kinds    []resource.Kind
	StateDir string // on this process's file system
	// HostStateDir is StateDir as the host names it. The agent watches it for changes by others; "" watches nothing.
	HostStateDir string
	Own          *own.Files    // which resources can neither read nor change
	Interval     time.Duration // between runs, plus or minus 10%
	Splay        time.Duration // the first run waits up to this long, unless there is a change

	KeyAge time.Duration // when to replace the node's key; 0 never replaces it
	// Spread is the window in which nodes start a change, each at its own offset, so that a fleet does not
	// fetch new catalogs all at once. 0 starts at once.
	Spread time.Duration

	Watch  bool          // also correct drift as it happens
	Limit  time.Duration // stops a run that takes longer; 0 never does
	Before []string      // command on the host before each run, except in noop
	After  []string      // command after such a run

	Images *image.Client // pulls the programs of external types; nil pulls without credentials, and checks no signatures

	Log    *slog.Logger     // nil logs nothing
	Clock  clock.Clock      // nil is the real one
	Random func() float64   // in [0, 1), and safe for concurrent use; nil is a real one
	Ran    func(RunSummary) // called after each run, from the agent's goroutine
}

// A RunSummary is the input of metrics.
type RunSummary struct {
	Trigger v1alpha1.RunTrigger
	Report  report.Report
	Err     error // the run did not start, or its state was not saved
	// Noticed is when a change on the host was first noticed since the run before began, zero if none was; Ended is when this
	// run ended.
	Noticed, Ended time.Time
	// Contended is the number of resources that something else changes again and again.
	Contended int
}

// complete sets defaults for nil fields.
func (c Config) complete() Config {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Images == nil {
		c.Images = &image.Client{Silence: image.DefaultSilence, Limit: image.DefaultLimit}
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.Random == nil {
		c.Random = rand.Float64
	}
	if c.Ran == nil {
		c.Ran = func(RunSummary) {}
	}
	return c
}
