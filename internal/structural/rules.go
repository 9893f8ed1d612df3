package structural

import (
	"context"
	"maps"
	"slices"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
)

// rules are the CEL rules of a schema and of the schemas below it, compiled by the code of API servers. They report only
// whether all rules hold. The validator of an API server also explains which do not, but it copies the schemas of all
// fields each time that a rule reads one. A nil *rules has no rules.
type rules struct {
	own        func() compiledRules // of the schema itself; nil if it has none
	properties map[string]*rules
	values     *rules // of additionalProperties
	items      *rules
}

// compiledRules are the rules of one schema. The zero value, for rules in an allOf, does not hold.
type compiledRules struct {
	results []cel.CompilationResult
	schema  common.Schema // of self
	err     error
}

// rulesOf returns the rules of a schema of values of a type. Those of each schema are compiled when they are first evaluated.
func rulesOf(s *schema.Structural, root bool, t *apiservercel.DeclType) *rules {
	if s == nil {
		return nil
	}
	r := &rules{properties: rulesOfProperties(s, t), items: rulesOfElements(s.Items, t)}
	if s.AdditionalProperties != nil {
		r.values = rulesOfElements(s.AdditionalProperties.Structural, t)
	}
	if len(s.XValidations) > 0 || hasNestedRules(s.ValueValidation) {
		r.own = sync.OnceValue(func() compiledRules { return compileRules(s, root, t) })
	}
	if r.own == nil && r.items == nil && r.values == nil && len(r.properties) == 0 {
		return nil
	}
	return r
}

func rulesOfElements(s *schema.Structural, t *apiservercel.DeclType) *rules {
	if s == nil {
		return nil
	}
	var element *apiservercel.DeclType
	if t != nil {
		element = t.ElemType
	}
	return rulesOf(s, s.XEmbeddedResource, element)
}

func rulesOfProperties(s *schema.Structural, t *apiservercel.DeclType) map[string]*rules {
	all := map[string]*rules{}
	for name, property := range s.Properties {
		of := typeOf(t, name, &property)
		if of == nil { // the validator ignores the rules of such a field, too
			continue
		}
		if below := rulesOf(&property, property.XEmbeddedResource, of); below != nil {
			all[name] = below
		}
	}
	return all
}

// typeOf returns the type of a field of a type, nil if it has none.
func typeOf(t *apiservercel.DeclType, name string, s *schema.Structural) *apiservercel.DeclType {
	escaped, ok := apiservercel.Escape(name)
	if !ok { // rules cannot read the field, but it may have rules of its own
		return model.SchemaDeclType(s, s.XEmbeddedResource)
	}
	if t == nil || t.Fields[escaped] == nil {
		return nil
	}
	return t.Fields[escaped].Type
}

// hasNestedRules reports whether parts of an allOf have rules.
func hasNestedRules(v *schema.ValueValidation) bool {
	return v != nil && slices.ContainsFunc(v.AllOf, func(n schema.NestedValueValidation) bool { return hasRules(&n) })
}

func hasRules(n *schema.NestedValueValidation) bool {
	return n != nil && (len(n.XValidations) > 0 || hasNestedRules(&n.ValueValidation) || hasRules(n.Items) || hasRules(n.AdditionalProperties) ||
		slices.ContainsFunc(slices.Collect(maps.Values(n.Properties)), func(p schema.NestedValueValidation) bool { return hasRules(&p) }))
}

func compileRules(s *schema.Structural, root bool, t *apiservercel.DeclType) (c compiledRules) {
	if hasNestedRules(s.ValueValidation) {
		return c
	}
	environments := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	c.results, c.err = cel.Compile(s, t, celconfig.PerCallLimit, environments, cel.StoredExpressionsEnvLoader())
	if root {
		s = model.WithTypeAndObjectMeta(s)
	}
	c.schema = sharedSchemaOf(s)
	return c
}

// hold reports whether a new value follows all rules. It is false if the validator has to decide: for rules that cannot be
// evaluated, or that cost more than the budget, which hold reduces.
func (r *rules) hold(ctx context.Context, value any, budget *int64) bool {
	if r == nil || value == nil {
		return true
	}
	return (r.own == nil || r.own().hold(ctx, value, budget)) && r.holdBelow(ctx, value, budget)
}

func (r *rules) holdBelow(ctx context.Context, value any, budget *int64) bool {
	switch value := value.(type) {
	case map[string]any:
		for name, v := range value {
			if !r.values.hold(ctx, v, budget) || !r.properties[name].hold(ctx, v, budget) {
				return false
			}
		}
	case []any:
		return !slices.ContainsFunc(value, func(v any) bool { return !r.items.hold(ctx, v, budget) })
	}
	return true
}

func (c compiledRules) hold(ctx context.Context, value any, budget *int64) bool {
	if c.err != nil || len(c.results) == 0 {
		return false
	}
	variables := map[string]any{cel.ScopedVarName: common.UnstructuredToVal(value, c.schema)}
	for _, rule := range c.results {
		if ctx.Err() != nil || !isTrue(rule, variables, budget) {
			return false
		}
	}
	return true
}

func isTrue(rule cel.CompilationResult, variables map[string]any, budget *int64) bool {
	if rule.Program == nil || rule.UsesOldSelf {
		return false
	}
	result, details, err := rule.Program.Eval(variables) // it ends at the limit for one rule
	if err != nil || details == nil || details.ActualCost() == nil {
		return false
	}
	*budget -= int64(*details.ActualCost())
	return *budget >= 0 && result.Value() == true
}

// A sharedSchema is a schema whose properties are wrapped once, and not each time that they are read.
type sharedSchema struct {
	*model.Structural
	properties map[string]common.Schema
}

func sharedSchemaOf(s *schema.Structural) sharedSchema {
	shared := sharedSchema{Structural: &model.Structural{Structural: s}}
	if s.Properties != nil {
		shared.properties = make(map[string]common.Schema, len(s.Properties))
	}
	for name, property := range s.Properties {
		shared.properties[name] = sharedSchemaOf(&property)
	}
	return shared
}

// Properties implements [common.Schema].
func (s sharedSchema) Properties() map[string]common.Schema { return s.properties }
