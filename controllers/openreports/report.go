package openreports

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/nodestate"
	"github.com/fettle-dev/fettle/internal/text"
)

// The parts of a ClusterReport of openreports.io/v1alpha1 that are written.
type (
	clusterReport struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Source            string                 `json:"source"`
		Scope             corev1.ObjectReference `json:"scope"`
		Configuration     configuration          `json:"configuration"`
		Summary           summary                `json:"summary"`
		Results           []result               `json:"results,omitempty"` // the API rejects null
	}
	configuration struct {
		Limits limits `json:"limits"`
	}
	limits struct {
		MaxResults int `json:"maxResults"`
	}
	summary struct {
		Pass  int `json:"pass"`
		Fail  int `json:"fail"`
		Warn  int `json:"warn"`
		Error int `json:"error"`
		Skip  int `json:"skip"`
	}
	result struct {
		Source     string            `json:"source"`
		Policy     string            `json:"policy"`
		Rule       string            `json:"rule"`
		Category   string            `json:"category"`
		Result     string            `json:"result"`
		Severity   string            `json:"severity"`
		Scored     bool              `json:"scored"`
		Message    string            `json:"message"`
		Timestamp  metav1.Timestamp  `json:"timestamp"`
		Properties map[string]string `json:"properties,omitempty"`
	}
)

const (
	source = "Fettle"
	// maxResults bounds a report. Its summary counts all.
	maxResults = 20
	// window is the time for which corrected drift is a result.
	window = 24 * time.Hour
	// maxText bounds each text that a node chose.
	maxText = 256
)

// reportOf returns the report on a node, without values, messages and contents.
func reportOf(nc *v1alpha1.NodeCatalog, now time.Time) clusterReport {
	r := clusterReport{
		TypeMeta: metav1.TypeMeta{APIVersion: clusterReports.GroupVersion().String(), Kind: "ClusterReport"},
		ObjectMeta: metav1.ObjectMeta{
			Name: nameOf(nc.Name), Labels: map[string]string{managedBy: "fettle"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "NodeCatalog", Name: nc.Name, UID: nc.UID}},
		},
		Source: source, Configuration: configuration{limits{maxResults}},
		Scope: corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: nc.Name},
	}
	for _, owner := range nc.OwnerReferences {
		if owner.Kind == "Node" {
			r.Scope.UID = owner.UID
		}
	}
	drifted := driftIn(nc.Status.Drift, now)
	r.Results = slices.Concat(nodeResults(nc), stateResults(nc, drifted), correctedResults(nc, drifted))
	r.Summary = summarize(nodestate.Resources(nc), r.Results)
	slices.SortStableFunc(r.Results, func(a, b result) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.Timestamp.Seconds, a.Timestamp.Seconds), cmp.Compare(a.Policy, b.Policy))
	})
	r.Results = r.Results[:min(len(r.Results), maxResults)]
	return r
}

// nameOf returns the name of the report on a node. It is unique, and at most 253 bytes long.
func nameOf(node string) string {
	const prefix, most = "fettle-", 253
	if len(prefix)+len(node) <= most {
		return prefix + node
	}
	sum := sha256.Sum256([]byte(node))
	return prefix + strings.TrimRight(node[:200], ".-") + "-" + hex.EncodeToString(sum[:8])
}

func rank(r result) int { return slices.Index([]string{"error", "fail", "warn", "skip"}, r.Result) }

// driftIn returns the drift in the window, by resource.
func driftIn(records []v1alpha1.DriftRecord, now time.Time) map[v1alpha1.ReportedRef]v1alpha1.DriftRecord {
	all := map[v1alpha1.ReportedRef]v1alpha1.DriftRecord{}
	for _, d := range records {
		if d.LastSeen.After(now.Add(-window)) {
			all[d.Ref] = d
		}
	}
	return all
}

// nodeResults say that the rest of the report may be outdated.
func nodeResults(nc *v1alpha1.NodeCatalog) (all []result) {
	about := func(rule, message string, since time.Time) {
		all = append(all, result{
			Source: source, Policy: "NodeCatalog", Rule: rule, Category: "Node", Result: "error", Severity: "high", Scored: true,
			Message: message, Timestamp: timestamp(since),
		})
	}
	if text, silent := nc.Annotations[v1alpha1.AnnotationSilentSince]; silent {
		since, _ := time.Parse(time.RFC3339, text) // the manager wrote it
		about("Silent", "the agent does not report", since)
	}
	if c := meta.FindStatusCondition(nc.Status.Conditions, v1alpha1.ConditionStalled); c != nil && c.Status == metav1.ConditionTrue {
		message := "the catalog is not applied: see the NodeCatalog"
		if c.Reason == v1alpha1.ReasonUpdateHeld {
			message = "the node is not updated, because too many nodes would be deselected: see the Fleet"
		}
		about(text.Clip(c.Reason, maxText), message, c.LastTransitionTime.Time)
	}
	return all
}

// stateResults returns the results of resources that are not in sync.
func stateResults(nc *v1alpha1.NodeCatalog, drifted map[v1alpha1.ReportedRef]v1alpha1.DriftRecord) (all []result) {
	for _, report := range nc.Status.Resources {
		r := about(report.Ref)
		switch report.State {
		case v1alpha1.StateFailed:
			r.Rule, r.Result, r.Severity, r.Scored, r.Message = "Failed", "fail", "high", true, "the resource failed: see the NodeCatalog"
		case v1alpha1.StateWithheld:
			r.Rule, r.Result, r.Severity, r.Scored, r.Message = "Withheld", "fail", "medium", true, "the resource is withheld from the node: see the NodeCatalog"
		case v1alpha1.StateNoop:
			r.Rule, r.Result, r.Severity, r.Message = "Noop", "warn", "medium", "the node differs, which is only reported"
		default:
			continue
		}
		if report.Since != nil {
			r.Timestamp = timestamp(report.Since.Time)
		}
		var properties []string
		for _, c := range report.Changes {
			properties = append(properties, c.Property)
		}
		d, ok := drifted[report.Ref]
		r.Properties = details(properties, d, ok)
		all = append(all, r)
	}
	return all
}

// correctedResults returns the results of resources that drifted and are in sync, as far as the node reports.
func correctedResults(nc *v1alpha1.NodeCatalog, drifted map[v1alpha1.ReportedRef]v1alpha1.DriftRecord) (all []result) {
	for ref, d := range drifted {
		if !d.Corrected {
			continue // it is among those that are not in sync
		}
		if slices.ContainsFunc(nc.Status.Resources, func(r v1alpha1.ResourceReport) bool { return r.Ref == ref && r.State != v1alpha1.StateChanged }) {
			continue
		}
		r := about(ref)
		r.Rule, r.Result, r.Severity, r.Message, r.Timestamp = "Drift", "warn", "low", "drift was corrected", timestamp(d.LastSeen.Time)
		if d.Contended {
			r.Rule, r.Severity, r.Message = "Contended", "medium", "something else changes the resource again and again"
		}
		r.Properties = details(d.Properties, d, true)
		all = append(all, r)
	}
	return all
}

// about returns a result for a resource.
func about(ref v1alpha1.ReportedRef) result {
	kind, _, _ := strings.Cut(string(ref), "/")
	return result{Source: source, Policy: text.ClipMiddle(text.Line(string(ref)), maxText), Category: text.Clip(kind, maxText)}
}

// details are the properties of a result.
func details(properties []string, d v1alpha1.DriftRecord, drifted bool) map[string]string {
	all := map[string]string{}
	if len(properties) > 0 {
		all["properties"] = text.Clip(text.Line(strings.Join(properties, ", ")), maxText)
	}
	if drifted {
		all["driftCount"] = strconv.FormatInt(d.Count, 10)
		all["corrected"] = strconv.FormatBool(d.Corrected)
		if d.Author != nil && d.Author.Executable != "" {
			all["author"] = text.Clip(text.Line(d.Author.Executable), maxText)
		}
	}
	return all
}

// summarize counts each resource once. Those that drifted and were corrected are warnings, and not passed. Those of a silent node are
// errors, because nobody knows their state, and resources of a disabled one are skipped.
func summarize(c nodestate.Counts, results []result) (s summary) {
	corrected := 0
	for _, r := range results {
		switch r.Rule {
		case "Drift", "Contended":
			corrected++
		case "Failed", "Withheld", "Noop":
		default:
			s.Error++
		}
	}
	s.Fail, s.Skip = int(c.Failed+c.Withheld), int(c.Skipped)
	switch {
	case c.Unknown > 0:
		s.Error += int(c.Unknown)
	case c.Disabled > 0:
		s.Skip += max(0, int(c.Disabled)-corrected)
		s.Warn = int(c.Noop) + corrected
	default:
		s.Pass = max(0, int(c.InSync)-corrected)
		s.Warn = int(c.Noop) + corrected
	}
	return s
}

func timestamp(t time.Time) metav1.Timestamp { return metav1.Timestamp{Seconds: max(0, t.Unix())} }
