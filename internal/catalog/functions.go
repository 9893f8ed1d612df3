package catalog

import (
	"maps"
	"slices"
	"text/template"

	sprig "github.com/Masterminds/sprig/v3"
)

// impure lists functions of sprig that would give another result the next time (clock,
// chance, the manager's environment or time zone), that change their arguments, which
// all nodes share, or that take long by intent.
func impure() []string {
	return []string{
		"env", "expandenv", "getHostByName",
		"ago", "date", "dateInZone", "dateModify", "date_in_zone", "date_modify", "durationRound", "htmlDate", "htmlDateInZone",
		"must_date_modify", "mustDateModify", "mustToDate", "now", "toDate", "unixEpoch",
		"randAlpha", "randAlphaNum", "randAscii", "randBytes", "randInt", "randNumeric", "shuffle", "uuidv4",
		"bcrypt", "htpasswd", "derivePassword", "encryptAES", "decryptAES", "buildCustomCert", "genCA", "genCAWithKey",
		"genPrivateKey", "genSelfSignedCert", "genSelfSignedCertWithKey", "genSignedCert", "genSignedCertWithKey",
		"set", "unset", "merge", "mergeOverwrite", "mustMerge", "mustMergeOverwrite",
	}
}

func pureFunctions() template.FuncMap {
	all := sprig.HermeticTxtFuncMap()
	for _, name := range impure() {
		delete(all, name)
	}
	all["keys"], all["values"] = sortedKeys, sortedValues
	bound(all)
	return all
}

// sortedKeys is sprig's keys, which gives them in any order.
func sortedKeys(dicts ...map[string]any) []string {
	var keys []string
	for _, d := range dicts {
		keys = append(keys, slices.Sorted(maps.Keys(d))...)
	}
	return keys
}

// sortedValues is sprig's values, by key.
func sortedValues(dict map[string]any) []any {
	var values []any
	for _, k := range slices.Sorted(maps.Keys(dict)) {
		values = append(values, dict[k])
	}
	return values
}

// bound limits the functions that make much out of a number: a slip of the finger in
// one template must not take the manager's memory.
func bound(all template.FuncMap) {
	if repeat, ok := all["repeat"].(func(int, string) string); ok {
		all["repeat"] = func(n int, s string) (string, error) {
			return bounded(max(n, 0), len(s), func() string { return repeat(max(n, 0), s) })
		}
	}
	for _, name := range []string{"indent", "nindent"} {
		if indent, ok := all[name].(func(int, string) string); ok {
			all[name] = func(n int, s string) (string, error) {
				return bounded(max(n, 0), 1+len(s), func() string { return indent(max(n, 0), s) })
			}
		}
	}
	if until, ok := all["until"].(func(int) []int); ok {
		all["until"] = func(n int) ([]int, error) { return counted(0, n, 1, func() []int { return until(n) }) }
	}
	if step, ok := all["untilStep"].(func(int, int, int) []int); ok {
		all["untilStep"] = func(from, to, by int) ([]int, error) {
			return counted(from, to, by, func() []int { return step(from, to, by) })
		}
	}
	if seq, ok := all["seq"].(func(...int) string); ok {
		all["seq"] = func(n ...int) (string, error) {
			from, to, by := sequence(n)
			return counted(from, to, by, func() string { return seq(n...) })
		}
	}
}

// sequence is what the arguments of seq mean.
func sequence(n []int) (from, to, by int) {
	switch len(n) {
	case 1:
		return 1, n[0], 1
	case 2:
		return n[0], n[1], 1
	case 3:
		return n[0], n[2], n[1]
	}
	return 0, 0, 0 // it gives nothing
}

// counted is for what counts from one number to another in steps.
func counted[T any](from, to, by int, do func() T) (T, error) {
	const largest = 1 << 53 // far enough from what an int can't hold
	for _, n := range []int{from, to, by} {
		if n > largest || n < -largest {
			var none T
			return none, errTooLong
		}
	}
	return bounded(max(to-from, from-to), 1, do)
}

func bounded[T any](n, each int, do func() T) (T, error) {
	if n > maxContent || n*each > maxContent {
		var none T
		return none, errTooLong
	}
	return do(), nil
}
