package resourcetest_test

import (
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
)

func TestValidTypePassesAllLaws(t *testing.T) {
	h := newHost(t)
	resourcetest.Run(t, slipType(slips{}), slipCase(h))
}

func TestBrokenLawsAreFound(t *testing.T) {
	const (
		definition = "the definition has no problem"
		documented = "every attribute is documented and every documented attribute is there"
		example    = "the example can be read and bound"
		normal     = "to normalize twice is to normalize once"
		refused    = "a value that is refused is named"
		lived      = "a resource is made, changed and removed"
	)
	tests := map[string]struct {
		provider slips
		edit     func(*resource.Type[attributes])
		broken   string // the only law that is
		says     string
	}{
		"the doc is missing":                     {edit: func(typ *kind) { typ.Doc = "" }, broken: definition, says: "doc"},
		"an attribute is not declared":           {edit: func(typ *kind) { typ.Parameters = typ.Parameters[1:] }, broken: documented, says: "attribute system is neither"},
		"a declared attribute is no field":       {edit: func(typ *kind) { typ.Parameters[0].Name = "rank" }, broken: documented, says: "rank is declared, and no attribute"},
		"a parameter has no doc":                 {edit: func(typ *kind) { typ.Parameters[0].Doc = "" }, broken: documented, says: "system has no doc"},
		"the example has an unknown attribute":   {edit: func(typ *kind) { typ.Example += "  gdi: 7\n" }, broken: example, says: "gdi"},
		"the example has another kind only":      {edit: func(typ *kind) { typ.Example = strings.ReplaceAll(typ.Example, "Group", "User") }, broken: example, says: "no resource of kind Group"},
		"the example is of an unknown kind":      {edit: func(typ *kind) { typ.Example = strings.ReplaceAll(typ.Example, "Group", "Slip") }, broken: example, says: `no kind "Slip"`},
		"the example is refused":                 {edit: func(typ *kind) { typ.Validate = refuseNumber(7) }, broken: example, says: "refused"},
		"normalizing changes what is normal":     {edit: func(typ *kind) { typ.Normalize = func(a *attributes) { a.System = new(a.System == nil || !*a.System) } }, broken: normal, says: "twice"},
		"a refusal names no attribute":           {edit: func(typ *kind) { typ.Validate = refuseNumber(-1) }, broken: refused, says: "gid: -1 is refused without naming gid"},
		"a look leaves a trace":                  {provider: slips{query: "touch"}, broken: lived, says: "a look changed the host"},
		"a write does not do what it should":     {provider: slips{keeps: true}, broken: lived, says: "still to change"},
		"removing leaves something behind":       {provider: slips{trace: "/slips/trace"}, broken: lived, says: "is not where it started"},
		"one of many reads otherwise":            {provider: slips{mixesUp: true}, broken: lived, says: "reads otherwise"},
		"what exists is not listed":              {provider: slips{listsNone: true}, broken: lived, says: "is not listed"},
		"a secret is an argument":                {provider: slips{tells: true}, broken: lived, says: "among the arguments of tell"},
		"a secret is in output that is shown":    {provider: slips{shows: true}, broken: lived, says: "the secret is in the output of show"},
		"a secret is in a change":                {edit: func(typ *kind) { typ.Properties[1].Sensitive = nil }, broken: lived, says: "shows the secret"},
		"a secret is in a state unasked":         {provider: slips{reveals: true}, broken: lived, says: "a state that nobody asked for"},
		"a state is satisfied by the one before": {edit: func(typ *kind) { typ.Properties[1].InSync = always }, broken: lived, says: "nothing to change"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			typ := slipType(test.provider)
			if test.edit != nil {
				test.edit(typ)
			}
			broken := resourcetest.Broken(t, typ, slipCase(h))
			if !strings.Contains(broken[test.broken], test.says) || len(broken) != 1 {
				t.Errorf("broken are %q, want only %q saying %q", broken, test.broken, test.says)
			}
		})
	}
}

type (
	attributes = v1alpha1.GroupAttributes
	kind       = resource.Type[attributes]
)

func always(_, _ attributes) bool { return true }

func newHost(t *testing.T) *hosttest.Host {
	t.Helper()
	h := hosttest.New(t)
	h.PutDir("/slips")
	h.Handle("touch", func(host.Cmd) host.Result {
		h.Put("/slips/touched", "")
		return host.Result{}
	})
	h.Handle("tell", func(host.Cmd) host.Result { return host.Result{} })
	h.Handle("show", func(cmd host.Cmd) host.Result { return host.Result{Stdout: cmd.Stdin} })
	return h
}

func slipCase(h *hosttest.Host) resourcetest.Case {
	return resourcetest.Case{
		Host:     h,
		Absent:   "{ensure: absent}",
		Present:  "{ensure: present, gid: 4711}",
		Changed:  []string{"{ensure: present, gid: 47110}"},
		Snapshot: resourcetest.Files(h, "/slips"),
		Secret:   "4711",
	}
}

func slipType(p slips) *resource.Type[attributes] {
	sensitive := resource.Field("gid", "A number that nobody may know.", func(a *attributes) *int64 { return a.GID })
	sensitive.Sensitive = func(attributes) bool { return true }
	return &resource.Type[attributes]{
		Name:        "Group",
		Doc:         "A slip of paper.\n",
		Example:     "apiVersion: fettle.dev/v1alpha1\nkind: Group\nmetadata: {name: a}\nspec:\n  nodeSelector: {}\n  gid: 7\n",
		NamevarName: "name",
		Namevar:     func(a *attributes) *string { return &a.Name },
		Exists:      func(is attributes) bool { return is.Ensure != nil && *is.Ensure == resource.Present },
		Properties: []resource.Property[attributes]{
			resource.Field(resource.Ensure, "Whether it is there.", func(a *attributes) *string { return a.Ensure }),
			sensitive,
		},
		Parameters: []resource.Parameter{
			{Name: "system", Doc: "Nothing."},
			{Name: "allowDupe", Doc: "Nothing."},
			{Name: "members", Doc: "Nothing."},
			{Name: "authMembership", Doc: "Nothing."},
		},
		Providers: []resource.Provider[attributes]{p},
	}
}

func refuseNumber(n int64) func(attributes) error {
	return func(a attributes) error {
		if a.GID != nil && *a.GID == n {
			return errRefused
		}
		return nil
	}
}
