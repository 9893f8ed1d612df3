package externalkinds

import (
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/external/crdbuild"
	"github.com/fettle-dev/fettle/internal/external/defaults"
	typedefinition "github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
	"github.com/fettle-dev/fettle/providers/external"
)

// A usable is an ExternalType, checked.
type usable struct {
	uid        types.UID
	generation int64
	fault      string // "" if there is none
	definition *typedefinition.Definition
	stored     *v1alpha1.Catalog // see [catalog.OfType]
	kind       resource.Kind
	defaults   *defaults.Defaults
	schemas    map[string]any // as in schemasOf
	completed  map[types.UID]completion
}

// A completion is a version of a resource with the defaults of its attributes, or the reason why it has none.
type completion struct {
	version  string
	resource *v1alpha1.External
	err      error
}

// readTypes checks the ExternalTypes that have changed.
func (k *Kinds) readTypes(all []v1alpha1.ExternalType) {
	next := make(map[string]*usable, len(all))
	for i := range all {
		t := &all[i]
		is := k.types[t.Name]
		if is == nil || is.uid != t.UID || is.generation != t.Generation {
			is = check(t)
		}
		next[t.Name] = is
	}
	k.types = next
}

func check(t *v1alpha1.ExternalType) *usable {
	u := &usable{uid: t.UID, generation: t.Generation}
	d, err := typedefinition.New(t)
	var crd *apiextensionsv1.CustomResourceDefinition
	if err == nil {
		crd, err = crdbuild.Build(d)
	}
	if err == nil {
		u.defaults, err = defaults.New(d, crd)
	}
	if err == nil {
		u.stored, err = catalog.OfType(t.Name, t.Spec)
	}
	if err != nil {
		u.fault = text.Error(err)
		return u
	}
	u.definition, u.kind, u.schemas = d, external.Kind(d, nil), schemasOf(crd)
	return u
}

// maxTimeout is the longest time limit that a type can have.
const maxTimeout = time.Hour

// remote returns whether a type is Remote, and the time limit of its programs. If the type is missing or has faults, its definition tells:
// otherwise each node could be asked to remove what a resource describes, and none would.
func (u *usable) remote(d *definition) (limit time.Duration, remote bool) {
	if u == nil || u.definition == nil {
		return maxTimeout, d.remote
	}
	return u.definition.Spec.TimeoutSeconds.Duration(), u.definition.IsRemote()
}

// complete returns resources with the defaults of their attributes, and the reasons why some stay as they are. It computes
// only those that are new.
func (u *usable) complete(all []*v1alpha1.External) (complete []v1alpha1.Resource, failed map[v1alpha1.ResourceRef]string) {
	next := make(map[types.UID]completion, len(all))
	failed = map[v1alpha1.ResourceRef]string{}
	for _, r := range all {
		c, known := u.completed[r.UID]
		if !known || c.version != r.ResourceVersion {
			c = completion{version: r.ResourceVersion}
			if c.resource, c.err = u.defaults.Complete(r); c.err != nil {
				c.resource = r
			}
		}
		if c.err != nil {
			failed[v1alpha1.RefOf(r)] = text.Error(c.err)
		}
		next[r.UID] = c
		complete = append(complete, c.resource)
	}
	u.completed = next
	return complete, failed
}

// faultOf returns what withholds the resources of a definition, nil if nothing does. The type is nil if it is missing.
func (u *usable) faultOf(d *definition) *compiler.Fault {
	switch {
	case u == nil:
		return compiler.NewFault(v1alpha1.ReasonMissingType, "the kind %s has no ExternalType %s: apply the one that fettle type build writes", d.kind, d.plural)
	case u.fault != "":
		return compiler.NewFault(v1alpha1.ReasonInvalidType, "ExternalType %s is not valid: %s", d.plural, u.fault)
	}
	if mismatch := u.mismatch(d); mismatch != "" {
		return compiler.NewFault(v1alpha1.ReasonDefinitionMismatch, "CustomResourceDefinition %s.%s does not match ExternalType %s: %s; apply both as fettle type build writes them",
			d.plural, group, d.plural, mismatch)
	}
	return nil
}
