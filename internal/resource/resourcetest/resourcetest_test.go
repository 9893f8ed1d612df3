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
		definition = "the definition is valid"
		documented = "the documented attributes are those of the type"
		example    = "the example can be read and bound"
		normal     = "Normalize is idempotent"
		refused    = "errors name the attribute and the fix"
		lived      = "a resource is created, changed and removed"
	)
	tests := map[string]struct {
		provider slips
		edit     func(*resource.Type[attributes])
		broken   string // the only broken law
		says     string
	}{
		"the doc is missing":                        {edit: func(typ *kind) { typ.Doc = "" }, broken: definition, says: "doc"},
		"a method has another signature":            {edit: func(typ *kind) { typ.Providers = []resource.Provider[attributes]{blind{}} }, broken: definition, says: "method Watch of provider slips does not have the signature of the optional interface"},
		"an attribute is not declared":              {edit: func(typ *kind) { typ.Parameters = typ.Parameters[1:] }, broken: documented, says: "attribute system is neither"},
		"a declared attribute is not a field":       {edit: func(typ *kind) { typ.Parameters[0].Name = "rank" }, broken: documented, says: "rank is declared but is not an attribute"},
		"a parameter has no doc":                    {edit: func(typ *kind) { typ.Parameters[0].Doc = "" }, broken: documented, says: "system has no doc"},
		"the example has an unknown attribute":      {edit: func(typ *kind) { typ.Example += "  gdi: 7\n" }, broken: example, says: "gdi"},
		"the example has only another kind":         {edit: func(typ *kind) { typ.Example = strings.ReplaceAll(typ.Example, "Group", "User") }, broken: example, says: "no resource of kind Group"},
		"the example is of an unknown kind":         {edit: func(typ *kind) { typ.Example = strings.ReplaceAll(typ.Example, "Group", "Slip") }, broken: example, says: `no kind "Slip"`},
		"the example is invalid":                    {edit: func(typ *kind) { typ.Validate = refuseNumber(7) }, broken: example, says: "refused"},
		"Normalize is not idempotent":               {edit: func(typ *kind) { typ.Normalize = func(a *attributes) { a.System = new(a.System == nil || !*a.System) } }, broken: normal, says: "twice"},
		"an error names no attribute":               {edit: func(typ *kind) { typ.Validate = refuseNumber(-1) }, broken: refused, says: "gid: the error for -1 does not name gid"},
		"reading changes the host":                  {provider: slips{query: "touch"}, broken: lived, says: "reading changed the host"},
		"a write has no effect":                     {provider: slips{keeps: true}, broken: lived, says: "changes remain after the change"},
		"a removal leaves a file behind":            {provider: slips{trace: "/slips/trace"}, broken: lived, says: "differs from the start"},
		"batch reads mix up resources":              {provider: slips{mixesUp: true}, broken: lived, says: "the state of the second of two resources differs"},
		"an existing resource is not listed":        {provider: slips{listsNone: true}, broken: lived, says: "is not listed"},
		"a secret is in the arguments of a command": {provider: slips{tells: true}, broken: lived, says: "among the arguments of tell"},
		"a secret is in shown output":               {provider: slips{shows: true}, broken: lived, says: "the secret is in the output of show"},
		"a secret is in a change":                   {edit: func(typ *kind) { typ.Properties[1].Sensitive = nil }, broken: lived, says: "shows the secret"},
		"a secret is in an unmanaged state":         {provider: slips{reveals: true}, broken: lived, says: "the current state shows the secret"},
		"the previous state satisfies the next one": {edit: func(typ *kind) { typ.Properties[1].InSync = always }, broken: lived, says: "nothing to change"},
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
