package pkg_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	pkg "github.com/fettle-dev/fettle/providers/package"
)

func TestValidation(t *testing.T) {
	t.Parallel()

	for attributes, want := range map[string]string{
		`{}`:                                   "",
		`{"ensure":"installed"}`:               "",
		`{"ensure":"2:1.0~rc1+dfsg-1ubuntu2"}`: "",
		`{"ensure":"purged","mark":"none"}`:    "",
		`{"environment":["http_proxy="]}`:      "",
		`{"name":"-y"}`:                        `name "-y" is not a package's: it must not be empty, begin with - or contain white space`,
		`{"name":"a b"}`:                       `name "a b" is not a package's: it must not be empty, begin with - or contain white space`,
		`{"ensure":">=1.0 <2.0"}`:              "",
		`{"ensure":"=1.0"}`:                    "",
		`{"ensure":">=1.0 <2.0 <3"}`:           `cannot read ensure: ">=1.0 <2.0 <3" is not a range of versions: use one or two bounds, such as >=1.0 <2.0`,
		`{"ensure":">2.0 <1.0"}`:               `cannot read ensure: no version is in the range ">2.0 <1.0": swap its bounds`,
		`{"source":"/srv/a.deb"}`:              "",
		`{"source":"a.deb"}`:                   `source "a.deb" is not the path of a package: use an absolute path that ends in .deb`,
		`{"source":"-o.deb"}`:                  `source "-o.deb" is not the path of a package: use an absolute path that ends in .deb`,
		`{"source":"/srv/a.rpm"}`:              `source "/srv/a.rpm" is not the path of a package: use an absolute path that ends in .deb`,
		`{"mark":"manual"}`:                    `mark "manual" is not known: use hold or none`,
		`{"configFiles":"ask"}`:                `configFiles "ask" is not known: use keep or replace`,
		`{"version":"1.0"}`: `cannot read attributes of Package/tree: json: unknown field "version"; ` +
			`Package has: name, ensure, mark, installOptions, uninstallOptions, source, responseFile, allowVirtual, reinstallOnRefresh, configFiles, environment`,
	} {
		_, err := bound.Kind(pkg.Type(pkg.DefaultLock())).Bind(resource.Ref{Kind: "Package", Name: "tree"}, json.RawMessage(attributes))
		got := ""
		if err != nil {
			got = err.Error()
		}
		expect(t, []string{attributes, want}, []string{attributes, got})
	}
}

func TestPackageRequiresItsFiles(t *testing.T) {
	t.Parallel()

	const attributes = `{"source":"/srv/tree.deb","responseFile":"/srv/answers"}`
	r, err := bound.Kind(pkg.Type(pkg.DefaultLock())).Bind(resource.Ref{Kind: "Package", Name: "tree"}, json.RawMessage(attributes))
	if err != nil {
		t.Fatal(err)
	}
	want := []resource.Relation{{Relation: resource.Require, Kind: "File", Names: []string{"/srv/tree.deb", "/srv/answers"}}}
	if diff := cmp.Diff(want, r.Relations()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
