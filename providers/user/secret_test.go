package user_test

import (
	"encoding/json"
	"testing"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/providers/user"
)

func TestPasswordFromASecretMustBeAHash(t *testing.T) {
	t.Parallel()

	bind := func(hash string) error {
		_, err := bound.Kind(user.Type()).Bind(resource.Ref{Kind: "User", Name: "ann"}, json.RawMessage(`{}`), resource.Secret{Attribute: "password", Value: hash})
		return err
	}
	if err := bind("$6$salt$hash"); err != nil {
		t.Error(err)
	}
	if err := bind("s3cret"); err == nil || err.Error() != noHash {
		t.Errorf("got %v", err)
	}
	if err := bind("$6$salt$hash\n"); err == nil || err.Error() != noHash {
		t.Errorf("got %v", err)
	}
}
