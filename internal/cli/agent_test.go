package cli_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// kubeconfig returns a kubeconfig with a token for an agent on a node. The token contains the text secret.
func kubeconfig(node string, expires time.Time) string {
	claims := fmt.Sprintf(`{"iat":1,"exp":%d,"kubernetes.io":{"namespace":"fettle-nodes","node":{"name":%q},"serviceaccount":{"name":"fettle-nodeagent"}}}`, expires.Unix(), node)
	token := "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".secret"
	return "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}], " +
		"clusters: [{name: c, cluster: {server: \"https://127.0.0.1:1\"}}], users: [{name: u, user: {token: " + token + "}}]}"
}

func TestServiceIsInstalledInAnImage(t *testing.T) {
	root, binary := debian.Root(t), filepath.Join(t.TempDir(), "nodeagent")
	put(t, binary, "the agent")
	call := func(expires time.Time) outcome {
		return fettle(t, kubeconfig("web-1", expires), "agent", "install", "--root", root, "--node-name=web-1", "--kubeconfig=-", "--binary", binary, "--", "--prerun-command=a 'b' 5%$")
	}
	soon, later := time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)
	const files = "wrote /etc/fettle/agent/token\nwrote /etc/fettle/agent/kubeconfig\nwrote /usr/local/bin/fettle-nodeagent\nwrote /etc/systemd/system/fettle-nodeagent.service\n"
	const done = "the agent of Node web-1 is installed as fettle-nodeagent.service\n"
	for _, step := range []struct {
		name    string
		expires time.Time
		want    string
	}{
		{"first", soon, files + done},
		{"again", soon, done},
		{"with a later token", later, "wrote /etc/fettle/agent/token\n" + done},
		{"with an earlier token", soon, done},
	} {
		if diff := cmp.Diff(outcome{out: step.want}, call(step.expires), cmp.AllowUnexported(outcome{})); diff != "" {
			t.Errorf("%s: %s", step.name, diff)
		}
	}
	unit := read(t, filepath.Join(root, "etc/systemd/system/fettle-nodeagent.service"))
	const command = `ExecStart=/usr/local/bin/fettle-nodeagent --node-name=web-1 --kubeconfig=/etc/fettle/agent/kubeconfig --renew-token "--prerun-command=a 'b' 5%%$$"` + "\n"
	if !strings.Contains(unit, command) {
		t.Errorf("the unit lacks %s:\n%s", command, unit)
	}
	if _, err := os.Lstat(filepath.Join(root, "etc/systemd/system/multi-user.target.wants/fettle-nodeagent.service")); err != nil {
		t.Errorf("the unit is not enabled: %v", err)
	}
	if got := read(t, filepath.Join(root, "etc/fettle/agent/kubeconfig")); strings.Contains(got, "secret") || !strings.Contains(got, "tokenFile: token\n") {
		t.Error(got)
	}

	got := fettle(t, "", "agent", "uninstall", "--root", root)
	want := outcome{out: "removed /etc/systemd/system/fettle-nodeagent.service\nremoved /usr/local/bin/fettle-nodeagent\nremoved /etc/fettle/agent\n"}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(outcome{})); diff != "" {
		t.Error(diff)
	}
	if left := debian.Chroot(t, root, "find", "/etc", "/usr/local", "-name", "*fettle*"); left != "/etc/fettle\n" {
		t.Error(left)
	}
	got = fettle(t, "", "agent", "status", "--root", root)
	if got.code != 0 || !strings.Contains(got.out, "not installed") {
		t.Errorf("%+v", got)
	}
}

func TestInvalidCredentialsAreRejected(t *testing.T) {
	root, binary := debian.Root(t), filepath.Join(t.TempDir(), "nodeagent")
	put(t, binary, "the agent")
	tomorrow := time.Now().Add(24 * time.Hour)
	for name, c := range map[string]struct{ kubeconfig, want string }{
		"of another node":      {kubeconfig("web-2", tomorrow), `the token in the kubeconfig is bound to Node "web-2", not to web-1: create another with fettle agent token --node web-1`},
		"of no node":           {kubeconfig("", tomorrow), `the token in the kubeconfig is bound to Node "", not to web-1`},
		"expired":              {kubeconfig("web-1", time.Unix(2, 0)), "the token in the kubeconfig expired at 1970-01-01T00:00:02Z: create another with fettle agent token --node web-1"},
		"without a token":      {strings.Replace(kubeconfig("web-1", tomorrow), "token: ", "username: ", 1), "the kubeconfig has no token: create it with fettle agent token --node web-1"},
		"with a strange token": {strings.Replace(kubeconfig("web-1", tomorrow), "token: e30.", "token: secret", 1), "it is not the token of a service account"},
		"with a CA elsewhere":  {strings.Replace(kubeconfig("web-1", tomorrow), "cluster: {", "cluster: {certificate-authority: /ca.crt, ", 1), "it has to contain certificate-authority-data"},
		"that is not YAML":     {"secret: {", "the kubeconfig is invalid"},
		"that is empty":        {"", "the kubeconfig has no current context"},
	} {
		got := fettle(t, c.kubeconfig, "agent", "install", "--root", root, "--node-name=web-1", "--kubeconfig=-", "--binary", binary)
		if got.code != 1 || !strings.Contains(got.err, c.want) || strings.Contains(got.err, "secret") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	got := fettle(t, "", "agent", "install", "--root", root, "--node-name=web-1", "--binary", binary)
	if got.code != 1 || !strings.Contains(got.err, "the service has no credentials yet") {
		t.Errorf("without credentials: %+v", got)
	}
}
