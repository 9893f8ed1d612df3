package policytest_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// An alert is a rule of config/prometheus/prometheusrule.yaml.
type alert struct {
	Alert       string
	Expr        string
	Labels      struct{ Severity string }
	Annotations struct {
		Summary, Description string
		RunbookURL           string `json:"runbook_url"`
	}
}

func alerts(t *testing.T) []alert {
	t.Helper()
	var rule struct {
		Spec struct {
			Groups []struct{ Rules []alert }
		}
	}
	read(t, "../../config/prometheus/prometheusrule.yaml", &rule)
	return rule.Spec.Groups[0].Rules
}

func read(t *testing.T, file string, into any) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}

// panels returns the expressions of the dashboard, by title.
func panels(t *testing.T) map[string][]string {
	t.Helper()
	var o struct{ Data map[string]string }
	read(t, "../../config/prometheus/dashboard.yaml", &o)
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(o.Data["fettle.json"]), &dashboard); err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			all[p.Title] = append(all[p.Title], target.Expr)
		}
	}
	return all
}

var (
	selectors = regexp.MustCompile(`(fettle_[a-z_]+)(\{[^}]*\})?`)
	labels    = regexp.MustCompile(`([a-z]+)=`)
	grouping  = regexp.MustCompile(`by \(([a-z, ]+)\)`)
)

// checkExpression checks that the metrics and labels that an expression names exist.
func checkExpression(t *testing.T, where, expr string, known catalogue) {
	t.Helper()
	all := []string{"le", "node"} // of histograms, and of the PodMonitor
	found := selectors.FindAllStringSubmatch(expr, -1)
	for _, m := range found {
		name := m[1]
		if _, exact := known[name]; !exact {
			name = strings.TrimSuffix(name, "_bucket")
		}
		has, exists := known[name]
		if !exists {
			t.Errorf("%s: no metric %s", where, m[1])
		}
		all = append(all, strings.Split(has, ",")...)
		for _, l := range labels.FindAllStringSubmatch(m[2], -1) {
			if !slices.Contains(strings.Split(has, ","), l[1]) {
				t.Errorf("%s: %s has no label %s", where, name, l[1])
			}
		}
	}
	if len(found) == 0 {
		t.Errorf("%s: no metric in %s", where, expr)
	}
	for _, m := range grouping.FindAllStringSubmatch(expr, -1) {
		for l := range strings.SplitSeq(m[1], ", ") {
			if !slices.Contains(all, l) {
				t.Errorf("%s: no metric of %s has the label %s", where, expr, l)
			}
		}
	}
}

func TestAlertsAndDashboardNameMetricsThatExist(t *testing.T) {
	t.Parallel()

	manager, agent := registered(t)
	known := maps.Clone(manager)
	maps.Copy(known, agent)
	for _, a := range alerts(t) {
		checkExpression(t, a.Alert, a.Expr, known)
	}
	for title, exprs := range panels(t) {
		for _, e := range exprs {
			checkExpression(t, title, e, known)
		}
	}
}

func TestEachAlertHasARunbook(t *testing.T) {
	t.Parallel()

	raw, err := os.ReadFile("../../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	const page = "https://github.com/fettle-dev/fettle/blob/main/docs/alerts.md#"
	var rules, sections, rows []string
	for _, a := range alerts(t) {
		rules = append(rules, a.Alert+" "+a.Labels.Severity)
		if want := page + strings.ToLower(a.Alert); a.Annotations.RunbookURL != want || a.Annotations.Summary == "" || a.Annotations.Description == "" {
			t.Errorf("%s: the annotations are %+v, without %s", a.Alert, a.Annotations, want)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^## (Fettle\w+)\n\n\*\*Effect\.\*\*(?s:.+?)\n\n\*\*Find out\.\*\*(?s:.+?)\n\n\*\*Act\.\*\*`).FindAllStringSubmatch(string(raw), -1) {
		sections = append(sections, m[1])
	}
	for _, m := range regexp.MustCompile(`(?m)^\| \[(Fettle\w+)\]\(#\w+\) \| (\w+) \|`).FindAllStringSubmatch(string(raw), -1) {
		rows = append(rows, m[1]+" "+m[2])
	}
	slices.Sort(rules)
	slices.Sort(rows)
	slices.Sort(sections)
	if diff := cmp.Diff(rules, rows); diff != "" {
		t.Errorf("the table (-rules +docs):\n%s", diff)
	}
	for i, name := range sections {
		if i >= len(rules) || !strings.HasPrefix(rules[i], name+" ") {
			t.Errorf("section %s is about no alert", name)
		}
	}
	if len(sections) != len(rules) {
		t.Errorf("%d runbooks for %d alerts", len(sections), len(rules))
	}
}
