// Package controlplane starts a real etcd and kube-apiserver for a test, with the
// kinds of fettle.dev installed.
//
// The binaries are those of KUBEBUILDER_ASSETS. Where that is not set, they come out
// of hack/controlplane/build.sh: from its cache at once, else after some minutes.
package controlplane

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/fettle-dev/fettle/config/crd"
)

// T is what of a test is needed: *testing.T and Ginkgo's GinkgoT() have it.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
	Cleanup(stop func())
}

// startLimit and stopLimit are some ten times what two busy cores take.
const (
	startLimit = 2 * time.Minute
	stopLimit  = time.Minute
)

// Start starts a control plane of the caller's own and returns a cluster
// administrator's way in. It goes away with the test (in Ginkgo: with the suite, when
// called from BeforeSuite), or earlier by stop, which may be called again.
func Start(t T) (cfg *rest.Config, stop func()) {
	t.Helper()
	_, cfg, stop = start(t)
	return cfg, stop
}

func start(t T) (env *envtest.Environment, cfg *rest.Config, stop func()) {
	t.Helper()
	assets, err := Assets()
	if err != nil {
		t.Fatalf("cannot find a control plane: %v", err)
	}
	kinds, err := crd.All()
	if err != nil {
		t.Fatalf("cannot read the CRDs: %v", err)
	}
	env = &envtest.Environment{
		BinaryAssetsDirectory:    assets,
		CRDInstallOptions:        envtest.CRDInstallOptions{CRDs: kinds},
		ControlPlaneStartTimeout: startLimit,
		ControlPlaneStopTimeout:  stopLimit,
	}
	stop = sync.OnceFunc(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("cannot stop the control plane: %v", err)
		}
	})
	t.Cleanup(stop)
	if cfg, err = env.Start(); err != nil {
		t.Fatalf("cannot start the control plane: %v", err)
	}
	return env, cfg, stop
}

// Assets is the folder that holds etcd, kube-apiserver and kubectl.
func Assets() (string, error) {
	if dir := os.Getenv("KUBEBUILDER_ASSETS"); dir != "" {
		return dir, nil
	}
	root, err := checkout()
	if err != nil {
		return "", err
	}
	cmd := exec.Command(filepath.Join(root, "hack/controlplane/build.sh"))
	cmd.Stderr = os.Stderr // Its progress is for whoever waits.
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("cannot build one (set KUBEBUILDER_ASSETS to use one that you have): %w", err)
	}
	return string(bytes.TrimSpace(out)), nil
}

// checkout is the nearest folder above that has the script. Tests run in the folder of
// their package.
func checkout() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		_, err := os.Stat(filepath.Join(dir, "hack/controlplane/build.sh"))
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("hack/controlplane/build.sh is not in a folder above: run the test in the checkout, or set KUBEBUILDER_ASSETS")
		}
		dir = filepath.Dir(dir)
	}
}
