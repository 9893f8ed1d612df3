package pkg_test

import (
	"encoding/json"
	"testing"

	"github.com/fettle-dev/fettle/internal/resource"
	pkg "github.com/fettle-dev/fettle/providers/package"
)

func TestWhatAPackageMaySay(t *testing.T) {
	t.Parallel()

	for attributes, want := range map[string]string{
		`{}`:                                   "",
		`{"ensure":"installed"}`:               "",
		`{"ensure":"2:1.0~rc1+dfsg-1ubuntu2"}`: "",
		`{"ensure":"purged","mark":"none"}`:    "",
		`{"environment":["http_proxy="]}`:      "",
		`{"name":"-y"}`:                        `name "-y" is not a package's: it must not be empty, begin with - nor have white space in it`,
		`{"name":"a b"}`:                       `name "a b" is not a package's: it must not be empty, begin with - nor have white space in it`,
		`{"ensure":">=1.0 <2.0"}`:              `ensure ">=1.0 <2.0" is none of present, installed, latest, absent, purged and no version: use one of these`,
		`{"ensure":""}`:                        `ensure "" is none of present, installed, latest, absent, purged and no version: use one of these`,
		`{"mark":"manual"}`:                    `mark "manual" is not known: use hold or none`,
		`{"configFiles":"ask"}`:                `configFiles "ask" is not known: use keep or replace`,
		`{"environment":["A=b","hunter2"]}`:    `environment has no KEY=value as entry 2: write one, as in http_proxy=http://proxy:3128`,
		`{"ensure":"absent","mark":"hold"}`:    `mark "hold" can't go with ensure "absent", where nothing is left to hold: leave one of them out`,
		`{"version":"1.0"}`: `cannot read attributes of Package/tree: json: unknown field "version"; ` +
			`Package has: name, ensure, mark, installOptions, uninstallOptions, configFiles, environment`,
	} {
		_, err := pkg.Type().Erase().Bind(resource.Ref{Kind: "Package", Name: "tree"}, json.RawMessage(attributes))
		got := ""
		if err != nil {
			got = err.Error()
		}
		expect(t, []string{attributes, want}, []string{attributes, got})
	}
}
