package exec_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
	"github.com/fettle-dev/fettle/providers/exec"
)

func bindSecret(spec string, secrets ...resource.Secret) (resource.Resource, error) {
	return bound.Kind(exec.Type()).Bind(resource.Ref{Kind: "Exec", Name: "a"}, json.RawMessage(spec), secrets...)
}

func TestSecretVariablesReachOnlyTheCommand(t *testing.T) {
	h := hosttest.New(t)
	h.Put("/bin/tool", "")
	if err := h.Chmod("/bin/tool", 0o755); err != nil {
		t.Fatal(err)
	}
	var env []string
	h.Handle("/bin/tool", func(cmd host.Cmd) host.Result {
		env = cmd.Env
		return host.Result{ExitCode: 3, Stdout: []byte(strings.Join(cmd.Env, "\n")), Stderr: []byte("bad s3cret-token, pin 42")}
	})
	r, err := bindSecret(`{"command": "/bin/tool", "environment": ["MODE=fast"]}`,
		resource.Secret{Attribute: "environment.TOKEN", Value: "s3cret-token"}, resource.Secret{Attribute: "environment.PIN", Value: "42"})
	if err == nil {
		err = r.Choose(nil, h, "")
	}
	if err == nil {
		err = r.Read(t.Context(), resourcetest.Reader(h))
	}
	if err != nil {
		t.Fatal(err)
	}
	err = r.Write(t.Context(), resourcetest.Writer(h), r.Compare().Changes)
	if diff := cmp.Diff([]string{"PATH=" + host.SearchPath, "MODE=fast", "TOKEN=s3cret-token", "PIN=42"}, env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	shown := fmt.Sprintf("%v %s %+v %v", err, r.State().Attributes, r.Compare(), h.Transcript())
	if strings.Contains(shown, "s3cret") || strings.Contains(shown, "42") || !strings.Contains(shown, "bad [redacted], pin [redacted]") {
		t.Errorf("got %s", shown)
	}
}

func TestInvalidSecretVariables(t *testing.T) {
	for _, c := range []struct{ spec, name, value, want string }{
		{`{"command": "/bin/tool"}`, "environment.TOKEN", "s3cret\x00", "the value of TOKEN in environmentFrom contains a zero byte, which an environment cannot: remove it from the Secret"},
		{`{"command": "/bin/tool"}`, "environment.", "s3cret", "environment. of Exec/a can't come from a Secret; of Exec these can: environment"},
		{`{"command": "/bin/tool"}`, "command", "s3cret", "command of Exec/a can't come from a Secret; of Exec these can: environment"},
	} {
		if _, err := bindSecret(c.spec, resource.Secret{Attribute: c.name, Value: c.value}); err == nil || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}
