package description

import (
	"strings"

	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
)

func (p Page) provider(s resource.Suitability) {
	suitability := output.Colored{Color: output.Green, Text: "works on this host"}
	switch {
	case s.Err != nil:
		suitability = output.Colored{Color: output.Yellow, Text: "does not work on this host: " + s.Err.Error()}
	case s.Chosen:
		suitability = output.Colored{Color: output.Green, Text: "is this host's default"}
	}
	p.Out.Print("  %s %s", s.Provider, suitability)
	if len(s.Tied) > 0 {
		p.Out.Print("    %s", output.Colored{Color: output.Yellow, Text: "equally suitable: " + strings.Join(s.Tied, ", ") + "; the first one is used: set a provider to choose"})
	}
	for _, line := range providerLines(s) {
		p.block(text.Wrap(line, p.Width-4, "    "))
	}
}

// providerLines describe what a provider needs and can do.
func providerLines(s resource.Suitability) []string {
	var lines []string
	add := func(what string, values ...string) {
		if len(values) > 0 {
			lines = append(lines, what+strings.Join(values, ", "))
		}
	}
	conditions := func(n resource.Needs, only, without string) {
		add(without+"commands: ", n.Commands...)
		add(without+"files: ", n.Files...)
		if len(n.Facts) > 0 {
			add(only+" where ", n.Facts.String())
		}
		for _, e := range n.Exits {
			add(only+" where ", e.String())
		}
	}
	if s.Doc != "" {
		lines = append(lines, s.Doc)
	}
	conditions(s.Needs, "only", "")
	if s.Needs.Not != nil {
		conditions(*s.Needs.Not, "not", "without the ")
	}
	for _, w := range s.Defaults.For {
		add("default where ", w.String())
	}
	for _, w := range s.Defaults.NotFor {
		add("not the default where ", w.String())
	}
	var names []string
	for _, f := range s.Features {
		names = append(names, string(f))
	}
	add("features: ", names...)
	return lines
}
