package expression_test

import (
	"testing"
)

// Costs determine which resources are withheld, so they change only on purpose: a lower cost lets authors take more of the manager's time,
// and a higher one withholds resources that were applied.
func TestCostsOfTemplates(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]int{
		``:                                     0,
		`text`:                                 504,
		`{{ 1 }}`:                              3846,
		`{{ .facts.os.family }}`:               4096,
		`{{ $x := 1 }}{{ $x }}`:                5054,
		`{{ $x := .facts }}{{ $x.os.family }}`: 5304,
		`{{ (.facts.os).family }}`:             5296,
		`{{ ((.facts).os).family }}`:           6496,
		`{{ if true }}a{{ else }}b{{ end }}`:   2426,
		`{{ with .facts }}{{ .os.family }}{{ end }}`:       5696,
		`{{ range 3 }}{{ . }}{{ end }}`:                    20410,
		`{{ range .facts.list }}{{ break }}{{ end }}`:      26120,
		`{{ eq "a" "b" "c" }}`:                             11486,
		`{{ add 1 }}`:                                      6866,
		`{{ add 1 2 3 }}`:                                  9306,
		`{{ list }}`:                                       5672,
		`{{ list 1 2 3 }}`:                                 10194,
		`{{ list (list 1 2) "c" | reverse | len }}`:        17062,
		`{{ upper "" }}`:                                   6840,
		`{{ upper "text" }}`:                               7104,
		`{{ toJson (dict "a" (list 1 "b")) }}`:             20222,
		`{{ until 5 | toJson }}`:                           13726,
		`{{ fromJson "[1]" | len }}`:                       15426,
		`{{ repeat 3 "" }}`:                                6420,
		`{{ repeat 3 "ab" }}`:                              6804,
		`{{ repeat -3 "ab" }}`:                             6420,
		`{{ indent 2 "a\nb" }}`:                            6958,
		`{{ nindent -2 "a" }}`:                             6566,
		`{{ until 0 | len }}`:                              6846,
		`{{ until -5 | len }}`:                             7426,
		`{{ untilStep 3 9 2 | len }}`:                      8342,
		`{{ seq }}`:                                        11484,
		`{{ seq 3 }}`:                                      12578,
		`{{ seq 2 5 }}`:                                    13534,
		`{{ seq 9 -3 2 }}`:                                 15698,
		`{{ printf "" }}`:                                  6020,
		`{{ printf "%s-%s" "a" "bc" }}`:                    9596,
		`{{ printf "%[1]s%[1]s" "abc" }}`:                  10908,
		`{{ printf "%10d%05d/:" 1 2 }}`:                    11346,
		`{{ printf "%*d" 3 1 }}`:                           72009370,
		`{{ replace "" "xy" "abc" }}`:                      7578,
		`{{ replace "a" "xyz" "aba" }}`:                    7376,
		`{{ join "--" (list "a" "b") }}`:                   15760,
		`{{ uniq (list "a" "b" "a") | len }}`:              19254,
		`{{ without (list "a" "b") "a" | len }}`:           14900,
		`{{ chunk 2 (list 1 2 3) | len }}`:                 14438,
		`{{ trimAll "xy" "xay" }}`:                         6682,
		`{{ regexMatch "" "" }}`:                           41124,
		`{{ regexMatch "a+" "caat" }}`:                     59147,
		`{{ regexFind "(a)(b)" "cab" }}`:                   95456,
		`{{ regexFindAll "a" "" -1 | len }}`:               105318,
		`{{ regexFindAll "(a)(b)?" "abca" -1 | len }}`:     422062,
		`{{ regexSplit "," "a,b" -1 | len }}`:              152574,
		`{{ regexReplaceAll "a" "banana" "$0$0" }}`:        268914,
		`{{ regexReplaceAllLiteral "a" "banana" "$0$0" }}`: 269190,
	} {
		if _, got, err := rendered(text); err != nil || got != want {
			t.Errorf("%s: got %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestCostsOfConditions(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]int{
		`true`:                            200,
		`!true`:                           784,
		`1 == 1`:                          1368,
		`"ab" == "c"`:                     1404,
		`"a" + "b" == ""`:                 2584,
		`[1] + [2, 3] == []`:              4570,
		`[1, 2].map(x, x + 1) == []`:      10256,
		`[[1, [2]], {"a": "b"}] == []`:    5960,
		`{"a": 1, "b": 2} == {}`:          3888,
		`facts.os.family == ""`:           1920,
		`facts["os"]["family"] == ""`:     1920,
		`has(facts.os)`:                   400,
		`facts.list.all(x, true)`:         5640,
		`facts.list[1] == "b"`:            2112,
		`facts.list == []`:                4548,
		`"a" in node.labels`:              2592,
		`1 in [1, 2]`:                     2696,
		`true ? true : false`:             600,
		`false || true`:                   600,
		`"abc".contains("b")`:             1416,
		`"abc".indexOf("bc") == 0`:        5230,
		`"abc".replace("b", "xyz") == ""`: 9158,
		`"abc".replace("", "x") == ""`:    9032,
		`["a", "b"].join("--") == ""`:     10848,
		`["a", "b"].join() == ""`:         8852,
		`"%s".format(["a"]) == ""`:        8610,
		`"abc".upperAscii() == ""`:        3354,
		`"a,b".split(",") == []`:          9520,
		`"".matches("")`:                  40200,
		`"abc".matches("b+")`:             57998,
		`bytes("abc") == b""`:             4470,
		`size("abc") == 3`:                1988,
		`timestamp("2026-01-01T00:00:00Z").getHours() == 0`: 5968,
	} {
		if _, got, err := holds(text); err != nil || got != want {
			t.Errorf("%s: got %v, %v; want %v", text, got, err, want)
		}
	}
}
