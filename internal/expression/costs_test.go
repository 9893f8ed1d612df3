package expression_test

import (
	"testing"

	"github.com/fettle-dev/fettle/internal/expression"
)

// Costs decide what is withheld, on every machine the same. A price changes on purpose: a lower one lets an author take
// more of the manager than it says, and a higher one withholds what was applied.
func TestCostsOfTemplates(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]expression.Cost{
		``:                                     {Time: 400, Bytes: 48},
		`text`:                                 {Time: 680, Bytes: 84},
		`{{ 1 }}`:                              {Time: 2198, Bytes: 843},
		`{{ .facts.os.family }}`:               {Time: 2635, Bytes: 906},
		`{{ $x := 1 }}{{ $x }}`:                {Time: 3156, Bytes: 915},
		`{{ $x := .facts }}{{ $x.os.family }}`: {Time: 3593, Bytes: 978},
		`{{ (.facts.os).family }}`:             {Time: 3235, Bytes: 978},
		`{{ ((.facts).os).family }}`:           {Time: 3835, Bytes: 1050},
		`{{ if true }}a{{ else }}b{{ end }}`:   {Time: 1620, Bytes: 195},
		`{{ with .facts }}{{ .os.family }}{{ end }}`:       {Time: 3635, Bytes: 1026},
		`{{ range 3 }}{{ . }}{{ end }}`:                    {Time: 8794, Bytes: 3161},
		`{{ range .facts.list }}{{ break }}{{ end }}`:      {Time: 5809, Bytes: 1152},
		`{{ eq "a" "b" "c" }}`:                             {Time: 6424, Bytes: 2418},
		`{{ add 1 }}`:                                      {Time: 3448, Bytes: 1331},
		`{{ add 1 2 3 }}`:                                  {Time: 3948, Bytes: 1507},
		`{{ list }}`:                                       {Time: 3218, Bytes: 1246},
		`{{ list 1 2 3 }}`:                                 {Time: 4902, Bytes: 2437},
		`{{ list (list 1 2) "c" | reverse | len }}`:        {Time: 8998, Bytes: 3291},
		`{{ upper "" }}`:                                   {Time: 3556, Bytes: 1584},
		`{{ upper "text" }}`:                               {Time: 3668, Bytes: 1660},
		`{{ toJson (dict "a" (list 1 "b")) }}`:             {Time: 9188, Bytes: 4431},
		`{{ until 5 | toJson }}`:                           {Time: 5960, Bytes: 3673},
		`{{ fromJson "[1]" | len }}`:                       {Time: 9448, Bytes: 2779},
		`{{ repeat 3 "" }}`:                                {Time: 3578, Bytes: 1288},
		`{{ repeat 3 "ab" }}`:                              {Time: 3782, Bytes: 1378},
		`{{ repeat -3 "ab" }}`:                             {Time: 3578, Bytes: 1288},
		`{{ indent 2 "a\nb" }}`:                            {Time: 3866, Bytes: 1413},
		`{{ nindent -2 "a" }}`:                             {Time: 3656, Bytes: 1322},
		`{{ until 0 | len }}`:                              {Time: 3798, Bytes: 1315},
		`{{ until -5 | len }}`:                             {Time: 3898, Bytes: 1555},
		`{{ untilStep 3 9 2 | len }}`:                      {Time: 4318, Bytes: 1651},
		`{{ seq }}`:                                        {Time: 6258, Bytes: 2632},
		`{{ seq 3 }}`:                                      {Time: 6658, Bytes: 2903},
		`{{ seq 2 5 }}`:                                    {Time: 6986, Bytes: 3141},
		`{{ seq 9 -3 2 }}`:                                 {Time: 7458, Bytes: 3911},
		`{{ printf "" }}`:                                  {Time: 3378, Bytes: 1264},
		`{{ printf "%s-%s" "a" "bc" }}`:                    {Time: 5314, Bytes: 1932},
		`{{ printf "%[1]s%[1]s" "abc" }}`:                  {Time: 6062, Bytes: 2290},
		`{{ printf "%10d%05d/:" 1 2 }}`:                    {Time: 5966, Bytes: 2211},
		`{{ printf "%*d" 3 1 }}`:                           {Time: 20005190, Bytes: 8001881},
		`{{ replace "" "xy" "abc" }}`:                      {Time: 4182, Bytes: 1489},
		`{{ replace "a" "xyz" "aba" }}`:                    {Time: 4076, Bytes: 1441},
		`{{ join "--" (list "a" "b") }}`:                   {Time: 7562, Bytes: 3660},
		`{{ uniq (list "a" "b" "a") | len }}`:              {Time: 9542, Bytes: 4267},
		`{{ without (list "a" "b") "a" | len }}`:           {Time: 7508, Bytes: 3107},
		`{{ chunk 2 (list 1 2 3) | len }}`:                 {Time: 7598, Bytes: 2755},
		`{{ trimAll "xy" "xay" }}`:                         {Time: 3722, Bytes: 1347},
		`{{ regexMatch "" "" }}`:                           {Time: 26958, Bytes: 6948},
		`{{ regexMatch "a+" "caat" }}`:                     {Time: 36533, Bytes: 11164},
		`{{ regexFind "(a)(b)" "cab" }}`:                   {Time: 54826, Bytes: 20174},
		`{{ regexFindAll "a" "" -1 | len }}`:               {Time: 59198, Bytes: 16951},
		`{{ regexFindAll "(a)(b)?" "abca" -1 | len }}`:     {Time: 123430, Bytes: 47215},
		`{{ regexSplit "," "a,b" -1 | len }}`:              {Time: 61780, Bytes: 17467},
		`{{ regexReplaceAll "a" "banana" "$0$0" }}`:        {Time: 69256, Bytes: 19735},
		`{{ regexReplaceAllLiteral "a" "banana" "$0$0" }}`: {Time: 69340, Bytes: 19777},
	} {
		if _, got, err := rendered(text); err != nil || got != want {
			t.Errorf("%s: got %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestCostsOfConditions(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]expression.Cost{
		`true`:                            {Time: 150, Bytes: 32},
		`!true`:                           {Time: 578, Bytes: 224},
		`1 == 1`:                          {Time: 856, Bytes: 384},
		`"ab" == "c"`:                     {Time: 868, Bytes: 396},
		`"a" + "b" == ""`:                 {Time: 1446, Bytes: 554},
		`[1] + [2, 3] == []`:              {Time: 3070, Bytes: 1344},
		`[1, 2].map(x, x + 1) == []`:      {Time: 5838, Bytes: 1856},
		`[[1, [2]], {"a": "b"}] == []`:    {Time: 4160, Bytes: 1832},
		`{"a": 1, "b": 2} == {}`:          {Time: 2676, Bytes: 1192},
		`facts.os.family == ""`:           {Time: 1180, Bytes: 472},
		`facts["os"]["family"] == ""`:     {Time: 1180, Bytes: 472},
		`has(facts.os)`:                   {Time: 150, Bytes: 32},
		`facts.list.all(x, true)`:         {Time: 3950, Bytes: 864},
		`facts.list[1] == "b"`:            {Time: 1164, Bytes: 456},
		`facts.list == []`:                {Time: 1986, Bytes: 1260},
		`"a" in node.labels`:              {Time: 1344, Bytes: 720},
		`1 in [1, 2]`:                     {Time: 1812, Bytes: 800},
		`true ? true : false`:             {Time: 450, Bytes: 96},
		`false || true`:                   {Time: 450, Bytes: 96},
		`"abc".contains("b")`:             {Time: 872, Bytes: 400},
		`"abc".indexOf("bc") == 0`:        {Time: 1870, Bytes: 2136},
		`"abc".replace("b", "xyz") == ""`: {Time: 2426, Bytes: 940},
		`"abc".replace("", "x") == ""`:    {Time: 2434, Bytes: 948},
		`["a", "b"].join("--") == ""`:     {Time: 3454, Bytes: 1856},
		`["a", "b"].join() == ""`:         {Time: 3256, Bytes: 1800},
		`"%s".format(["a"]) == ""`:        {Time: 3450, Bytes: 2548},
		`"abc".upperAscii() == ""`:        {Time: 1448, Bytes: 1300},
		`"a,b".split(",") == []`:          {Time: 2214, Bytes: 2408},
		`"".matches("")`:                  {Time: 24750, Bytes: 6144},
		`"abc".matches("b+")`:             {Time: 33950, Bytes: 10312},
		`bytes("abc") == b""`:             {Time: 1448, Bytes: 1300},
		`size("abc") == 3`:                {Time: 1296, Bytes: 588},
		`timestamp("2026-01-01T00:00:00Z").getHours() == 0`: {Time: 2128, Bytes: 2528},
	} {
		if _, got, err := holds(text); err != nil || got != want {
			t.Errorf("%s: got %v, %v; want %v", text, got, err, want)
		}
	}
}
