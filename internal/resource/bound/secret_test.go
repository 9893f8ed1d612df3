package bound_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
)

// locked returns a type of lamps whose code may come from a Secret and must not be short.
func locked() *resource.Type[lamp] {
	t := lamps(plain{name: "plain"})
	t.Secrets = map[string]func(*lamp, string){"code": func(a *lamp, value string) { a.Code = &value }}
	t.Validate = func(a lamp) error {
		if a.Code != nil && len(*a.Code) > 20 {
			return fmt.Errorf("code %q is too long: give 20 characters at most", *a.Code)
		}
		if a.Code != nil && strings.HasPrefix(*a.Code, "\xff") {
			return errors.New("code is no text: write letters")
		}
		return nil
	}
	return t
}

func bindSecret(attribute, value string) (resource.Resource, error) {
	return bound.Kind(locked()).Bind(resource.Ref{Kind: "Lamp", Name: "desk"}, json.RawMessage(`{}`), resource.Secret{Attribute: attribute, Value: value})
}

func TestSecretValueIsBoundAndHidden(t *testing.T) {
	r, err := bindSecret("code", "s3cret")
	must(t, err)
	must(t, r.Choose(nil, nil, ""))
	must(t, r.Read(t.Context(), resource.Call{}.Reader(nil)))
	for _, c := range r.Compare().Changes {
		if strings.Contains(fmt.Sprint(c), "s3cret") {
			t.Errorf("%+v", c)
		}
	}
	if got := fmt.Sprintf("%v %s %+v %#v", resource.Secret{Attribute: "code", Value: "s3cret"}, resource.Secret{Attribute: "code", Value: "s3cret"},
		[]resource.Secret{{Attribute: "code", Value: "s3cret"}}, resource.Secret{Attribute: "code", Value: "s3cret"}); strings.Contains(got, "s3cret") {
		t.Errorf("a secret prints as %s", got)
	}
}

func TestOnlySomeAttributesAcceptSecrets(t *testing.T) {
	_, err := bindSecret("colour", "red")
	wantError(t, err, "colour of Lamp/desk can't come from a Secret; of Lamp these can: code")
}

func TestValidationErrorDoesNotQuoteSecret(t *testing.T) {
	_, err := bindSecret("code", "\xff\xfe")
	wantError(t, err, "code is no text: write letters")
	for _, value := range []string{"correct horse battery staple", strings.Repeat("x", 21), "hunter2: " + strings.Repeat(".", 20)} {
		_, err := bindSecret("code", value)
		wantError(t, err, "code is invalid (details omitted: the value is secret): see what the attribute accepts")
	}
}
