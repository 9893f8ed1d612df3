// Package credentials reads and writes the credentials of an agent that runs as a service of its host: a kubeconfig
// with a token that is bound to the host's Node.
package credentials

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd/api"
	// The package clientcmd reads and writes kubeconfigs in the same way, and adds a client to the program.
	"k8s.io/client-go/tools/clientcmd/api/latest"

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
	text, err := runtime.Encode(latest.Codec, config)
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
	config, err := load(kubeconfig)
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

// load decodes a kubeconfig. The codec decodes no empty one.
func load(kubeconfig []byte) (*api.Config, error) {
	config := api.NewConfig()
	if len(kubeconfig) == 0 {
		return config, nil
	}
	err := runtime.DecodeInto(latest.Codec, kubeconfig, config)
	return config, err
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
