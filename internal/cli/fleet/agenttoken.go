package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/credentials"
	"github.com/fettle-dev/fettle/internal/cli/elsewhere"
	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/cli/overview"
	"github.com/fettle-dev/fettle/internal/nodetoken"
	"github.com/fettle-dev/fettle/internal/state"
)

func newAgent(s shared) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "agent",
		Short:   "Prepare the agent as a service of a host, which fettle agent install installs there",
		Example: "  kubectl fettle agent token --node web-1 -o web-1.kubeconfig",
		Args:    cobra.NoArgs,
	}
	cmd.AddCommand(newAgentToken(s))
	elsewhere.AddToAgent(cmd)
	return cmd
}

// An agentToken is agent token.
type agentToken struct {
	shared
	node     string
	server   string
	file     string
	account  string
	duration time.Duration
}

func newAgentToken(s shared) *cobra.Command {
	c := agentToken{shared: s}
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Create the first credentials for the agent of a host, as an administrator of the cluster",
		Long: "token creates a kubeconfig with a token that is bound to a Node, which must exist, and prints it. The agent\n" +
			"renews the token from then on. The first call also records the audience of the API server in an annotation of\n" +
			"Namespace fettle-nodes, without which agents cannot renew tokens.",
		Example: "  kubectl fettle agent token --node web-1 -o web-1.kubeconfig",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	cmd.Flags().StringVar(&c.node, "node", "", "name of the host's Node (required)")
	cmd.Flags().StringVar(&c.server, "server", "", "URL of the API server for the host (default: that of your kubeconfig)")
	cmd.Flags().StringVar(&c.account, "service-account", "fettle-nodeagent", "ServiceAccount of the agents")
	flags.Duration(cmd, &c.duration, "duration", 24*time.Hour, "time until which the host has to use the credentials for the first time")
	cmd.Flags().StringVarP(&c.file, "output-file", "o", "-", "file to write, with mode 0600; - is standard output")
	_ = cmd.MarkFlagRequired("node") // it was just added
	return cmd
}

func (c *agentToken) run(ctx context.Context) error {
	if c.duration < 10*time.Minute {
		return fmt.Errorf("--duration %s is too short: use 10m or more", c.duration)
	}
	cfg, err := c.access.Config()
	if err != nil {
		return err
	}
	issued, err := issue(ctx, cfg, nodetoken.Request{Namespace: v1alpha1.AgentNamespace, Account: c.account, Node: c.node, Lifetime: c.duration})
	if err != nil {
		return err
	}
	issued.Cluster.Server = cmp.Or(c.server, issued.Cluster.Server)
	text, err := issued.Kubeconfig("")
	if err != nil {
		return err
	}
	if c.file == "-" {
		_, err = c.Out.Write(text)
		return err
	}
	if err := state.ReplaceFile(c.file, text); err != nil {
		return fmt.Errorf("cannot write the kubeconfig: %w", err)
	}
	c.out.Print("wrote %s, which is valid until %s", c.file, issued.Claims.Expires.UTC().Format(time.RFC3339))
	return nil
}

// issue creates credentials with the rights of an administrator. It also allows agents to renew them, by recording the
// audience of the API server, which the admission policy does not know.
func issue(ctx context.Context, cfg *rest.Config, request nodetoken.Request) (none credentials.Credentials, err error) {
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return none, fmt.Errorf("cannot make a client: %w", err)
	}
	token, err := request.Create(ctx, client.Resource(nodetoken.Accounts()).Namespace(request.Namespace))
	if err != nil {
		return none, err
	}
	claims, err := nodetoken.Parse(token)
	if err != nil {
		return none, err
	}
	if err := allowRenewal(ctx, client, request.Namespace, strings.Join(claims.Audiences, ",")); err != nil {
		return none, err
	}
	if err := rest.LoadTLSFiles(cfg); err != nil {
		return none, fmt.Errorf("cannot read the CA of the cluster: %w", err)
	}
	return credentials.Credentials{
		Token: token, Claims: claims,
		Cluster: api.Cluster{Server: cfg.Host, CertificateAuthorityData: cfg.CAData, TLSServerName: cfg.ServerName},
	}, nil
}

// allowRenewal sets the annotation that the admission policy compares, unless it is set.
func allowRenewal(ctx context.Context, client dynamic.Interface, namespace, audience string) error {
	namespaces := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	is, err := namespaces.Get(ctx, namespace, metav1.GetOptions{})
	if err == nil && is.GetAnnotations()[nodetoken.AudienceAnnotation] == audience {
		return nil
	}
	if err == nil {
		patch, _ := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{nodetoken.AudienceAnnotation: audience}}}) //nolint:errchkjson // they are strings
		_, err = namespaces.Patch(ctx, namespace, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: overview.FieldManager})
	}
	if err != nil {
		return fmt.Errorf("cannot allow agents to renew their tokens by the annotation %s of Namespace %s: %w", nodetoken.AudienceAnnotation, namespace, err)
	}
	return nil
}
