package main

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/external/image"
)

func TestFlags(t *testing.T) {
	defaults := options{
		node: "web-1", stateDir: "/var/lib/fettle", interval: 10 * time.Minute, splay: time.Minute, spread: 2 * time.Second, qps: 5, burst: 10, keyAge: 2160 * time.Hour,
		bucketLimit: 1 << 30,
		images:      image.Setup{Config: "/etc/fettle/registry/config.json"},
		watch:       true, limit: time.Hour, level: slog.LevelInfo, metrics: "0",
	}
	with := func(change func(*options)) options {
		o := defaults
		change(&o)
		return o
	}
	self := os.Getpid()
	for name, c := range map[string]struct {
		args []string
		node string // NODE_NAME
		want options
		here string // the path of the state directory in this process
	}{
		"node name from the environment":        {nil, "web-1", defaults, "/var/lib/fettle"},
		"--node-name overrides the environment": {[]string{"--node-name=web-1"}, "other", defaults, "/var/lib/fettle"},
		"in a pod with hostPID":                 {[]string{"--host-pid=" + strconv.Itoa(self)}, "web-1", with(func(o *options) { o.hostPID = self }), fmt.Sprintf("/proc/%d/root/var/lib/fettle", self)},
		"on a directory as host":                {[]string{"--root", "/mnt"}, "web-1", with(func(o *options) { o.root = "/mnt" }), "/mnt/var/lib/fettle"},
		"a duration in days":                    {[]string{"--key-max-age=30d"}, "web-1", with(func(o *options) { o.keyAge = 720 * time.Hour }), "/var/lib/fettle"},
		"all other flags": {
			[]string{
				"--kubeconfig=/k", "--renew-token", "--state-dir=/s", "--bucket-limit=2Gi", "--interval=1h", "--splay=0s", "--spread=5s", "--kube-api-qps=2.5", "--kube-api-burst=20", "--log-level=debug", "--metrics-bind-address=:1", "--probe-socket=/p",
				"--watch=false", "--run-timeout=0", "--key-max-age=0", "--prerun-command=etckeeper pre-install", "--postrun-command=sh -c 'exit $?'",
				"--registry-config=/r", "--type-keys=/keys",
			},
			"web-1",
			options{
				node: "web-1", kubeconfig: "/k", renew: true, stateDir: "/s", bucketLimit: 2 << 30, interval: time.Hour, spread: 5 * time.Second, qps: 2.5, burst: 20,
				images: image.Setup{Config: "/r", Keys: "/keys"},
				before: []string{"etckeeper", "pre-install"}, after: []string{"sh", "-c", "exit $?"},
				level: slog.LevelDebug, metrics: ":1", probes: "/p",
			},
			"/s",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parse(c.args, environment(c.node), &strings.Builder{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(options{})); diff != "" {
				t.Error(diff)
			}
			if here, err := got.stateDirHere(); err != nil || here != c.here {
				t.Errorf("the state directory is %s, %v", here, err)
			}
		})
	}
}

func TestInvalidFlagsAreRejected(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no node":                       {[]string{"--node-name="}, "--node-name is missing: set it, or NODE_NAME, to the name of the Node"},
		"a token of a pod":              {[]string{"--renew-token"}, "--renew-token requires --kubeconfig: in a pod, the kubelet renews the token"},
		"two hosts":                     {[]string{"--host-pid=1", "--root=/mnt"}, "--host-pid 1 and --root /mnt are mutually exclusive: use one"},
		"a negative process":            {[]string{"--host-pid=-1"}, "--host-pid -1 is not a process"},
		"a relative root":               {[]string{"--root=mnt"}, "--root mnt is not absolute"},
		"a relative state":              {[]string{"--state-dir=x"}, "--state-dir x is not absolute"},
		"an interval that is too short": {[]string{"--interval=1ms"}, "--interval 1ms is too short: use 1s or more"},
		"an interval without a unit":    {[]string{"--interval=10"}, `invalid value "10" for flag -interval: not a duration: use whole numbers with the units w, d, h, m and s, such as 30d or 1h30m`},
		"a negative splay":              {[]string{"--splay=-1s"}, "--splay -1s is negative: use 0s or more"},
		"a negative spread":             {[]string{"--spread=-1s"}, "--spread -1s is not between 0s and --interval 10m0s"},
		"a spread too wide":             {[]string{"--spread=1h"}, "--spread 1h0m0s is not between 0s and --interval 10m0s"},
		"no requests":                   {[]string{"--kube-api-qps=0"}, "--kube-api-qps 0 is not a rate: use more than 0"},
		"no burst":                      {[]string{"--kube-api-burst=0"}, "--kube-api-burst 0 allows no requests: use 1 or more"},
		"a negative limit":              {[]string{"--run-timeout=-1s"}, "--run-timeout -1s is negative: use 0s for no limit"},
		"an unterminated quote":         {[]string{"--prerun-command=a 'b"}, `invalid value "a 'b" for flag -prerun-command: has a single quote at character 3 that nothing closes: close it, or run it with sh -c '...'`},
		"an argument":                   {[]string{"now"}, `argument ["now"] is not a flag: remove it`},
		"an unknown flag":               {[]string{"--nodename=x"}, "flag provided but not defined: -nodename"},
		"an unknown level":              {[]string{"--log-level=loud"}, `slog: level string "loud": unknown name`},
		"several errors":                {[]string{"--state-dir=x", "--splay=-1s"}, "--state-dir x is not absolute\n--splay -1s is negative"},
	} {
		t.Run(name, func(t *testing.T) {
			var usage strings.Builder
			_, err := parse(c.args, environment("web-1"), &usage)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(usage.String(), c.want) {
				t.Errorf("got %v, and usage:\n%s", err, &usage)
			}
		})
	}
}

func TestHelpSucceeds(t *testing.T) {
	var usage strings.Builder
	if _, err := parse([]string{"-h"}, environment(""), &usage); !errors.Is(err, flag.ErrHelp) || !strings.Contains(usage.String(), "-node-name") {
		t.Errorf("got %v:\n%s", err, &usage)
	}
}

func environment(node string) func(string) string {
	return func(name string) string { return map[string]string{"NODE_NAME": node}[name] }
}
