package policytest_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/fettle-dev/fettle/controllers"
	"github.com/fettle-dev/fettle/controllers/cloudevents"
	"github.com/fettle-dev/fettle/controllers/policycheck"
	"github.com/fettle-dev/fettle/nodeagent"
)

// A catalogue has the labels of registered metrics by name.
type catalogue map[string]string

var description = regexp.MustCompile(`fqName: "([a-z_]+)".*variableLabels: \{([a-z,]*)\}`)

// Register implements prometheus.Registerer.
func (c catalogue) Register(collector prometheus.Collector) error {
	all := make(chan *prometheus.Desc, 10)
	collector.Describe(all)
	close(all)
	for d := range all {
		m := description.FindStringSubmatch(d.String())
		c[m[1]] = m[2]
	}
	return nil
}

func (c catalogue) MustRegister(all ...prometheus.Collector) {
	for _, collector := range all {
		_ = c.Register(collector)
	}
}

func (c catalogue) Unregister(prometheus.Collector) bool { return false }

// documented returns the metrics of a section of docs/metrics.md.
func documented(t *testing.T, section string) catalogue {
	t.Helper()
	raw, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(raw), "\n## "+section+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	all := catalogue{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(fettle_[a-z_]+)` \\| [a-z]+ \\|([^|]*)\\|").FindAllStringSubmatch(text, -1) {
		all[m[1]] = strings.NewReplacer("`", "", " ", "").Replace(m[2])
	}
	return all
}

// registered returns the metrics of the manager and of the agent.
func registered(t *testing.T) (manager, agent catalogue) {
	t.Helper()
	manager, agent = catalogue{}, catalogue{}
	controllers.NewMetrics(manager)
	cloudevents.Metrics(manager)
	if _, err := policycheck.New(nil, nil, clock.RealClock{}, logr.Discard(), manager); err != nil {
		t.Fatal(err)
	}
	if _, err := nodeagent.Metrics(agent); err != nil {
		t.Fatal(err)
	}
	return manager, agent
}

func TestMetricsAreDocumentedWithTheirLabels(t *testing.T) {
	t.Parallel()

	manager, agent := registered(t)
	for section, registered := range map[string]catalogue{"Manager": manager, "Agent": agent} {
		if len(registered) < 5 {
			t.Errorf("%s registers only %d metrics", section, len(registered))
		}
		if diff := cmp.Diff(registered, documented(t, section)); diff != "" {
			t.Errorf("%s (-registered +documented):\n%s", section, diff)
		}
		for name := range registered {
			if !strings.HasPrefix(name, "fettle_") {
				t.Errorf("%s lacks the prefix fettle_", name)
			}
		}
	}
}
