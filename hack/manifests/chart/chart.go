// Package chart turns the manifests in config into the templates of the Helm chart.
package chart

import (
	_ "embed"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/hack/manifests/bundle"
)

// edits lists the texts in manifests that values replace.
//
//go:embed edits.yaml
var edits []byte

// An edit replaces the text that a regular expression matches, exactly once, in a manifest.
type edit struct {
	File string `json:"file"`
	Old  string `json:"old"`
	New  string `json:"new"`
}

// Optional returns the manifests that values enable: those for Prometheus and Grafana, for reports to other tools, and for the API
// of reports.
func Optional() []string { return slices.Sorted(maps.Keys(optional)) }

// optional are the values that enable manifests.
var optional = map[string]string{
	"config/prometheus/servicemonitor.yaml": "metrics.serviceMonitor",
	"config/prometheus/podmonitor.yaml":     "metrics.podMonitor",
	"config/prometheus/prometheusrule.yaml": "metrics.prometheusRule",
	"config/prometheus/dashboard.yaml":      "metrics.dashboard",
	"config/openreports/rbac.yaml":          "openReports",
	"config/reports/rbac.yaml":              "reportsAPI",
	"config/reports/apiservice.yaml":        "reportsAPI",
}

const header = "{{- /* Generated from %s by hack/manifests. DO NOT EDIT. */ -}}\n"

// Templates returns the templates of manifests. Their paths are relative to the folder of templates.
func Templates(files []bundle.File) ([]bundle.File, error) {
	var all []edit
	if err := yaml.UnmarshalStrict(edits, &all); err != nil {
		return nil, fmt.Errorf("cannot read the edits: %w", err)
	}
	templates := make([]bundle.File, len(files))
	for i, f := range files {
		text, err := apply(strings.ReplaceAll(f.Text, "{{", `{{ "{{" }}`), f.Path, &all)
		if err != nil {
			return nil, err
		}
		if path.Dir(f.Path) == "config/crd" {
			text = crd(text)
		}
		if value, ok := optional[f.Path]; ok {
			text = "{{- if .Values." + value + ".enabled }}\n" + text + "{{- end }}\n"
		}
		templates[i] = bundle.File{Path: strings.TrimPrefix(f.Path, "config/"), Text: fmt.Sprintf(header, f.Path) + text}
	}
	if len(all) > 0 {
		return nil, fmt.Errorf("an edit is for %s, which is not a manifest", all[0].File)
	}
	return templates, nil
}

// apply makes the edits for a file, and removes them from the list.
func apply(text, file string, all *[]edit) (string, error) {
	var rest []edit
	for _, e := range *all {
		if e.File != file {
			rest = append(rest, e)
			continue
		}
		old, err := regexp.Compile("(?m)" + e.Old)
		if err != nil {
			return "", err
		}
		if n := len(old.FindAllString(text, -1)); n != 1 {
			return "", fmt.Errorf("%s matches %d times, not once, an expression in hack/manifests/chart/edits.yaml; adapt it: %s", file, n, e.Old)
		}
		text = old.ReplaceAllString(text, e.New)
	}
	*all = rest
	return text, nil
}

// crd makes a CRD optional, and lets it survive an uninstallation. As a template it is upgraded with the chart, which
// files in Helm's folder crds are not.
func crd(text string) string {
	text = strings.TrimPrefix(text, "---\n")
	text = strings.Replace(text, "\n  annotations:\n", "\n  annotations:\n    helm.sh/resource-policy: keep\n", 1)
	return "{{- if .Values.crds.install }}\n" + text + "{{- end }}\n"
}
