// Package credentials creates and reads the credentials of an agent that runs as a service of its host: a kubeconfig
// with a token that is bound to the host's Node.
package credentials

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/fettle-dev/fettle/internal/nodetoken"
)

// Credentials give an agent access to a cluster.
type Credentials struct {
	Cluster api.Cluster // has no references to files
	Token   string
	Claims  nodetoken.Claims
}

// name is the name of everything in a kubeconfig.
const name = "fettle"

// Issue creates credentials with the rights of an administrator. It also allows agents to renew them, by recording the
// audience of the API server, which the admission policy does not know.
func Issue(ctx context.Context, cfg *rest.Config, request nodetoken.Request) (Credentials, error) {
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return Credentials{}, fmt.Errorf("cannot make a client: %w", err)
	}
	token, err := request.Create(ctx, client)
	if err != nil {
		return Credentials{}, err
	}
	claims, err := nodetoken.Parse(token)
	if err != nil {
		return Credentials{}, err
	}
	if err := allowRenewal(ctx, client, request.Namespace, strings.Join(claims.Audiences, ",")); err != nil {
		return Credentials{}, err
	}
	if err := rest.LoadTLSFiles(cfg); err != nil {
		return Credentials{}, fmt.Errorf("cannot read the CA of the cluster: %w", err)
	}
	return Credentials{
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
		_, err = namespaces.Patch(ctx, namespace, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	if err != nil {
		return fmt.Errorf("cannot allow agents to renew their tokens by the annotation %s of Namespace %s: %w", nodetoken.AudienceAnnotation, namespace, err)
	}
	return nil
}

// Kubeconfig returns a kubeconfig that contains the token or, if tokenFile is set, refers to that file.
func (c Credentials) Kubeconfig(tokenFile string) ([]byte, error) {
	config := api.NewConfig()
	config.Clusters[name] = &c.Cluster
	user := &api.AuthInfo{TokenFile: tokenFile}
	if tokenFile == "" {
		user.Token = c.Token
	}
	config.AuthInfos[name] = user
	config.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	text, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("cannot write a kubeconfig: %w", err)
	}
	return text, nil
}

// Parse reads a kubeconfig with a token, and checks that the token is for an agent on a node.
func Parse(kubeconfig []byte, node string, now time.Time) (Credentials, error) {
	c, err := parse(kubeconfig)
	if err != nil {
		return c, fmt.Errorf("%w: create it with fettle agent token --node %s", err, node)
	}
	switch {
	case c.Claims.Node != node:
		err = fmt.Errorf("the token in the kubeconfig is bound to Node %q, not to %s", c.Claims.Node, node)
	case c.Claims.Pod != "":
		err = fmt.Errorf("the token in the kubeconfig is that of pod %s, and ends with it", c.Claims.Pod)
	case !c.Claims.Expires.After(now):
		err = fmt.Errorf("the token in the kubeconfig expired at %s", c.Claims.Expires.UTC().Format(time.RFC3339))
	}
	if err != nil {
		return c, fmt.Errorf("%w: create another with fettle agent token --node %s", err, node)
	}
	return c, nil
}

func parse(kubeconfig []byte) (c Credentials, err error) {
	config, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return c, errors.New("the kubeconfig is invalid") // the cause may contain a secret
	}
	context := config.Contexts[config.CurrentContext]
	if context == nil || config.Clusters[context.Cluster] == nil || config.AuthInfos[context.AuthInfo] == nil {
		return c, errors.New("the kubeconfig has no current context with a cluster and a user")
	}
	c.Cluster = *config.Clusters[context.Cluster]
	c.Cluster.LocationOfOrigin, c.Cluster.Extensions = "", nil
	if c.Cluster.CertificateAuthority != "" {
		return c, fmt.Errorf("the kubeconfig refers to %s, which the agent may not find: it has to contain certificate-authority-data", c.Cluster.CertificateAuthority)
	}
	c.Token = config.AuthInfos[context.AuthInfo].Token
	if c.Token == "" {
		return c, errors.New("the kubeconfig has no token")
	}
	c.Claims, err = nodetoken.Parse(c.Token)
	return c, err
}

// Replaces reports whether new credentials are to replace those of a kubeconfig with a token file, which an agent may
// have renewed since: those of another cluster, or with a later token.
func (c Credentials) Replaces(kubeconfig []byte, token string, tokenFile string) bool {
	want, err := c.Kubeconfig(tokenFile)
	if err != nil || !slices.Equal(want, kubeconfig) {
		return true
	}
	is, err := nodetoken.Parse(token)
	return err != nil || is.Node != c.Claims.Node || c.Claims.Expires.After(is.Expires)
}
