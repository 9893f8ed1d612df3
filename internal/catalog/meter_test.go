package catalog_test

import (
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
)

// rendered is what a template comes to on one node, or why it comes to nothing.
func rendered(t *testing.T, text string) string {
	t.Helper()
	result := catalog.Compile(catalog.Input{
		Nodes: []catalog.Node{node("web-1", "web")}, Resources: []v1alpha1.Resource{file("a", "/a", rendering(text))}, Kinds: kinds(),
	})
	for _, p := range result.Problems {
		return p.Reason + ": " + p.Message
	}
	return string(result.Nodes["web-1"].Spec.Entries[0].Attributes.Raw)
}

// Each would take gigabytes, or hours.
func TestATemplateThatMakesTooMuchIsCutOff(t *testing.T) {
	t.Parallel()

	const doubling = `{{ $x := "twenty characters or so" }}{{ range until 60 }}`
	for name, text := range map[string]string{
		"counting down":             `{{ seq -9000000000000000000 | len }}`,
		"counting down in a list":   `{{ until -9223372036854775808 | len }}`,
		"counting all numbers":      `{{ untilStep -9223372036854775808 9223372036854775807 1 | len }}`,
		"counting beyond all":       `{{ untilStep 9223372036854775000 9223372036854775807 1000 | len }}`,
		"doubling by printf":        doubling + `{{ $x = printf "%s%s" $x $x }}{{ end }}`,
		"doubling by print":         doubling + `{{ $x = print $x $x }}{{ end }}`,
		"doubling by cat":           doubling + `{{ $x = cat $x $x }}{{ end }}`,
		"doubling by join":          doubling + `{{ $x = join "" (list $x $x) }}{{ end }}`,
		"doubling by quote":         `{{ $x := "\"" }}{{ range until 60 }}{{ $x = quote $x }}{{ end }}`,
		"doubling lists":            doubling + `{{ $x = list $x $x }}{{ end }}{{ toJson $x }}`,
		"doubling dicts":            doubling + `{{ $x = dict "a" $x "b" $x }}{{ end }}{{ print $x }}`,
		"doubling by concat":        `{{ $x := list "a" }}{{ range until 60 }}{{ $x = concat $x $x }}{{ end }}`,
		"one text, many times":      `{{ $x := repeat 300000 "x" }}{{ printf "` + strings.Repeat("%[1]s", 10_000) + `" $x | len }}`,
		"many wide columns":         `{{ printf "` + strings.Repeat("%999999d", 10_000) + `" 1 | len }}`,
		"replacing all by all":      `{{ $x := repeat 300000 "x" }}{{ replace "x" $x $x | len }}`,
		"replacing what is between": `{{ $x := repeat 300000 "x" }}{{ replace "" $x $x | len }}`,
		"replacing by pattern":      `{{ $x := repeat 300000 "x" }}{{ regexReplaceAll "x" $x $x | len }}`,
		"matching a long pattern":   `{{ regexMatch (printf "%sy" (repeat 3000 "x?")) (repeat 300000 "x") }}`,
		"joining with much":         `{{ join (repeat 300000 "x") (until 300000) | len }}`,
		"wrapping with much":        `{{ $x := repeat 300000 "x" }}{{ wrapWith 1 $x $x | len }}`,
		"comparing all with all":    `{{ uniq (until 300000) | len }}`,
		"hashing without end":       `{{ $x := repeat 300000 "x" }}{{ range until 300000 }}{{ $y := sha512sum $x }}{{ end }}`,
		"keeping many":              `{{ define "more" }}{{ $x := repeat 300000 "x" }}{{ template "more" }}{{ end }}{{ template "more" }}`,
		"indenting what is deep":    `{{ $x := list }}{{ range until 20000 }}{{ $x = list $x }}{{ end }}{{ toPrettyJson $x | len }}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := rendered(t, text)
			if !strings.HasSuffix(got, "content is longer than 384 KiB") && !strings.HasSuffix(got, "its functions take or give too much: more than 64 MiB, or 16 in a when") {
				t.Errorf("it is not cut off: %.300s", got)
			}
		})
	}
}

func TestATemplateOfAnOrdinarySizeIsRendered(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]string{
		`{{ untilStep 1000000 1000003 1 | join "," }}`: `"1000000,1000001,1000002"`,
		`{{ seq 3 -1 1 }}`:      `"3 2 1"`,
		`{{ seq -2 }}`:          `"1 0 -1 -2"`,
		`{{ repeat -1 "x" }}ok`: `"ok"`,
		`{{ printf "%-5s|%[1]q" "a" }}{{ print 1 2 }}{{ html "<" | len }}`:                  `"a    |\"a\"1 24"`,
		`{{ list "b" "a" "b" | uniq | sortAlpha | join "," }}`:                              `"a,b"`,
		`{{ $l := list }}{{ range until 2000 }}{{ $l = append $l . }}{{ end }}{{ len $l }}`: `"2000"`,
		`{{ fail "no" }}`: "InvalidTemplate: cannot render contentTemplate on node web-1: line 1:3: executing \"contentTemplate\" at <fail \"no\">: error calling fail: no",
	} {
		if got := rendered(t, text); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// Each would take gigabytes, or hours, and CEL's own limit comes after the fact.
func TestAnExpressionThatMakesTooMuchIsCutOff(t *testing.T) {
	t.Parallel()

	hundred := `"` + strings.Repeat("x", 100) + `"`
	for name, expression := range map[string]string{
		"comparing lists of lists":           `[[1]]` + strings.Repeat(`.map(x, [x, x])`, 50) + `.all(x, x == x)`,
		"telling lists of lists apart":       `[[1]]` + strings.Repeat(`.map(x, [x, x])`, 50) + `.all(x, x != x)`,
		"looking for a list of lists":        `[[1]]` + strings.Repeat(`.map(x, [x, x])`, 50) + `.all(x, x in [x])`,
		"comparing maps of maps":             `[1]` + strings.Repeat(`.map(x, {1: x, 2: x})`, 50) + `.all(x, x == x)`,
		"comparing long lists":               `[[1]]` + strings.Repeat(`.map(x, x + x)`, 50) + `.all(x, x == x)`,
		"looking into many empty lists":      `[[1].filter(x, false)]` + strings.Repeat(`.map(x, x + x)`, 60) + `.all(x, !([1] in [x + x]) && !(1 in (x + [2])))`,
		"replacing by much":                  `"x"` + strings.Repeat(`.replace("x", `+hundred+`)`, 20) + ` == ""`,
		"replacing all by all":               `["x".replace("x", ` + hundred + `).replace("x", ` + hundred + `).replace("x", ` + hundred + `)].all(x, x.replace("", x) == "")`,
		"joining with much":                  `["x".replace("x", ` + hundred + `).replace("x", ` + hundred + `).replace("x", ` + hundred + `)].all(x, x.split("").join(x) == "")`,
		"formatting much again and again":    `["x"]` + strings.Repeat(`.map(x, "%s%s".format([x, x]))`, 60) + `.all(x, x == "")`,
		"quoting again and again":            `["\""]` + strings.Repeat(`.map(x, strings.quote(x))`, 60) + `.all(x, x == "")`,
		"looking for much in much":           `["x".replace("x", ` + hundred + `).replace("x", ` + hundred + `).replace("x", ` + hundred + `)].all(x, (x + x).indexOf(x + "y") == 0)`,
		"matching much against a long regex": `["x".replace("x", ` + hundred + `).replace("x", ` + hundred + `).replace("x", ` + hundred + `)].all(x, x.matches(x))`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := catalog.Compile(catalog.Input{Nodes: []catalog.Node{node("web-1", "web")}, Resources: []v1alpha1.Resource{file("a", "/a", when(expression))}, Kinds: kinds()})
			if name == "looking into many empty lists" {
				return // it is quick
			}
			for _, p := range result.Problems {
				if strings.Contains(p.Message, "too much") || strings.Contains(p.Message, "cost limit exceeded") {
					return
				}
			}
			t.Errorf("it is not cut off: %v", result.Problems)
		})
	}
}

func TestAnOrdinaryExpressionIsEvaluated(t *testing.T) {
	t.Parallel()

	for expression, want := range map[string]string{
		`dyn(1) == 1.0 && 1 != 2 && dyn([1, 2]) == [1.0, 2.0] && {"a": [1]} == {"a": [1]} && "a" != "b"`: "",
		`dyn(1) in [1.0, 2.0] && !(3 in [1, 2]) && "a" in {"a": 1} && !("b" in {"a": 1})`:                "",
		`facts.os.family == "Debian" && "os" in facts && !("x" in node.labels)`:                          "",
		`node.name.matches("^web-[0-9]+$") && matches(node.name, "web")`:                                 "",
		`node.name.replace("web", "db") == "db-1" && "aa".replace("a", "b", 1) == "ba"`:                  "",
		`["a", "b"].join(",") == "a,b" && ["a", "b"].join() == "ab"`:                                     "",
		`"%s-%d".format(["a", 1]) == "a-1" && strings.quote("a") == "\"a\""`:                             "",
		`"abca".indexOf("a") == 0 && "abca".indexOf("a", 1) == 3 && "abca".lastIndexOf("a") == 3`:        "",
		`facts.os.family.matches(facts.os)`:                                                              "no such overload",
		`facts.os.matches("x")`:                                                                          "no such overload",
		`facts.none == "x"`:                                                                              "no such key: none",
		`"x" in facts.os.family`:                                                                         "no such overload",
		`facts.os.family.replace("a", facts.os) == ""`:                                                   "no such overload",
	} {
		result := catalog.Compile(catalog.Input{Nodes: []catalog.Node{node("web-1", "web")}, Resources: []v1alpha1.Resource{file("a", "/a", when(expression))}, Kinds: kinds()})
		switch problems := result.Problems; {
		case want == "" && (len(problems) > 0 || len(result.Selected["File/a"]) != 1):
			t.Errorf("%s: selects %v, %v", expression, result.Selected, problems)
		case want != "" && (len(problems) != 1 || !strings.Contains(problems[0].Message, want)):
			t.Errorf("%s: got %v, want %s", expression, problems, want)
		}
	}
}
