package jsonschema

// latest is the last draft, and that of schemas that name none.
const latest = 2020

// A definition is of a keyword, in some drafts.
type definition struct {
	name        string
	first, last int
	compile     func(keyword) check
}

// vocabulary returns all keywords of all drafts. The decisive ones are first, and those about what others evaluate last.
func vocabulary() []definition {
	return []definition{
		{"type", 4, latest, types},
		{"const", 6, latest, constant},
		{"enum", 4, latest, enum},

		{"multipleOf", 4, latest, multipleOf},
		{"minimum", 4, latest, limit(+1, 0, "exclusiveMinimum")},
		{"maximum", 4, latest, limit(-1, 0, "exclusiveMaximum")},
		{"exclusiveMinimum", 4, 4, excludes("minimum")},
		{"exclusiveMaximum", 4, 4, excludes("maximum")},
		{"exclusiveMinimum", 6, latest, limit(+1, 1, "")},
		{"exclusiveMaximum", 6, latest, limit(-1, 1, "")},
		{"minLength", 4, latest, size(+1, "string")},
		{"maxLength", 4, latest, size(-1, "string")},
		{"pattern", 4, latest, pattern},

		{"minProperties", 4, latest, size(+1, "object")},
		{"maxProperties", 4, latest, size(-1, "object")},
		{"required", 4, latest, required},
		{"properties", 4, latest, properties},
		{"patternProperties", 4, latest, patternProperties},
		{"additionalProperties", 4, latest, additionalProperties},
		{"propertyNames", 6, latest, propertyNames},
		{"dependencies", 4, latest, dependencies},
		{"dependentRequired", 2019, latest, dependentRequired},
		{"dependentSchemas", 2019, latest, dependentSchemas},

		{"minItems", 4, latest, size(+1, "array")},
		{"maxItems", 4, latest, size(-1, "array")},
		{"uniqueItems", 4, latest, uniqueItems},
		{"prefixItems", 2020, latest, prefixItems},
		{"items", 4, 2019, itemsOrPrefix},
		{"additionalItems", 4, 2019, additionalItems},
		{"items", 2020, latest, items},
		{"contains", 6, latest, contains},
		{"minContains", 2019, latest, annotation(keyword.count)}, // contains reads it, as the next one
		{"maxContains", 2019, latest, annotation(keyword.count)},

		{"not", 4, latest, not},
		{"allOf", 4, latest, allOf},
		{"anyOf", 4, latest, anyOf},
		{"oneOf", 4, latest, oneOf},
		{"if", 7, latest, conditional},
		{"then", 7, latest, branch},
		{"else", 7, latest, branch},

		{"$schema", 4, latest, dialect},
		{"$ref", 4, latest, reference},
		{"$dynamicRef", 4, latest, reference},
		{"$recursiveRef", 4, latest, reference},
		{"$id", 4, latest, reference},
		{"id", 4, latest, reference},
		{"$anchor", 4, latest, reference},
		{"$dynamicAnchor", 4, latest, reference},
		{"definitions", 4, latest, annotation(keyword.named)},
		{"$defs", 2019, latest, annotation(keyword.named)},
		{"title", 4, latest, annotation(keyword.text)},
		{"description", 4, latest, annotation(keyword.text)},
		{"$comment", 7, latest, annotation(keyword.text)},
		{"format", 4, latest, annotation(keyword.text)},
		{"readOnly", 7, latest, annotation(keyword.flag)},
		{"writeOnly", 7, latest, annotation(keyword.flag)},
		{"deprecated", 2019, latest, annotation(keyword.flag)},
		{"examples", 7, latest, annotation(keyword.list)},
		{"contentEncoding", 7, latest, annotation(keyword.text)},
		{"contentMediaType", 7, latest, annotation(keyword.text)},
		{"contentSchema", 2019, latest, annotation(keyword.subschema)},

		{"unevaluatedProperties", 2019, latest, unevaluatedProperties},
		{"unevaluatedItems", 2019, latest, unevaluatedItems},
	}
}

// annotation is a keyword that checks nothing by itself, but whose value has a type.
func annotation[T any](read func(keyword) T) func(keyword) check {
	return func(k keyword) check {
		read(k)
		return nil
	}
}
