package expression_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/fettle-dev/fettle/internal/expression"
)

// variables returns the variables of a node.
func variables() map[string]any {
	return map[string]any{
		"facts": map[string]any{
			"os":         map[string]any{"family": "Debian"},
			"processors": map[string]any{"count": 4.0},
			"list":       []any{1.0, "b", 3.0, map[string]any{"x": "y"}},
			"text":       strings.Repeat("ab ", 1000),
		},
		"node": map[string]any{"name": "web-1", "labels": map[string]string{"role": "web"}, "annotations": map[string]string{}},
	}
}

// rendered renders a template.
func rendered(text string) (string, int, error) {
	t, err := expression.ParseTemplate(text)
	if err != nil {
		return "", 0, err
	}
	return t.Render(variables(), expression.MaxCost)
}

// holds evaluates a condition.
func holds(text string) (bool, int, error) {
	c, err := new(expression.Environment).CompileWhen(text)
	if err != nil {
		return false, 0, err
	}
	return c.Holds(variables(), expression.MaxCost)
}

// Without limits each would take gigabytes or hours.
func TestExpensiveTemplatesFail(t *testing.T) {
	t.Parallel()

	const doubling = `{{ $x := "twenty characters or so" }}{{ range until 60 }}`
	for name, text := range map[string]string{
		"counting down":                           `{{ seq -9000000000000000000 | len }}`,
		"counting down in a list":                 `{{ until -9223372036854775808 | len }}`,
		"counting all numbers":                    `{{ untilStep -9223372036854775808 9223372036854775807 1 | len }}`,
		"counting beyond all":                     `{{ untilStep 9223372036854775000 9223372036854775807 1000 | len }}`,
		"counting beyond 64 bits":                 `{{ repeat 35184372088832 (repeat 524288 "x") | len }}`,
		"indenting beyond 64 bits":                `{{ indent 10000000000000 (repeat 1000000 "\n") | len }}`,
		"doubling by printf":                      doubling + `{{ $x = printf "%s%s" $x $x }}{{ end }}`,
		"doubling by print":                       doubling + `{{ $x = print $x $x }}{{ end }}`,
		"doubling by cat":                         doubling + `{{ $x = cat $x $x }}{{ end }}`,
		"doubling by join":                        doubling + `{{ $x = join "" (list $x $x) }}{{ end }}`,
		"doubling by quote":                       `{{ $x := "\"" }}{{ range until 60 }}{{ $x = quote $x }}{{ end }}`,
		"doubling lists":                          doubling + `{{ $x = list $x $x }}{{ end }}{{ toJson $x }}`,
		"doubling dicts":                          doubling + `{{ $x = dict "a" $x "b" $x }}{{ end }}{{ print $x }}`,
		"doubling by concat":                      `{{ $x := list "a" }}{{ range until 60 }}{{ $x = concat $x $x }}{{ end }}`,
		"one text, many times":                    `{{ $x := repeat 300000 "x" }}{{ printf "` + strings.Repeat("%[1]s", 10_000) + `" $x | len }}`,
		"wide columns of a list":                  `{{ printf "%99999d" (until 1000) | len }}`,
		"precise numbers of a list":               `{{ printf "%.999f" $.facts.list | len }}{{ printf "%.99999f" (until 1000 | toJson | fromJson) | len }}`,
		"arithmetic on lists":                     `{{ $x := until 100000 }}{{ range 1000 }}{{ $y := max 1 $x }}{{ end }}`,
		"a large key":                             doubling + `{{ $x = list $x $x }}{{ end }}{{ dict $x 1 | len }}`,
		"a large index":                           doubling + `{{ $x = list $x $x }}{{ end }}{{ slice (list 1) $x | len }}`,
		"a large number":                          doubling + `{{ $x = list $x $x }}{{ end }}{{ add 1 $x }}`,
		"many wide columns":                       `{{ printf "` + strings.Repeat("%999999d", 5_000) + `" 1 | len }}`,
		"replacing each character by a long text": `{{ $x := repeat 300000 "x" }}{{ replace "x" $x $x | len }}`,
		"replacing what is between":               `{{ $x := repeat 300000 "x" }}{{ replace "" $x $x | len }}`,
		"replacing by pattern":                    `{{ $x := repeat 300000 "x" }}{{ regexReplaceAll "x" $x $x | len }}`,
		"matching a long pattern":                 `{{ regexMatch (printf "%sy" (repeat 100 "x?")) (repeat 300000 "x") }}`,
		"looking ahead to replace":                `{{ regexReplaceAll "x*y|x" (repeat 300000 "x") "" | len }}`,
		"looking ahead to find":                   `{{ regexFindAll "x*y|x" (repeat 300000 "x") -1 | len }}`,
		"looking ahead to split":                  `{{ regexSplit "x*y|x" (repeat 300000 "x") -1 | len }}`,
		"expanding without end":                   `{{ regexReplaceAll "x+" (repeat 100000 "x") (repeat 100000 "$0") | len }}`,
		"folding again and again":                 `{{ range 1000 }}{{ $m := regexMatch "(?i)[\\x{100}-\\x{1e943}]" "a" }}{{ end }}`,
		"classes again and again":                 `{{ range 1000 }}{{ $m := regexMatch "[\\pL\\pN\\pS\\pM]" "a" }}{{ end }}`,
		"joining with a long separator":           `{{ join (repeat 300000 "x") (until 300000) | len }}`,
		"trimming all by all":                     `{{ $x := repeat 300000 "ä" }}{{ trimAll $x $x | len }}`,
		"looping":                                 `{{ range 1000000000 }}{{ end }}`,
		"looping over bytes":                      `{{ $x := 1 }}{{ range 20 }}{{ range (index "~" 0) }}` + strings.Repeat(`{{ if $x }}{{ end }}`, 800) + `{{ end }}{{ end }}`,
		"looping over lists":                      `{{ $x := until 1000 }}` + strings.Repeat(`{{ range $x }}`, 5) + strings.Repeat(`{{ end }}`, 5),
		"looping over maps":                       strings.Repeat(`{{ range $.facts }}`, 14) + strings.Repeat(`{{ end }}`, 14),
		"looping in else":                         `{{ range list }}{{ else }}{{ range 10000 }}{{ range 10000 }}{{ end }}{{ end }}{{ end }}`,
		"nested loops":                            strings.Repeat(`{{ range 1000 }}`, 5) + strings.Repeat(`{{ end }}`, 5),
		"comparing long texts":                    `{{ $x := repeat 300000 "x" }}{{ $y := print $x }}{{ range 100000 }}{{ $z := eq $x $y }}{{ end }}`,
		"sorting a map to leave it":               `{{ range 100000 }}{{ range $.facts }}{{ break }}{{ end }}{{ end }}`,
		"writing much":                            `{{ range 10000 }}{{ $.facts.text }}{{ end }}`,
		"comparing all with all":                  `{{ uniq (until 300000) | len }}`,
		"hashing without end":                     `{{ $x := repeat 300000 "x" }}{{ range until 300000 }}{{ $y := sha512sum $x }}{{ end }}`,
		"looking for variables":                   `{{$b:=1}}` + strings.Repeat(`{{$a:=1}}`, 5000) + `{{range 6}}` + strings.Repeat(`{{$b}}`, 1000) + `{{end}}`,
		"assigning variables":                     `{{$b:=1}}` + strings.Repeat(`{{$a:=1}}`, 5000) + `{{range 6}}` + strings.Repeat(`{{$b = 1}}`, 1000) + `{{end}}`,
		"indenting what is deep":                  `{{ $x := list }}{{ range until 20000 }}{{ $x = list $x }}{{ end }}{{ toPrettyJson $x | len }}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, cost, err := rendered(text); !errors.Is(err, expression.ErrTooCostly) && !errors.Is(err, expression.ErrTooLong) {
				t.Errorf("got %.100q at %v and the error %.200v, want it to exceed a limit", got, cost, err)
			}
		})
	}
}

func TestOrdinaryTemplatesRender(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]string{
		`{{ untilStep 1000000 1000003 1 | join "," }}`: "1000000,1000001,1000002",
		`{{ seq 3 -1 1 }}`:      "3 2 1",
		`{{ seq -2 }}`:          "1 0 -1 -2",
		`{{ repeat -1 "x" }}ok`: "ok",
		`{{ printf "%-5s|%[1]q" "a" }}{{ print 1 2 }}{{ html "<" | len }}`:                                   `a    |"a"1 24`,
		`{{ list "b" "a" "b" | uniq | sortAlpha | join "," }}`:                                               "a,b",
		`{{ $l := list }}{{ range until 300 }}{{ $l = append $l . }}{{ end }}{{ len $l }}`:                   "300",
		`{{ .node.labels }} {{ .facts.list }} {{ get (dict) "none" }}`:                                       "map[role:web] [1 b 3 map[x:y]] ",
		`{{ dict "a" nil | values }}{{ with .facts.os }}{{ .family }}{{ end }}`:                              "[<nil>]Debian",
		`{{ range $k, $v := .facts.os }}{{ $k }}={{ $v }}{{ else }}none{{ end }}`:                            "family=Debian",
		`{{ range 3 }}{{ if eq . 1 }}{{ continue }}{{ end }}{{ . }}{{ end }}`:                                "02",
		`{{ if and (eq .facts.processors.count 4.0) (lt 1 2) (ne "a" "b") }}yes{{ end }}`:                    "yes",
		`{{ index .facts.list 1 }}{{ (index .facts.list 3).x }}{{ .facts.os.family | lower | eq "debian" }}`: "bytrue",
		`{{ indent 2 "a\nb" }}{{ nindent 1 "c" }}`:                                                           "  a\n  b\n c",
		`{{ regexReplaceAll "a(x*)b" "-ab-axxb-" "${1}W" }}`:                                                 "-W-xxW-",
		`{{ regexMatch "^web-[0-9]+$" .node.name }}`:                                                         "true",
		`{{ "{\"a\": [1, \"b\"]}" | fromJson | toJson }}`:                                                    `{"a":[1,"b"]}`,
		`{{- /* nothing */ -}}`:                                    "",
		`{{ keys .facts | join " " }}`:                             "list os processors text",
		`{{ semverCompare ">=1.2" "1.3.0" }} {{ default "x" "" }}`: "true x",
	} {
		if got, _, err := rendered(text); err != nil || got != want {
			t.Errorf("%s: got %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestTemplateErrorsHaveALocation(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]string{
		`{{ fail "no" }}`:                     `line 1:3: executing "contentTemplate" at <fail "no">: error calling fail: no`,
		"\n{{ .node.none }}":                  `line 2:8: executing "contentTemplate" at <.node.none>: map has no entry for key "none"`,
		`{{ if eq .node.none "x" }}{{ end }}`: `line 1:14: executing "contentTemplate" at <.node.none>: map has no entry for key "none"`,
		`{{ now }}`:                           `line 1: function "now" not defined`,
		`{{ call .x }}`:                       "function call is not available: no value is a function",
		`{{ regexMatch "x{1000}" "" }}`:       `line 1:3: executing "contentTemplate" at <regexMatch "x{1000}" "">: error calling regexMatch: regular expression "x{1000}" is too large: it may come to 1000 instructions, and a repetition such as x{100} is 100 of them`,
		`{{ regexMatch "(" "" }}`:             "line 1:3: executing \"contentTemplate\" at <regexMatch \"(\" \"\">: error calling regexMatch: error parsing regexp: missing closing ): `(`",
		strings.Repeat("x", 65<<10):           "it is 65 KiB long, and the limit is 64: use contentFrom for text that needs no template",
		strings.Repeat("{{ if 1 }}", 65) + strings.Repeat("{{ end }}", 65):      "if, with, range and parentheses are nested more than 64 deep: split the content into several files",
		"{{ " + strings.Repeat("(", 70) + "1" + strings.Repeat(")", 70) + " }}": "parentheses are nested more than 64 deep: assign parts to variables",
	} {
		if _, _, err := rendered(text); err == nil || err.Error() != want {
			t.Errorf("%.60s: got %v, want %s", text, err, want)
		}
	}
}

// Recursion within if, with or range would grow the stack until the process ends.
func TestTemplatesCannotDefineOthers(t *testing.T) {
	t.Parallel()

	for _, text := range []string{
		`{{ define "a" }}{{ if true }}{{ template "a" . }}{{ end }}{{ end }}{{ template "a" . }}`,
		`{{ define "a" }}` + strings.Repeat(`{{ with 1 }}`, 50) + `{{ template "b" }}` + strings.Repeat(`{{ end }}`, 50) + `{{ end }}{{ define "b" }}{{ template "a" }}{{ end }}{{ template "a" }}`,
		`{{ if true }}{{ template "contentTemplate" . }}{{ end }}`,
		`{{ block "a" . }}{{ template "contentTemplate" . }}{{ end }}`,
		`{{ block "a" . }}x{{ end }}`,
		`{{ define "a" }}x{{ end }}`,
		`{{ range 2 }}{{ if 1 }}{{ with 1 }}{{ else }}{{ template "contentTemplate" }}{{ end }}{{ end }}{{ end }}`,
	} {
		if _, _, err := rendered(text); err == nil || !strings.HasPrefix(err.Error(), "define, template and block are not available") {
			t.Errorf("%.100s: got %v, want it to be refused", text, err)
		}
	}
}

// Without limits each would take gigabytes or hours.
func TestExpensiveConditionsFail(t *testing.T) {
	t.Parallel()

	hundred := `"` + strings.Repeat("x", 100) + `"`
	million := `["x".replace("x", ` + hundred + `).replace("x", ` + hundred + `).replace("x", ` + hundred + `)]`
	ten := `[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]`
	wide := `[[` + strings.Repeat("1,", 50) + `1]]`
	for name, text := range map[string]string{
		"nested loops":                            strings.Repeat(ten+`.all(x, `, 8) + "true" + strings.Repeat(")", 8),
		"looping over errors":                     strings.Repeat(ten+`.exists(x, `, 8) + "facts.none" + strings.Repeat(")", 8) + " || true",
		"an error hidden by ||":                   strings.Repeat(ten+`.all(x, `, 8) + "true" + strings.Repeat(")", 8) + " || true",
		"comparing lists of lists":                wide + strings.Repeat(`.map(x, [x, x, x, x, x, x, x, x])`, 7) + `.all(x, x == x)`,
		"comparing lists of lists for inequality": wide + strings.Repeat(`.map(x, [x, x, x, x, x, x, x, x])`, 7) + `.all(x, x != x)`,
		"searching for a list of lists":           wide + strings.Repeat(`.map(x, [x, x, x, x, x, x, x, x])`, 7) + `.all(x, x in [x])`,
		"comparing maps of maps":                  wide + strings.Repeat(`.map(x, {1: x, 2: x, 3: x, 4: x})`, 7) + `.all(x, x == x)`,
		"growing lists":                           wide + strings.Repeat(`.map(x, x + x + x + x)`, 7) + `.all(x, x == x)`,
		"replacing by much":                       `"x"` + strings.Repeat(`.replace("x", `+hundred+`)`, 20) + ` == ""`,
		"replacing each character by a long text": million + `.all(x, x.replace("", x) == "")`,
		"folding again and again":                 `facts.text.split("").all(x, x.matches("(?i)[\\x{100}-\\x{1e943}]" + "") || true)`,
		"joining with a long separator":           million + `.all(x, x.split("").join(x) == "")`,
		"formatting repeatedly":                   million + strings.Repeat(`.map(x, "%s%s%s%s%s".format([x, x, x, x, x]))`, 7) + `.all(x, x == "")`,
		"quoting repeatedly":                      million + strings.Repeat(`.map(x, strings.quote(x + "\""))`, 7) + `.all(x, x == "")`,
		"searching a long text for a long text":   million + `.all(x, (x + x).indexOf(x + "y") == 0)`,
		"counting repeatedly":                     million + `.all(x, ` + ten + `.all(y, ` + ten + `.all(z, ` + ten + `.all(z, size(x) == 1000000))))`,
		"converting repeatedly":                   million + `.all(x, ` + ten + `.all(y, ` + ten + `.all(z, ` + ten + `.all(z, size(bytes(x)) == 1000000))))`,
		"iterating over long lists":               wide + `.all(x, x.all(y, x.all(z, x.all(u, true))))`,
		"matching much again and again":           `facts.list.all(x, ` + ten + `.all(x, ` + ten + `.all(x, ` + ten + `.all(x, !facts.text.matches("(x+x+)+y")))))`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, cost, err := holds(text); !errors.Is(err, expression.ErrTooCostly) {
				t.Errorf("got %v at %v and the error %.300v, want it to exceed a limit", got, cost, err)
			}
		})
	}
}

func TestConditionsThatAreExpensiveToCompileAreRejected(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]string{
		strings.Repeat(`[1].all(x, `, 9) + "true" + strings.Repeat(")", 9): "all, exists, map and filter are nested more than 8 deep: use several resources, or label nodes",
		`[1]` + strings.Repeat(`.map(x, x)`, 9) + ` == []`:                 "all, exists, map and filter are nested more than 8 deep: use several resources, or label nodes",
		`[[[[[[[1]]]]]]] == []`:                                            "lists and maps are nested more than 6 deep: compare their parts",
		`[1].map(x, {x: x}) == []`:                                         "a key of a map is computed: write it out",
		`[` + strings.Repeat("[],", 101) + `] == []`:                       "it has too many calls, macros and elements of lists: compare with a list by in, use several resources, or label nodes",
		`"` + strings.Repeat("x", 4096) + `" == ""`:                        "it is 4104 bytes long, and the limit is 4096: select by labels, or split the resource",
		strings.Repeat("(", 100) + "true" + strings.Repeat(")", 100):       "expression recursion limit exceeded: 64",
		`timestamp("2026-01-01T00:00:00Z").getHours("Europe/Berlin") == 1`: "line 1, column 43: found no matching overload for 'getHours' applied to 'timestamp.(string)'",
		`"%.1000f".format([1.0]) == ""`:                                    "line 1, column 17: could not parse formatting clause: error while parsing precision: precision 1000 exceeds maximum allowed precision 100",
	} {
		if _, _, err := holds(text); err == nil || err.Error() != want {
			t.Errorf("%.80s: got %v, want %s", text, err, want)
		}
	}
}

func TestOrdinaryConditionsHold(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]string{
		`dyn(1) == 1.0 && 1 != 2 && dyn([1, 2]) == [1.0, 2.0] && {"a": [1]} == {"a": [1]} && "a" != "b"`: "",
		`dyn(1) in [1.0, 2.0] && !(3 in [1, 2]) && "a" in {"a": 1} && !("b" in {"a": 1})`:                "",
		`facts.os.family == "Debian" && "os" in facts && !("x" in node.labels)`:                          "",
		`node.name.matches("^web-[0-9]+$") && matches(node.name, "web")`:                                 "",
		`node.name.replace("web", "db") == "db-1" && "aa".replace("a", "b", 1) == "ba"`:                  "",
		`["a", "b"].join(",") == "a,b" && ["a", "b"].join() == "ab"`:                                     "",
		`"%s-%d".format(["a", 1]) == "a-1" && strings.quote("a") == "\"a\""`:                             "",
		`"abca".indexOf("a") == 0 && "abca".indexOf("a", 1) == 3 && "abca".lastIndexOf("a") == 3`:        "",
		`has(facts.os.family) && !has(facts.os.none) && facts.list[3].x == "y"`:                          "",
		`facts[node.name == "web-1" ? "os" : "none"].family == "Debian" && facts["os"]["family"] != ""`:  "",
		`facts.list.exists(x, x == "b") && facts.list.filter(x, x == "b").size() == 1`:                   "",
		`facts.list.exists_one(x, x == "b") && [1, 2].map(x, x * 2) == [2, 4] && [1] + [2] == [1, 2]`:    "",
		`node.labels.all(k, k == "role") && (facts.none || true) && facts.processors.count >= 4`:         "",
		`timestamp("2026-01-01T10:00:00Z").getHours() == 10 && duration("1h") > duration("1m")`:          "",
		`facts.os.family.matches(facts.os)`:                                                              "no such overload",
		`facts.os.matches("x")`:                                                                          "no such overload",
		`facts.none == "x"`:                                                                              "no such key: none",
		`"x" in facts.os.family`:                                                                         "no such overload",
		`facts.os.family.replace("a", facts.os) == ""`:                                                   "no such overload",
	} {
		got, _, err := holds(text)
		switch {
		case want == "" && (err != nil || !got):
			t.Errorf("%s: got %v, %v", text, got, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// Templates are retained by the thousand: each has its text, not the functions of all.
func TestTemplatesShareTheirFunctions(t *testing.T) {
	const n = 300
	var before, after runtime.MemStats
	all := make([]*expression.Template, n)
	parse := func() {
		for i := range all {
			var err error
			if all[i], err = expression.ParseTemplate(fmt.Sprintf(`{{ upper .name }} %d{{ if false }}{{ fail "x" }}{{ end }}`, i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&before)
	parse()
	runtime.GC()
	runtime.ReadMemStats(&after)
	if kept := int(after.HeapAlloc) - int(before.HeapAlloc); kept > n*20<<10 {
		t.Errorf("%d templates keep %d KiB", n, kept>>10)
	}
	var group sync.WaitGroup
	for i, each := range all {
		group.Go(func() {
			text, _, err := each.Render(map[string]any{"name": "web"}, expression.MaxCost)
			if want := fmt.Sprintf("WEB %d", i); text != want || err != nil {
				t.Errorf("%q, %v instead of %q", text, err, want)
			}
		})
	}
	group.Wait()
}
