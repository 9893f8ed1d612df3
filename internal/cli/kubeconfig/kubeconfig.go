// Package kubeconfig has the flags with which kubectl selects a cluster and a user.
package kubeconfig

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fettle-dev/fettle/internal/version"
)

// Flags are the cluster that a user wants to reach, and as whom, with the flags of kubectl.
type Flags struct {
	file      string
	overrides clientcmd.ConfigOverrides
}

// Add adds the flags to a command and its subcommands.
func (f *Flags) Add(cmd *cobra.Command) {
	to := cmd.PersistentFlags()
	to.StringVar(&f.file, "kubeconfig", "", "your kubeconfig (default: $KUBECONFIG or ~/.kube/config)")
	_ = cobra.MarkFlagFilename(to, "kubeconfig") // it was just added
	clientcmd.BindOverrideFlags(&f.overrides, to, overrideFlags())
	to.Var(extra{&f.overrides.AuthInfo.ImpersonateUserExtra}, "as-user-extra", "extra KEY=VALUE of the user of --as; may be repeated")
}

// overrideFlags are the flags of kubectl, which takes no password any more. The flags of k8s.io/cli-runtime are the same, but
// their package makes a program 39 MB larger.
func overrideFlags() clientcmd.ConfigOverrideFlags {
	f := clientcmd.RecommendedConfigOverrideFlags("")
	auth, cluster := &f.AuthOverrideFlags, &f.ClusterOverrideFlags
	auth.Username, auth.Password, cluster.ProxyURL = clientcmd.FlagInfo{}, clientcmd.FlagInfo{}, clientcmd.FlagInfo{}
	cluster.APIServer.ShortName = "s"
	for flag, usage := range map[*clientcmd.FlagInfo]string{
		&auth.ClientCertificate:              "file with a client certificate",
		&auth.ClientKey:                      "file with the key of the client certificate",
		&auth.Token:                          "bearer token for the API server",
		&auth.Impersonate:                    "user to act as",
		&auth.ImpersonateUID:                 "UID of the user of --as",
		&auth.ImpersonateGroups:              "group of the user of --as; may be repeated",
		&cluster.APIServer:                   "address of the API server",
		&cluster.CertificateAuthority:        "file with the certificate authority of the API server",
		&cluster.InsecureSkipTLSVerify:       "accept any certificate of the API server, which is insecure",
		&cluster.TLSServerName:               "name in the certificate of the API server (default: that in its address)",
		&cluster.DisableCompression:          "request uncompressed responses",
		&f.ContextOverrideFlags.ClusterName:  "cluster of the kubeconfig to use",
		&f.ContextOverrideFlags.AuthInfoName: "user of the kubeconfig to use",
		&f.ContextOverrideFlags.Namespace:    "ignored, because the kinds of Fettle have no namespace",
		&f.CurrentContext:                    "context of the kubeconfig to use",
		&f.Timeout:                           "time limit of each request, such as 30s; 0 means none",
	} {
		flag.Description = usage
	}
	return f
}

// An extra is the value of --as-user-extra.
type extra struct{ all *map[string][]string }

// Set implements [github.com/spf13/pflag.Value].
func (e extra) Set(text string) error {
	key, value, ok := strings.Cut(text, "=")
	if !ok || key == "" {
		return errors.New("write it as KEY=VALUE")
	}
	if *e.all == nil {
		*e.all = map[string][]string{}
	}
	(*e.all)[key] = append((*e.all)[key], value)
	return nil
}

// Type implements [github.com/spf13/pflag.Value].
func (extra) Type() string { return "stringArray" }

// String implements [github.com/spf13/pflag.Value].
func (extra) String() string { return "" }

// Config reads the kubeconfig.
func (f *Flags) Config() (*rest.Config, error) {
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(f.rules(), &f.overrides).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("cannot read your kubeconfig: %w", err)
	}
	cfg.UserAgent = "fettle/" + version.String()
	return cfg, nil
}

// Name returns the name of the cluster that a configuration reaches: the context of the kubeconfig or, without one, the server.
func (f *Flags) Name(cfg *rest.Config) string {
	known, err := f.rules().Load()
	if err != nil {
		return cfg.Host
	}
	return cmp.Or(f.overrides.CurrentContext, known.CurrentContext, cfg.Host)
}

func (f *Flags) rules() *clientcmd.ClientConfigLoadingRules {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.file
	return rules
}
