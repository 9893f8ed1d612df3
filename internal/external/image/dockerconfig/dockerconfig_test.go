package dockerconfig_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/external/image/dockerconfig"
)

func TestTheLongestMatchingPatternWins(t *testing.T) {
	t.Parallel()

	c, err := dockerconfig.Parse([]byte(`{"credsStore": "secretservice", "credHelpers": {"other.example.com": "evil"}, "auths": {
		"registry.example.com": {"username": "host", "password": "p"},
		"https://registry.example.com/team": {"username": "team", "password": "p"},
		"registry.example.com/team/a": {"username": "team-a", "password": "p"},
		"*.example.org": {"username": "any", "password": "p"},
		"10.0.0.1:5000": {"auth": "cG9ydDpwOnE="},
		"https://index.docker.io/v1/": {"identitytoken": "t"},
		"empty.example.com": {}
	}}`))
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]dockerconfig.Credential{
		"registry.example.com other":    {Username: "host", Password: "p"},
		"registry.example.com team":     {Username: "team", Password: "p"},
		"registry.example.com team/b":   {Username: "team", Password: "p"},
		"registry.example.com team/a/x": {Username: "team-a", Password: "p"},
		"registry.example.com teamwork": {Username: "host", Password: "p"},
		"a.example.org x":               {Username: "any", Password: "p"},
		"10.0.0.1:5000 x":               {Username: "port", Password: "p:q"},
		"index.docker.io library/x":     {IdentityToken: "t"},
		"docker.io library/x":           {IdentityToken: "t"},
		"a.b.example.org x":             {},
		"example.org x":                 {},
		"10.0.0.1 x":                    {},
		"10.0.0.1:5001 x":               {},
		"empty.example.com x":           {},
		"other.example.com x":           {},
	} {
		registry, repository, _ := strings.Cut(at, " ")
		if got, ok := c.For(registry, repository); got != want || ok != (want != dockerconfig.Credential{}) {
			t.Errorf("%s: the user is %q, found %t, want %q", at, got.Username+got.IdentityToken, ok, want.Username+want.IdentityToken)
		}
	}
}

func TestErrorsAndFormattedCredentialsAreWithoutSecrets(t *testing.T) {
	t.Parallel()

	for _, text := range []string{
		`{"auths": {"a": {"username": 4711471147}}}`, `{"auths": {"a": {"auth": "4711471147"}}}`, `4711471147`, `{"auths": {"a": {"password": "4711471147`,
	} {
		if _, err := dockerconfig.Parse([]byte(text)); err == nil || strings.Contains(err.Error(), "4711") {
			t.Errorf("%s: %v", text, err)
		}
	}
	c := dockerconfig.Credential{Username: "u", Password: "hunter2"}
	if shown := fmt.Sprintf("%v %+v %#v %s", c, c, c, c); strings.Contains(shown, "hunter2") {
		t.Error(shown)
	}
}
