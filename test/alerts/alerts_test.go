package alerts_test

import (
	"log/slog"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"go.yaml.in/yaml/v3"
)

// alertRules returns the rules as Prometheus reads them, by name.
func alertRules(t *testing.T) map[string]rulefmt.Rule {
	t.Helper()
	raw, err := os.ReadFile("../../config/prometheus/prometheusrule.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var o struct{ Spec yaml.Node }
	if err := yaml.Unmarshal(raw, &o); err != nil {
		t.Fatal(err)
	}
	spec, err := yaml.Marshal(&o.Spec)
	if err != nil {
		t.Fatal(err)
	}
	groups, errs := rulefmt.Parse(spec, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	all := map[string]rulefmt.Rule{}
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			all[r.Alert] = r
		}
	}
	return all
}

// fired returns the descriptions of alerts that fire, by summary, after a rule was evaluated every minute.
func fired(t *testing.T, rule rulefmt.Rule, series string, minutes int) map[string]string {
	t.Helper()
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(rule.Expr)
	if err != nil {
		t.Fatal(err)
	}
	storage := promqltest.LoadedStorage(t, "load 1m\n  "+strings.TrimSpace(series))
	query := rules.EngineQueryFunc(promqltest.NewTestEngine(t, false, 5*time.Minute, promqltest.DefaultMaxSamplesPerQuery), storage)
	alerting := rules.NewAlertingRule(rule.Alert, expr, time.Duration(rule.For), 0,
		labels.FromMap(rule.Labels), labels.FromMap(rule.Annotations), labels.EmptyLabels(), "", true, slog.New(slog.DiscardHandler))
	firing := map[string]string{}
	for minute := range minutes + 1 {
		if _, err := alerting.Eval(t.Context(), 0, time.Unix(0, 0).Add(time.Duration(minute)*time.Minute), query, &url.URL{}, 0); err != nil {
			t.Fatal(err)
		}
	}
	alerting.ForEachActiveAlert(func(a *rules.Alert) {
		if a.State == rules.StateFiring {
			firing[a.Annotations.Get("summary")] = a.Annotations.Get("description")
		}
	})
	return firing
}

// healthy is a fleet of two managers, of which one leads, and 10 nodes.
const healthy = `
  fettle_last_publish_timestamp_seconds{pod="a"} 1+0x2000
  fettle_last_publish_timestamp_seconds{pod="b"} 0x2000
  fettle_reconcile_errors_total{pod="a"} 0+0x2000
  fettle_unpublished_nodes{pod="a"} 0x2000
  fettle_admission_policy_in_force{pod="a",policy="fettle-manager"} 1x2000
  fettle_fleet_nodes{pod="a",state="InSync"} 10x2000
  fettle_fleet_nodes{pod="a",state="Failed"} 0x2000
  fettle_fleet_nodes{pod="a",state="Silent"} 0x2000
  fettle_fleet_nodes{pod="a",state="Held"} 0x2000
  fettle_fleet_nodes{pod="a",state="Disabled"} 0x2000
  fettle_fleet_resources{pod="a",kind="File",state="Stalled"} 0x2000
  fettle_rollout_halted{pod="a",policy="default"} 0x2000
  fettle_rollout_window_unused{pod="a",policy="default"} 0x2000
  fettle_fleet_drifted_nodes{pod="a"} 2x2000
  fettle_fleet_uncorrected_drift{pod="a"} 0x2000
  fettle_last_successful_run_timestamp_seconds{node="web-1"} 0+60x2000
  fettle_drift_correction_seconds_bucket{node="web-1",le="0.64"} 0+1x2000
  fettle_drift_correction_seconds_bucket{node="web-1",le="+Inf"} 0+1x2000
`

func TestNothingFiresInAHealthyFleet(t *testing.T) {
	t.Parallel()

	for name, rule := range alertRules(t) {
		if got := fired(t, rule, healthy, 1800); len(got) > 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestAlertsFire(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		series string
		after  int // minutes; it does not fire a minute before
		want   map[string]string
	}{
		"FettleManagerSilent": {`
			fettle_last_publish_timestamp_seconds{pod="b"} 0x2000`, 10, map[string]string{
			"No manager of Fettle publishes.": "None is scraped, or none leads. Changes of resources do not reach nodes, and nobody marks silent nodes. Agents retain their catalogs and correct drift.",
		}},
		"FettleCannotPublish": {`
			fettle_reconcile_errors_total{pod="a"} 0+1x2000
			fettle_reconcile_errors_total{pod="b"} 0x2000`, 16, map[string]string{
			"The manager fails again and again.": "15 reconciliations failed in the last 15 minutes, at least in part.",
		}},
		"FettleNodesUnpublished": {`
			fettle_unpublished_nodes{pod="a"} 3x2000
			fettle_unpublished_nodes{pod="b"} 0x2000`, 5, map[string]string{
			"The API server rejects NodeCatalogs.": "3 nodes do not get changes, and stay at their last catalog.",
		}},
		"FettleAdmissionPolicyMissing": {`
			fettle_admission_policy_in_force{pod="a",policy="fettle-manager"} 1x2000
			fettle_admission_policy_in_force{pod="a",policy="fettle-nodeagent"} 0x2000
			fettle_admission_policy_in_force{pod="b",policy="fettle-nodeagent"} 1x2000`, 5, map[string]string{
			"The admission policy fettle-nodeagent is not in force.": "It is missing, or somebody changed it. A stolen token of an agent or of the manager can do more than it should.",
		}},
		"FettleNodesSilent":  {`fettle_fleet_nodes{pod="a",state="Silent"} 4x2000`, 5, map[string]string{"Agents do not renew their Leases.": "4 nodes are silent. Nobody knows whether their hosts are in sync."}},
		"FettleNodesFailed":  {`fettle_fleet_nodes{pod="a",state="Failed"} 1x2000`, 15, map[string]string{"Resources fail on nodes.": "1 nodes have had resources that failed for 15 minutes."}},
		"FettleRunsDisabled": {`fettle_fleet_nodes{pod="a",state="Disabled"} 2x2000`, 1440, map[string]string{"Runs are disabled on nodes.": "Runs have been disabled on 2 nodes for a day, so nobody corrects drift there."}},
		"FettleRunsFail": {`
			fettle_last_successful_run_timestamp_seconds{node="web-1"} 0x2000
			fettle_last_successful_run_timestamp_seconds{node="web-2"} 0+60x2000`, 71, map[string]string{
			"No run on a node succeeds.": "The last run without a failure on node web-1 was more than an hour ago.",
		}},
		"FettleResourcesStalled": {`
			fettle_fleet_resources{pod="a",kind="File",state="Stalled"} 2x2000
			fettle_fleet_resources{pod="a",kind="User",state="Stalled"} 0x2000
			fettle_fleet_resources{pod="a",kind="User",state="Ready"} 9x2000`, 15, map[string]string{
			"Resources of kind File are stalled.": "2 of them failed, or cannot be applied, and somebody has to act.",
		}},
		"FettleChangeHeld": {`fettle_fleet_nodes{pod="a",state="Held"} 0 7x2000`, 1, map[string]string{"A change awaits confirmation.": "7 nodes are not updated, because too many would be deselected at once."}},
		"FettleRolloutHalted": {`
			fettle_rollout_halted{pod="a",policy="staging"} 1x2000
			fettle_rollout_halted{pod="a",policy="default"} 0x2000
			fettle_rollout_halted{pod="b",policy="default"} 0x2000`, 1, map[string]string{
			"The rollout of policy staging is halted.": "More nodes failed than maxFailed allows, and no further node gets the change: kubectl fettle rollout status staging names them.",
		}},
		"FettleRolloutWindowUnused": {`
			fettle_rollout_window_unused{pod="a",policy="staging"} 1x2000
			fettle_rollout_window_unused{pod="a",policy="default"} 0x2000`, 5, map[string]string{
			"The rollout of policy staging missed its window.": "A change waits, and the last window passed without a node that got it: kubectl fettle rollout status staging says why.",
		}},
		"FettleDriftUncorrected": {`fettle_fleet_uncorrected_drift{pod="a"} 5x2000`, 60, map[string]string{"Drift is not corrected.": "5 resources on nodes drifted in the last 24 hours and were not corrected: they are in noop, or their correction failed."}},
		"FettleDriftSlow": {`
			fettle_drift_correction_seconds_bucket{node="web-1",le="0.64"} 0+1x2000
			fettle_drift_correction_seconds_bucket{node="web-1",le="40.96"} 0+1x2000
			fettle_drift_correction_seconds_bucket{node="web-1",le="163.84"} 0+2x2000
			fettle_drift_correction_seconds_bucket{node="web-1",le="+Inf"} 0+2x2000`, 16, map[string]string{
			"Drift is corrected slowly.": "Of the corrections of the last hour, one in a hundred took longer than 161 seconds.",
		}},
		"FettleDriftWidespread": {`
			fettle_fleet_nodes{pod="a",state="InSync"} 9x2000
			fettle_fleet_nodes{pod="a",state="Silent"} 1x2000
			fettle_fleet_drifted_nodes{pod="a"} 3x2000`, 10, map[string]string{
			"Many nodes drift.": "Resources drifted on 3 nodes in the last 24 hours: more than a fifth of the fleet. Another program may manage the same objects.",
		}},
	}
	all := alertRules(t)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(all)), slices.Sorted(maps.Keys(cases))); diff != "" {
		t.Errorf("tested alerts (-rules +cases):\n%s", diff)
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if got := fired(t, all[name], c.series, c.after-1); len(got) > 0 {
				t.Errorf("a minute before: %v", got)
			}
			if diff := cmp.Diff(c.want, fired(t, all[name], c.series, c.after)); diff != "" {
				t.Errorf("after %d minutes (-want +got):\n%s", c.after, diff)
			}
		})
	}
}
