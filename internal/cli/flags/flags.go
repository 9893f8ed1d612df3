// Package flags has what the flags of several commands share.
package flags

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fettle-dev/fettle/internal/version"
)

// OneOf returns an error unless the value of a flag is one of those allowed.
func OneOf(flag, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("%s %q is not one of %v", flag, value, allowed)
}

// Complete completes the values of a flag, which the command must have.
func Complete(cmd *cobra.Command, flag string, words ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// Output adds --output to a command, with the formats that it accepts and checks. The first one is the default.
func Output(cmd *cobra.Command, format *string, usage string, formats ...string) {
	cmd.Flags().StringVarP(format, "output", "o", formats[0], usage)
	Complete(cmd, "output", formats...)
	cmd.PreRunE = func(*cobra.Command, []string) error { return OneOf("--output", *format, formats...) }
}

// A Cluster is the cluster that a user wants to reach, with the flags of kubectl.
type Cluster struct{ kubeconfig, context string }

// Add adds the flags to a command.
func (c *Cluster) Add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.kubeconfig, "kubeconfig", "", "your kubeconfig (default: $KUBECONFIG or ~/.kube/config)")
	cmd.Flags().StringVar(&c.context, "context", "", "context of the kubeconfig to use")
	_ = cmd.MarkFlagFilename("kubeconfig") // it was just added
}

// Config reads the kubeconfig.
func (c *Cluster) Config() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.kubeconfig
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: c.context}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("cannot read your kubeconfig: %w", err)
	}
	cfg.UserAgent = "fettle/" + version.String()
	return cfg, nil
}

// Name returns the name of the cluster that a configuration reaches: the context of the kubeconfig or, without one, the server.
func (c *Cluster) Name(cfg *rest.Config) string {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.kubeconfig
	known, err := rules.Load()
	if err != nil {
		return cfg.Host
	}
	return cmp.Or(c.context, known.CurrentContext, cfg.Host)
}
