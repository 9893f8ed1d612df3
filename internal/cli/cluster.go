package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fettle-dev/fettle/internal/version"
)

// clusterFlags are the flags for access to a cluster, as in kubectl.
type clusterFlags struct{ kubeconfig, context string }

func (f *clusterFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "your kubeconfig (default: $KUBECONFIG or ~/.kube/config)")
	cmd.Flags().StringVar(&f.context, "context", "", "context of the kubeconfig to use")
	_ = cmd.MarkFlagFilename("kubeconfig") // it was just added
}

// config reads the kubeconfig.
func (f *clusterFlags) config() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: f.context}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("cannot read your kubeconfig: %w", err)
	}
	cfg.UserAgent = "fettle/" + version.String()
	return cfg, nil
}
