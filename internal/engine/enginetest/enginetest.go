// Package enginetest applies resources with the engine, for tests of types that run actions, notify
// or generate, which need several resources.
package enginetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A Machine is a host and its facts and state. Host and Kinds are required.
type Machine struct {
	Host     host.Host
	Kinds    []resource.Kind
	Facts    resource.Facts
	Store    engine.Store
	Noop     bool
	Withheld []resource.Withheld
}

// Apply runs resources once, in this order unless relations order them, and returns the lines of
// the report for people. Write a resource as "Kind/name {attributes}", with the attributes in YAML,
// including edges, noop and provider.
func (m Machine) Apply(t *testing.T, resources ...string) []string {
	t.Helper()
	var lines []string
	for _, r := range m.Report(t, resources...).Resources {
		lines = append(lines, r.Lines()...)
	}
	return lines
}

// Report is Apply with the complete report.
func (m Machine) Report(t *testing.T, resources ...string) report.Report {
	t.Helper()
	items, err := m.Items(resources...)
	if err != nil {
		t.Fatal(err)
	}
	result, err := engine.Transaction{
		Host: m.Host, Bucket: bucket.New(m.Host, bucket.DefaultDir, bucket.DefaultLimit), Kinds: m.Kinds, Facts: m.Facts, Store: m.Store, Noop: m.Noop, Withheld: m.Withheld, Now: time.Now,
	}.Run(t.Context(), items)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// Items binds resources that are written as for Apply.
func (m Machine) Items(resources ...string) ([]resource.Item, error) {
	var items []resource.Item
	for _, text := range resources {
		item, err := m.item(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		items = append(items, item)
	}
	return items, nil
}

// targeting has the fields of an item that are not attributes.
type targeting struct {
	Require, Before, Notify, Subscribe []string
	Noop                               *bool
	Provider                           string
}

func (m Machine) item(text string) (item resource.Item, err error) {
	head, spec, _ := strings.Cut(text, " ")
	if item.Ref, err = resource.ParseRef(head); err != nil {
		return item, err
	}
	var all map[string]any
	var common targeting
	if err := yaml.Unmarshal([]byte(spec), &all); err != nil {
		return item, err
	}
	if err := yaml.Unmarshal([]byte(spec), &common); err != nil {
		return item, err
	}
	for _, name := range []string{"require", "before", "notify", "subscribe", "noop", "provider"} {
		delete(all, name)
	}
	if err := common.give(&item); err != nil {
		return item, err
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return item, err
	}
	i := slices.IndexFunc(m.Kinds, func(k resource.Kind) bool { return k.Name() == item.Ref.Kind })
	if i < 0 {
		return item, fmt.Errorf("no kind %s: add its type to Kinds", item.Ref.Kind)
	}
	item.Resource, item.Invalid = m.Kinds[i].Bind(item.Ref, raw)
	item.Location = m.Kinds[i].Location(item.Ref, json.RawMessage(raw))
	return item, nil
}

func (c targeting) give(item *resource.Item) error {
	item.Noop, item.Provider = c.Noop, c.Provider
	for refs, names := range map[*[]resource.Ref][]string{
		&item.Require: c.Require, &item.Before: c.Before, &item.Notify: c.Notify, &item.Subscribe: c.Subscribe,
	} {
		for _, name := range names {
			ref, err := resource.ParseRef(name)
			if err != nil {
				return err
			}
			*refs = append(*refs, ref)
		}
	}
	return nil
}
