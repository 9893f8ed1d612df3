package crdbuild

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/parser"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/fettle-dev/fettle/internal/external/definition"
)

// declared returns the rules of a type as rules of the spec, where ensure is known: resources that are absent need not meet them.
// They are the first rules of the spec.
func declared(d *definition.Definition) (apiextensionsv1.ValidationRules, error) {
	var all apiextensionsv1.ValidationRules
	for i, r := range d.Spec.Rules {
		text, err := ofSpec(r.Rule)
		if err != nil {
			return nil, fmt.Errorf("spec.rules[%d].rule: %w", i, err)
		}
		all = append(all, apiextensionsv1.ValidationRule{
			Rule:    "!has(self.properties) || has(self.ensure) && self.ensure == 'absent' || (" + text + "\n)", // a rule may end with a comment
			Message: r.Message, Reason: new(apiextensionsv1.FieldValueInvalid), FieldPath: "." + properties,
		})
	}
	return all, nil
}

// root is the object of a rule.
const root = "self"

// ofSpec returns a rule over the properties as one over the spec: each self becomes self.properties.
func ofSpec(rule string) (string, error) {
	p, err := parser.NewParser(parser.Macros(parser.AllMacros...))
	if err != nil {
		return "", err
	}
	source := common.NewTextSource(rule)
	tree, faults := p.Parse(source)
	if len(faults.GetErrors()) > 0 {
		return "", fmt.Errorf("%s", strings.Join(strings.Fields(faults.ToDisplayString()), " "))
	}
	offsets, err := selves(tree)
	if err != nil {
		return "", err
	}
	slices.Sort(offsets)
	text := []rune(rule) // offsets count characters
	for _, at := range slices.Backward(slices.Compact(offsets)) {
		text = slices.Insert(text, at+len(root), []rune("."+properties)...)
	}
	return string(text), nil
}

// selves returns where a rule has self, in characters.
func selves(tree *ast.AST) (offsets []int, err error) {
	ast.PostOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.ComprehensionKind {
			if c := e.AsComprehension(); c.IterVar() == root || c.IterVar2() == root {
				err = fmt.Errorf("the variable of a macro is named %s: use another name", root)
			}
		}
		if e.Kind() != ast.IdentKind || e.AsIdent() != root {
			return
		}
		if at, ok := tree.SourceInfo().GetOffsetRange(e.ID()); ok {
			offsets = append(offsets, int(at.Start))
		}
	}))
	return offsets, err
}

// Rules returns the part of the spec in a definition of Build that the rules of a type are about, with these rules; nil if there are none.
func Rules(d *definition.Definition, built *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.JSONSchemaProps {
	if len(d.Spec.Rules) == 0 {
		return nil
	}
	spec := built.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	return &apiextensionsv1.JSONSchemaProps{
		Type: "object", XValidations: spec.XValidations[:len(d.Spec.Rules)],
		Properties: map[string]apiextensionsv1.JSONSchemaProps{ensure: spec.Properties[ensure], properties: spec.Properties[properties]},
	}
}
