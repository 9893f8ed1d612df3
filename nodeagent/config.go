package nodeagent

import (
	"log/slog"
	"math/rand/v2"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Defaults of Config.
const (
	DefaultInterval = 10 * time.Minute
	DefaultSplay    = time.Minute
	// DefaultSpread has 5,000 nodes ask for 2,500 catalogs a second where all change at once.
	DefaultSpread = 2 * time.Second
	// DefaultQPS is what an agent may ask of an API server in a second, and DefaultBurst
	// what may go beyond that at once. When all is well it asks once in 40 s.
	DefaultQPS    = 5
	DefaultBurst  = 10
	DefaultKeyAge = 90 * 24 * time.Hour
)

// A Config is what an agent works with. The fields up to Splay are required.
type Config struct {
	Node     string // the name of the Node and of its NodeCatalog
	Cluster  *rest.Config
	Host     host.Host
	Bucket   resource.Bucket // for the contents of files that are replaced
	Kinds    []resource.Kind
	StateDir string        // on this process' file system
	Interval time.Duration // between runs, give or take a tenth
	Splay    time.Duration // the first run of a host that has nothing new waits up to this long

	KeyAge time.Duration // a key that is older is replaced; 0 keeps it for ever
	// Spread is the window that nodes begin a change in, each at its own place: what is new
	// for a fleet is not fetched by all of it at once. 0 begins at once.
	Spread time.Duration

	Watch  bool          // correct drift as it happens, too
	Limit  time.Duration // a run that takes longer is stopped; 0 never stops one
	Before []string      // command of the host before each run that is not noop
	After  []string      // and after it

	Log    *slog.Logger     // nil logs nothing
	Clock  clock.Clock      // nil is the real one
	Random func() float64   // in [0, 1), and safe for concurrent use; nil is a real one
	Ran    func(RunSummary) // told of every run as it ends, from the agent's goroutine
}

// A RunSummary is what metrics are made of.
type RunSummary struct {
	Trigger v1alpha1.RunTrigger
	Report  engine.Report
	Err     error // there was no run, or it will not be remembered
}

// complete has in place of nil what that stands for.
func (c Config) complete() Config {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
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
