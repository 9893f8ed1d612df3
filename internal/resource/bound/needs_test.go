package bound_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
)

// bookworm returns the facts of a host.
func bookworm() resource.Facts {
	return resource.Facts{
		"os":      map[string]any{"name": "Debian", "family": "Debian", "release": map[string]any{"major": "12"}},
		"init":    "systemd",
		"virtual": false,
		"cpus":    float64(8),
		"empty":   "",
	}
}

func TestConditionsOnFacts(t *testing.T) {
	tests := map[string]struct {
		where resource.Where
		want  bool
	}{
		"none":                                  {nil, true},
		"a value, whatever its case":            {resource.Where{"os.name": {"debian"}}, true},
		"one of several values":                 {resource.Where{"os.name": {"Ubuntu", "Debian"}}, true},
		"none of several values":                {resource.Where{"os.name": {"Ubuntu", "Fedora"}}, false},
		"a part of a value is another":          {resource.Where{"os.name": {"Deb"}}, false},
		"every fact":                            {resource.Where{"os.name": {"Debian"}, "os.release.major": {"11", "12"}}, true},
		"one fact of two":                       {resource.Where{"os.name": {"Debian"}, "os.release.major": {"11"}}, false},
		"a pattern":                             {resource.Where{"os.release.major": {"/^1[0-9]$/"}}, true},
		"a pattern sees lower case":             {resource.Where{"os.name": {"/deb/"}}, true},
		"a pattern that is not found":           {resource.Where{"os.release.major": {"/^2/"}}, false},
		"a boolean and a number":                {resource.Where{"virtual": {"false"}, "cpus": {"8"}}, true},
		"a fact that is missing has no value":   {resource.Where{"missing": {"", "/^$/"}}, false},
		"a fact that is empty has no value":     {resource.Where{"empty": {"", "/^$/"}}, false},
		"a fact that is one of nothing":         {resource.Where{"os.name": {}}, false},
		"a pattern that is none is never found": {resource.Where{"os.name": {"/(/"}}, false},
		"one slash begins no pattern":           {resource.Where{"os.name": {"/debian"}}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.where.Holds(bookworm()); got != test.want {
				t.Errorf("%v holds: %t", test.where, got)
			}
		})
	}
}

func TestUnmetNeedsAreReported(t *testing.T) {
	h := hosttest.New(t)
	h.Handle("dim", func(host.Cmd) host.Result { return host.Result{} })
	h.Handle("probe", func(cmd host.Cmd) host.Result { return host.Result{ExitCode: len(cmd.Args) - 1} })
	h.Put("/etc/lamp.conf", "")
	tests := map[string]struct {
		needs resource.Needs
		want  string // "" for nothing
	}{
		"nothing": {resource.Needs{}, ""},
		"all is there": {
			resource.Needs{Commands: []string{"dim"}, Files: []string{"/etc/lamp.conf", "/etc"}, Facts: resource.Where{"init": {"systemd"}}, Remedy: "buy one"}, "",
		},
		"every command by its name": {
			resource.Needs{Commands: []string{"shine", "dim", "flash"}}, "the command shine is not installed; the command flash is not installed",
		},
		"exits as needed": {resource.Needs{Exits: []resource.Exit{{Command: []string{"probe"}}, {Command: []string{"probe", "a", "b"}, Code: 2}}}, ""},
		"another exit":    {resource.Needs{Exits: []resource.Exit{{Command: []string{"probe", "a"}}}}, "probe a exits with 1, not 0"},
		"nothing that must not be": {
			resource.Needs{Not: &resource.Needs{Commands: []string{"shine"}, Files: []string{"/etc/fuse"}, Facts: resource.Where{"init": {"openrc"}, "mains": {"230"}}, Exits: []resource.Exit{{Command: []string{"probe", "a"}}}}}, "",
		},
		"all that must not be": {
			resource.Needs{Not: &resource.Needs{Commands: []string{"dim"}, Files: []string{"/etc/lamp.conf"}, Facts: resource.Where{"init": {"systemd"}}, Exits: []resource.Exit{{Command: []string{"probe"}}}}, Remedy: "darken it"},
			"the command dim is installed; the file /etc/lamp.conf is there; the fact init is systemd; probe exits with 0; darken it",
		},
		"a file":               {resource.Needs{Files: []string{"/etc/fuse"}}, "the file /etc/fuse is not there"},
		"a fact of one value":  {resource.Needs{Facts: resource.Where{"init": {"openrc"}}}, `the fact init is "systemd", not openrc`},
		"a fact of several":    {resource.Needs{Facts: resource.Where{"init": {"openrc", "init"}}}, `the fact init is "systemd", not one of openrc, init`},
		"a fact that is not":   {resource.Needs{Facts: resource.Where{"mains": {"230"}}}, `the fact mains is "", not 230`},
		"all, with the remedy": {resource.Needs{Commands: []string{"shine"}, Files: []string{"/etc/fuse"}, Facts: resource.Where{"mains": {"230"}}, Remedy: "move house"}, `the command shine is not installed; the file /etc/fuse is not there; the fact mains is "", not 230; move house`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := test.needs.Unmet(bookworm(), h)
			if test.want == "" {
				must(t, err)
				return
			}
			wantError(t, err, test.want)
		})
	}
}

func TestProviderWithUnmetNeedsIsNotCalled(t *testing.T) {
	p := picky{plain: plain{name: "lit", err: errors.New("no fire")}, needs: resource.Needs{Facts: resource.Where{"mains": {"230"}}}}
	got := bound.Kind(lamps(p)).Suitability(bookworm(), nil)[0]
	wantError(t, got.Err, `the fact mains is "", not 230`)
	wantError(t, bind(t, lamps(p), "{}").Choose(bookworm(), nil, "lit"), `cannot find a suitable provider for Lamp: lit: the fact mains is "", not 230`)

	p.needs = resource.Needs{}
	wantError(t, bound.Kind(lamps(p)).Suitability(bookworm(), nil)[0].Err, "no fire")
}

func TestDefaultProviderHasTheMostMatchingFacts(t *testing.T) {
	debian, twelve := resource.Where{"os.family": {"Debian"}}, resource.Where{"os.name": {"Debian"}, "os.release.major": {"12"}}
	redhat := resource.Where{"os.family": {"RedHat"}}
	type chosen struct {
		Provider string
		Tied     []string
	}
	tests := map[string]struct {
		first, second resource.Defaults // of two providers, between a third of no default and one that does not suit
		want          chosen
	}{
		"none is":         {resource.Defaults{}, resource.Defaults{}, chosen{"plain", nil}},
		"the one that is": {resource.Defaults{}, resource.Defaults{For: []resource.Where{debian}}, chosen{"second", nil}},
		"more facts":      {resource.Defaults{For: []resource.Where{debian}}, resource.Defaults{For: []resource.Where{twelve}}, chosen{"second", nil}},
		"the most facts of several conditions": {
			resource.Defaults{For: []resource.Where{twelve, debian}}, resource.Defaults{For: []resource.Where{debian}}, chosen{"first", nil},
		},
		"any of several conditions":     {resource.Defaults{For: []resource.Where{redhat, debian}}, resource.Defaults{}, chosen{"first", nil}},
		"the largest of several":        {resource.Defaults{For: []resource.Where{debian}}, resource.Defaults{For: []resource.Where{debian, twelve}}, chosen{"second", nil}},
		"conditions do not add up":      {resource.Defaults{For: []resource.Where{twelve}}, resource.Defaults{For: []resource.Where{debian, debian, debian}}, chosen{"first", nil}},
		"all facts of a condition":      {resource.Defaults{For: []resource.Where{{"os.family": {"Debian"}, "os.release.major": {"11"}}}}, resource.Defaults{For: []resource.Where{debian}}, chosen{"second", nil}},
		"a veto beats all":              {resource.Defaults{For: []resource.Where{twelve}, NotFor: []resource.Where{debian}}, resource.Defaults{For: []resource.Where{debian}}, chosen{"second", nil}},
		"a veto of another host":        {resource.Defaults{For: []resource.Where{twelve}, NotFor: []resource.Where{redhat}}, resource.Defaults{For: []resource.Where{debian}}, chosen{"first", nil}},
		"the first of two, with a note": {resource.Defaults{For: []resource.Where{debian}}, resource.Defaults{For: []resource.Where{debian}}, chosen{"first", []string{"second"}}},
		"the empty condition is none":   {resource.Defaults{}, resource.Defaults{For: []resource.Where{{}}}, chosen{"plain", nil}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			typ := lamps(
				picky{plain: plain{name: "unsuited", err: errors.New("no fire")}, defaults: resource.Defaults{For: []resource.Where{twelve}}},
				plain{name: "plain"},
				picky{plain: plain{name: "first"}, defaults: test.first},
				picky{plain: plain{name: "second"}, defaults: test.second},
			)
			var got []chosen
			for _, s := range bound.Kind(typ).Suitability(bookworm(), nil) {
				if s.Chosen {
					got = append(got, chosen{s.Provider, s.Tied})
				}
			}
			if diff := cmp.Diff([]chosen{test.want}, got); diff != "" {
				t.Errorf("chosen (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProviderErrorIsFinalIfEveryProviderNeedsOtherFacts(t *testing.T) {
	facts := resource.Facts{"os": map[string]any{"family": "Debian"}}
	other := picky{plain: plain{name: "rpm"}, needs: resource.Needs{Facts: resource.Where{"os.family": {"RedHat"}}}}
	lacking := picky{plain: plain{name: "apt", err: errors.New("apt is broken")}, needs: resource.Needs{Facts: resource.Where{"os.family": {"Debian"}}}}
	for name, c := range map[string]struct {
		providers []resource.Provider[lamp]
		named     string
		final     bool
	}{
		"no provider has the facts":        {[]resource.Provider[lamp]{other, other}, "", true},
		"one provider has the facts":       {[]resource.Provider[lamp]{other, lacking}, "", false},
		"the named provider has the facts": {[]resource.Provider[lamp]{other, lacking}, "apt", false},
		"the named provider has them not":  {[]resource.Provider[lamp]{other, lacking}, "rpm", true},
	} {
		err := bind(t, lamps(c.providers...), "{}").Choose(facts, nil, c.named)
		none, ok := errors.AsType[*resource.NoProviderError](err)
		if !ok || none.Final != c.final {
			t.Errorf("%s: %v", name, err)
		}
	}
}
