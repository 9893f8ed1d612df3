// Package description prints what a kind is: its attributes first, and the providers last.
package description

import (
	"maps"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/attributes"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
)

// DefaultWidth is the number of columns if there is no terminal.
const DefaultWidth = 80

// minWidth is the number of columns below which nothing is wrapped more narrowly.
const minWidth = 40

// A Page describes a kind.
type Page struct {
	Kind   resource.Kind
	Fields attributes.Fields
	// Width is the number of columns; 0 is DefaultWidth.
	Width int

	Out *output.Printer
}

// Print prints the page. The providers are as suitable as a host with these facts makes them.
func (p Page) Print(facts resource.Facts, h host.Reader) {
	if p.Width == 0 {
		p.Width = DefaultWidth
	}
	p.Width = max(p.Width, minWidth)
	d := p.Kind.Describe()
	summary, doc, _ := strings.Cut(strings.TrimSpace(d.Doc), "\n")
	p.block(text.Reflow(strings.TrimLeft(summary, "# "), p.Width, ""))
	p.Out.Print("\nATTRIBUTES (%s is the namevar)", d.Namevar)
	p.attributes(d)
	p.fields("VALUE SOURCES", p.Fields.Sources)
	p.fields("FIELDS OF ALL KINDS", p.Fields.Shared)
	if doc = strings.TrimSpace(doc); doc != "" {
		p.Out.Print("\nDESCRIPTION")
		p.block(text.Reflow(doc, p.Width, "  "))
	}
	p.Out.Print("\nEXAMPLE\n%s", output.Block(indent(strings.TrimSpace(d.Example))))
	if len(d.Features) > 0 {
		p.Out.Print("\nFEATURES")
		for _, f := range d.Features {
			p.entry(string(f.Name), f.Doc)
		}
	}
	p.Out.Print("\nPROVIDERS")
	for _, s := range p.Kind.Suitability(facts, h) {
		p.provider(s)
	}
}

func (p Page) block(s string) { p.Out.Print("%s", output.Block(s)) }

// entry prints a name, and below it paragraphs.
func (p Page) entry(name string, paragraphs ...string) {
	p.Out.Print("  %s", name)
	for _, paragraph := range paragraphs {
		p.block(text.Wrap(strings.Join(strings.Fields(paragraph), " "), p.Width-len(below), below))
	}
}

// below is the indent of what is below a name.
const below = "      "

func (p Page) attributes(d resource.Description) {
	for _, at := range d.Attributes {
		what := "parameter"
		switch {
		case at.Name == d.Namevar:
			what = "namevar"
		case at.ReadOnly:
			what = "audited"
		case at.Property:
			what = "property"
		}
		if f, ok := p.Fields.Attributes[at.Name]; ok {
			if f.Namevar {
				what = "namevar"
			}
			f.Secret = f.Secret || at.Sensitive
			what += ": " + f.String()
		}
		doc := at.Doc
		if at.Feature != "" {
			doc += " Needs the feature " + string(at.Feature) + "."
		}
		p.entry(at.Name, what, doc)
	}
}

// fields prints a section of fields, relations first.
func (p Page) fields(title string, all map[string]attributes.Form) {
	if len(all) == 0 {
		return
	}
	p.Out.Print("\n%s", title)
	relations := v1alpha1.EdgeNames()
	names := slices.Sorted(maps.Keys(all))
	slices.SortStableFunc(names, func(a, b string) int { return rank(relations, a) - rank(relations, b) })
	for _, name := range names {
		p.entry(name, all[name].String(), all[name].Doc)
	}
}

// rank is the place of a name in a list; others are behind it.
func rank(list []string, name string) int {
	if i := slices.Index(list, name); i >= 0 {
		return i
	}
	return len(list)
}

func indent(s string) string { return "  " + strings.ReplaceAll(s, "\n", "\n  ") }
