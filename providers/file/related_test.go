package file_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/providers/file"
)

func TestOtherResourcesDoNotSeeHiddenContent(t *testing.T) {
	t.Parallel()

	secret := resource.Secret{Attribute: "content", Value: "s3cret"}
	for name, tt := range map[string]struct {
		attributes string
		secrets    []resource.Secret
		should     map[string]string
		omitted    []string
	}{
		"content":                  {`{"content":"hello","mode":"0600"}`, nil, map[string]string{"ensure": `"file"`, "content": `"hello"`, "mode": `"0600"`}, nil},
		"content from a Secret":    {`{"mode":"0600"}`, []resource.Secret{secret}, map[string]string{"ensure": `"file"`, "mode": `"0600"`}, []string{"content"}},
		"content that has no diff": {`{"content":"s3cret","showDiff":false}`, nil, map[string]string{"ensure": `"file"`}, []string{"content"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			r, err := bound.Kind(file.Type(nil)).Bind(resource.Ref{Kind: "File", Name: "a"}, json.RawMessage(`{"path":"/a",`+tt.attributes[1:]), tt.secrets...)
			if err != nil {
				t.Fatal(err)
			}
			want := resource.Related{Kind: "File", Name: "/a", Should: map[string]json.RawMessage{}, Omitted: tt.omitted}
			for name, value := range tt.should {
				want.Should[name] = json.RawMessage(value)
			}
			if diff := cmp.Diff(want, r.Desired()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
