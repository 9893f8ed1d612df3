// Package dsc reads the manifests of command resources of DSC v3, and makes and interprets calls of their commands. It
// runs nothing.
//
// See https://learn.microsoft.com/powershell/dsc/reference/schemas/resource/manifest/root.
package dsc

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	jsonutil "sigs.k8s.io/json"
)

// A Manifest is the part of a resource's manifest that Fettle uses. It is immutable.
type Manifest struct {
	Type        string `json:"type"`
	Version     string `json:"version"`
	Kind        string `json:"kind,omitempty"` // resource or adapter; "" is resource
	Description string `json:"description,omitempty"`
	// ExitCodes explain exit codes, by number.
	ExitCodes map[string]string `json:"exitCodes,omitempty"`

	Get      *Operation `json:"get,omitempty"`
	Set      *Operation `json:"set,omitempty"`
	Test     *Operation `json:"test,omitempty"`
	Delete   *Operation `json:"delete,omitempty"`
	Export   *Operation `json:"export,omitempty"`
	Validate *Operation `json:"validate,omitempty"`

	Adapter *Adapter `json:"adapter,omitempty"`
	// Schema is only in the manifest of an author: a type has it in its attributes.
	Schema *Schema `json:"schema,omitempty"`
	// Needs are the commands that a host must have, from the condition of an author's manifest. A type has them in its provider.
	Needs []string `json:"-"`
}

// KindAdapter is the kind of a manifest whose commands manage the resources of several types.
const KindAdapter = "adapter"

// An Operation is a command.
type Operation struct {
	Executable string `json:"executable"`
	Args       []Arg  `json:"args,omitempty"`
	// Input is how the command gets properties besides its arguments: stdin, env or "".
	Input string `json:"input,omitempty"`
	// RequireSecurityContext is current, elevated or "". Both mean root.
	RequireSecurityContext string `json:"requireSecurityContext,omitempty"`
	// Return is what the command prints: state, stateAndDiff or "". Only of set and test.
	Return string `json:"return,omitempty"`
	// HandlesExist means that set removes an instance whose _exist is false.
	HandlesExist bool `json:"handlesExist,omitempty"`
	// ImplementsPretest means that set compares first. Fettle always has.
	ImplementsPretest bool `json:"implementsPretest,omitempty"`
	// WhatIfReturns is never used: a what-if is never trusted.
	WhatIfReturns string `json:"whatIfReturns,omitempty"`
}

// Ways of input and output.
const (
	InputStdin         = "stdin"
	InputEnv           = "env"
	ReturnState        = "state"
	ReturnStateAndDiff = "stateAndDiff"
)

// An Adapter says how a manifest manages resources of other types.
type Adapter struct {
	// List prints the resources that the adapter manages; nil if only manifests of adapted resources describe them. A type
	// does not need it.
	List *Operation `json:"list,omitempty"`
	// InputKind is what the commands get: the properties of one resource, or a configuration with several.
	InputKind string `json:"inputKind,omitempty"`
	Config    string `json:"config,omitempty"` // an older name of inputKind
}

// Kinds of input of adapters.
const (
	InputSingle   = "single"
	InputFull     = "full"
	InputSequence = "sequence"
)

// A Schema is the schema of an instance, or the command that prints it.
type Schema struct {
	Embedded json.RawMessage `json:"embedded,omitempty"`
	Command  *Operation      `json:"command,omitempty"`
}

// An Arg is an argument of a command: a text, or one of the others.
type Arg struct {
	Text string
	// JSON is the name of the argument that comes before the input as JSON.
	JSON string
	// Mandatory passes a JSON argument without a value if there is no input.
	Mandatory bool
	// Type is the name of the argument that comes before the type of the resource.
	Type string
	// Path is the name of the argument that comes before the path of the manifest.
	Path   string
	Quotes bool // around the path
	// Version is the name of the argument that comes before the version of the resource.
	Version string
	// Content is the name of the argument that comes before the content of an adapted resource.
	Content string
	// WhatIf is an argument that asks for a what-if. It is never passed.
	WhatIf string
}

// argObject is an argument in JSON that is not a text.
type argObject struct {
	JSON      string `json:"jsonInputArg,omitempty"`
	Mandatory bool   `json:"mandatory,omitempty"`
	Type      string `json:"resourceTypeArg,omitempty"`
	Path      string `json:"resourcePathArg,omitempty"`
	Quotes    bool   `json:"includeQuotes,omitempty"`
	Version   string `json:"resourceVersionArg,omitempty"`
	Content   string `json:"adaptedContentArg,omitempty"`
	WhatIf    string `json:"whatIfArg,omitempty"`
}

// UnmarshalJSON implements [json.Unmarshaler].
func (a *Arg) UnmarshalJSON(raw []byte) error {
	*a = Arg{}
	if json.Unmarshal(raw, &a.Text) == nil {
		return nil
	}
	var o argObject
	if json.Unmarshal(raw, &o) != nil {
		return errors.New("an argument is neither a text nor an object")
	}
	kinds := slices.DeleteFunc([]string{o.JSON, o.Type, o.Path, o.Version, o.Content, o.WhatIf}, func(name string) bool { return name == "" })
	if len(kinds) != 1 {
		return errors.New("an argument needs exactly one of jsonInputArg, resourceTypeArg, resourcePathArg, resourceVersionArg, adaptedContentArg and whatIfArg")
	}
	*a = Arg{JSON: o.JSON, Mandatory: o.Mandatory, Type: o.Type, Path: o.Path, Quotes: o.Quotes, Version: o.Version, Content: o.Content, WhatIf: o.WhatIf}
	return nil
}

// MarshalJSON implements [json.Marshaler].
func (a Arg) MarshalJSON() ([]byte, error) {
	o := argObject{JSON: a.JSON, Mandatory: a.Mandatory, Type: a.Type, Path: a.Path, Quotes: a.Quotes, Version: a.Version, Content: a.Content, WhatIf: a.WhatIf}
	if o == (argObject{}) {
		return json.Marshal(a.Text)
	}
	return json.Marshal(o)
}

// authored has the fields of a manifest that only its author's text has.
type authored struct {
	Manifest

	Deprecation    string          `json:"deprecationMessage"`
	Condition      string          `json:"condition"`
	Resolve        json.RawMessage `json:"resolve"`
	RequireAdapter json.RawMessage `json:"requireAdapter"`
}

// Parse reads a manifest as its author writes it, in JSON. Fields that it does not know have no effect, as in DSC. The error
// joins all faults. Each names a field, and what to use instead of one that Fettle refuses.
func Parse(text []byte) (*Manifest, error) {
	var m authored
	if err := decode(text, &m); err != nil {
		return nil, fmt.Errorf("it is not a manifest of a DSC resource: %w", err)
	}
	m.normalize()
	err := m.check()
	var fault error
	if m.Needs, fault = Needs(m.Condition); errors.Join(err, fault) != nil {
		return nil, errors.Join(err, fault)
	}
	m.Description = described(m.Description, m.Deprecation)
	return &m.Manifest, nil
}

// described returns a description with the message of what is deprecated.
func described(text, deprecation string) string {
	if deprecation == "" {
		return text
	}
	return text + "\n\nDeprecated: " + deprecation
}

// normalize removes what has no effect, and replaces older names by the present ones.
func (m *Manifest) normalize() {
	for name, op := range m.Operations() {
		if name != "set" && name != "test" {
			op.Return = ""
		}
		if name != "set" {
			op.HandlesExist, op.ImplementsPretest, op.WhatIfReturns = false, false, ""
		}
	}
	if a := m.Adapter; a != nil && a.InputKind == "" {
		a.InputKind, a.Config = a.Config, ""
	}
}

// Frozen reads the manifest of a type, which has only the fields of a [Manifest].
func Frozen(text []byte) (*Manifest, error) {
	var m authored
	if faults, err := jsonutil.UnmarshalStrict(text, &m.Manifest); err != nil || len(faults) > 0 {
		return nil, errors.Join(append(faults, err)...)
	}
	m.normalize()
	return &m.Manifest, m.check()
}

// decode decodes JSON without repeated fields.
func decode(text []byte, into any) error {
	faults, err := jsonutil.UnmarshalStrict(text, into, jsonutil.DisallowDuplicateFields)
	return errors.Join(append(faults, err)...)
}
