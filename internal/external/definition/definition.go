// Package definition checks ExternalTypes and answers questions about them. It needs neither a host nor a cluster.
package definition

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/jsonschema"
)

// Defaults of an ExternalType.
const (
	defaultSeparator = "/"
	defaultTimeout   = 300
)

// A Definition is an ExternalType without faults. It is immutable.
type Definition struct {
	Name string // of the ExternalType: the plural of the kind in lower case
	Spec v1alpha1.ExternalTypeSpec
	// Digest identifies the spec: sha256-...
	Digest string
	// DSC is the resource of the protocol DSC; nil for another protocol.
	DSC *Resource

	schemas map[string]*jsonschema.Schema // of the attributes, by name
}

// New returns the definition of an ExternalType, with the defaults set that Fettle knows without a resource. The error
// joins all faults. Each names a field.
func New(t *v1alpha1.ExternalType) (*Definition, error) {
	if err := check(t); err != nil {
		return nil, err
	}
	digest, err := Digest(t.Spec)
	if err != nil {
		return nil, err
	}
	d := &Definition{Name: t.Name, Spec: *t.Spec.DeepCopy(), Digest: digest}
	s := &d.Spec
	d.schemas = compiled(s.Attributes)
	if d.DSC, err = newResource(s); err != nil {
		return nil, err
	}
	s.Protocol = cmp.Or(s.Protocol, v1alpha1.ProtocolFettle)
	s.ProgramKind = cmp.Or(s.ProgramKind, s.Kind)
	s.Scope = cmp.Or(s.Scope, v1alpha1.ScopeHost)
	s.NamevarSeparator = cmp.Or(s.NamevarSeparator, defaultSeparator)
	s.TimeoutSeconds = cmp.Or(s.TimeoutSeconds, defaultTimeout)
	if s.Ensure == nil {
		s.Ensure = &v1alpha1.ExternalEnsure{Values: []string{"present"}}
	}
	if len(s.Ensure.Values) == 1 {
		s.Ensure.Default = s.Ensure.Values[0]
	}
	for i := range s.Attributes {
		a := &s.Attributes[i]
		a.Behaviour = cmp.Or(a.Behaviour, v1alpha1.BehaviourProperty)
		a.Match = cmp.Or(a.Match, v1alpha1.MatchUnordered)
		if a.Behaviour == v1alpha1.BehaviourNamevar && (SchemaType(a) != "string" || !d.hasOneNamevar()) {
			a.Required = true
		}
	}
	return d, nil
}

// Digest returns the digest of a spec: sha256-...
func Digest(spec v1alpha1.ExternalTypeSpec) (string, error) {
	text, err := json.Marshal(spec)
	var tree any
	if err == nil {
		err = json.Unmarshal(text, &tree) // schemas are stored as they were written
	}
	if err == nil {
		text, err = json.Marshal(tree)
	}
	if err != nil {
		return "", fmt.Errorf("cannot encode the spec of the type: %w", err)
	}
	sum := sha256.Sum256(text)
	return "sha256-" + hex.EncodeToString(sum[:]), nil
}

// Ref is the type of a catalog entry: the name of an ExternalType, @ and its digest.
func (d *Definition) Ref() string { return d.Name + "@" + d.Digest }

// ParseRef splits a [Definition.Ref].
func ParseRef(ref string) (name, digest string, err error) {
	name, digest, ok := strings.Cut(ref, "@")
	if !ok || name == "" || !strings.HasPrefix(digest, "sha256-") {
		return "", "", fmt.Errorf("type %.80q is not a name, @ and a digest", ref)
	}
	return name, digest, nil
}

// Answers reports whether the program answers a request besides get and set.
func (d *Definition) Answers(r v1alpha1.ExternalRequest) bool {
	return slices.Contains(d.Spec.Requests, r)
}

// IsRemote reports whether resources describe a device or service, for which one node acts.
func (d *Definition) IsRemote() bool { return d.Spec.Scope == v1alpha1.ScopeRemote }

// Namevars returns the attributes that identify a resource, in their order.
func (d *Definition) Namevars() []v1alpha1.ExternalAttribute {
	var all []v1alpha1.ExternalAttribute
	for _, a := range d.Spec.Attributes {
		if a.Behaviour == v1alpha1.BehaviourNamevar {
			all = append(all, a)
		}
	}
	return all
}

func (d *Definition) hasOneNamevar() bool { return len(namevarsOf(&d.Spec)) == 1 }

func namevarsOf(s *v1alpha1.ExternalTypeSpec) []string {
	var names []string
	for _, a := range s.Attributes {
		if a.Behaviour == v1alpha1.BehaviourNamevar {
			names = append(names, a.Name)
		}
	}
	return names
}

// CommandIn returns a command of a type whose files are in a directory of the host.
func CommandIn(dir string, command []string) []string {
	args := slices.Clone(command)
	if isOfSource(args[0]) {
		args[0] = path.Join(dir, args[0])
	}
	return args
}

// isOfSource reports whether a program is a file of the source. Others are searched for on the host.
func isOfSource(program string) bool { return strings.Contains(program, "/") && !path.IsAbs(program) }

// imageReference is a registry with a dot, a port or the name localhost, a repository, maybe a tag, and a digest.
var imageReference = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(localhost|[a-z0-9-]+(\.[a-z0-9-]+)+|[a-z0-9.-]+:[0-9]+)(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+(:[\w][\w.-]{0,127})?@sha256:[a-f0-9]{64}$`)
})

// ImageDigestOf returns the digest of a reference to an image: sha256:...
func ImageDigestOf(image string) string {
	_, digest, _ := strings.Cut(image, "@")
	return digest
}

// ImageDigest is ImageDigestOf as a file name: sha256-...
func ImageDigest(image string) string {
	return strings.Replace(ImageDigestOf(image), ":", "-", 1)
}

// AcceptsSame reports whether a resource that was written for one type means the same to the other. Programs, versions and
// descriptions may differ.
func (d *Definition) AcceptsSame(other *Definition) bool {
	return reflect.DeepEqual(d.vocabulary(), other.vocabulary())
}

// vocabulary is the part of a spec that gives a meaning to resources.
func (d *Definition) vocabulary() v1alpha1.ExternalTypeSpec {
	s := v1alpha1.ExternalTypeSpec{
		Kind: d.Spec.Kind, Protocol: d.Spec.Protocol, Scope: d.Spec.Scope, NamevarSeparator: d.Spec.NamevarSeparator, Ensure: d.Spec.Ensure,
		Attributes: slices.Clone(d.Spec.Attributes), Rules: d.Spec.Rules,
	}
	for i := range s.Attributes {
		s.Attributes[i].Description = ""
	}
	return s
}
