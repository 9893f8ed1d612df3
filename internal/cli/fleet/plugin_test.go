package fleet_test

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

func TestHelpOfThePluginNamesKubectl(t *testing.T) {
	t.Parallel()

	for args, want := range map[string][]string{
		"plan --help":          {"Usage:\n  kubectl fettle plan (-f FILE|DIR|URL|- | -k DIR) [flags]\n", "  kubectl fettle plan -f manifests/\n", "      --as string "},
		"report list --help":   {"  kubectl fettle report list NODE [flags]\n"},
		"--help":               {"Usage:\n  kubectl fettle [command]\n", "Use \"kubectl fettle [command] --help\" for more"},
		"help why":             {"  kubectl fettle why KIND/NAME|NODE [flags]\n"},
		"--version":            {"kubectl fettle version "},
		"__complete di":        {"diff\tShow how hosts differ"},
		"completion":           {"#!/bin/sh\nexec kubectl-fettle __complete \"$@\"\n"},
		"help apply":           {"there is no command apply, because"},
		"status --as x --help": {"Usage:\n  kubectl fettle status [flags]\n"},
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()

			got := kubectlFettle(t, "", strings.Fields(args)...)
			for _, part := range want {
				if !strings.Contains(got.out, part) || got.code != 0 {
					t.Errorf("no %q in:\n%s%s", part, got.out, got.err)
				}
			}
			if strings.Contains(got.out, "fettle fleet") || strings.Contains(got.out, "  fettle ") {
				t.Error(got.out)
			}
		})
	}
}

// callers serves no NodeCatalogs, and returns a kubeconfig with the contexts a, which is the current one, and b, and what the last
// request of each says about its caller.
func callers(t *testing.T) (kubeconfig string, last func() string) {
	t.Helper()
	var seen string
	serve := func(name string) string {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h := r.Header
			seen = fmt.Sprintf("%s: as %s %s %s %s, %s", name, h.Get("Impersonate-User"), h.Get("Impersonate-Uid"), h.Values("Impersonate-Group"), h.Get("Impersonate-Extra-Team"), h.Get("Authorization"))
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprint(w, `{"metadata":{},"items":[]}`)
		}))
		t.Cleanup(server.Close)
		ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
		return "{name: " + name + ", cluster: {server: \"" + server.URL + "\", certificate-authority-data: " + base64.StdEncoding.EncodeToString(ca) + "}}"
	}
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	put(t, kubeconfig, "{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: ann}}, {name: b, context: {cluster: b}}],"+
		"clusters: ["+serve("a")+","+serve("b")+"], users: [{name: ann, user: {token: t1}}, {name: bob, user: {token: t2}}]}")
	return kubeconfig, func() string { return seen }
}

func TestFlagsOfKubectlAreTakenBeforeAndAfterTheCommand(t *testing.T) {
	t.Parallel()

	for line, want := range map[string]string{
		"drift":                     "a: as   [] , Bearer t1",
		"--context b drift":         "b: as   [] , ",
		"drift --context b":         "b: as   [] , ",
		"--context=b drift --top 1": "b: as   [] , ",
		"--as eve --as-group g --as-group h --as-uid 7 --as-user-extra team=x drift": "a: as eve 7 [g h] x, Bearer t1",
		"drift --as eve":                   "a: as eve  [] , Bearer t1",
		"--cluster b drift --user bob":     "b: as   [] , Bearer t2",
		"--token t3 drift -n default":      "a: as   [] , Bearer t3",
		"--insecure-skip-tls-verify drift": "a: as   [] , Bearer t1",
		"--request-timeout 1m drift":       "a: as   [] , Bearer t1",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()

			kubeconfig, last := callers(t)
			got := kubectlFettle(t, "", append([]string{"--kubeconfig", kubeconfig}, strings.Fields(line)...)...)
			if got.code != 0 || last() != want {
				t.Errorf("%q, want %q: %+v", last(), want, got)
			}
		})
	}
	for line, want := range map[string]string{
		"drift --as-user-extra team":      "fettle: invalid argument \"team\" for \"--as-user-extra\" flag: write it as KEY=VALUE\n",
		"drift --context none":            "fettle: cannot read your kubeconfig: context \"none\" does not exist\n",
		"drift --request-timeout tuesday": "fettle: cannot read your kubeconfig: Invalid timeout value.",
	} {
		kubeconfig, _ := callers(t)
		if got := kubectlFettle(t, "", append(strings.Fields(line), "--kubeconfig", kubeconfig)...); got.code != 1 || !strings.HasPrefix(got.err, want) {
			t.Errorf("%s: %+v", line, got)
		}
	}
}
