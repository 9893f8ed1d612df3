package overview

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/internal/text"
)

// Versions are the versions of the programs that work together.
type Versions struct {
	Client string         `json:"client"`
	Agents []AgentVersion `json:"agents,omitempty"`
}

// An AgentVersion is a version and the nodes whose agents reported it last; "" of those that have not reported.
type AgentVersion struct {
	Version string   `json:"version"`
	Nodes   []string `json:"nodes"`
}

// Versions returns the versions of the agents.
func (c *Client) Versions(ctx context.Context) (v Versions, err error) {
	type reporting struct {
		metav1.ObjectMeta `json:"metadata"`
		Status            struct {
			AgentVersion string `json:"agentVersion"`
		} `json:"status"`
	}
	all, err := list[reporting](ctx, c, catalogsPath(), "application/json")
	if err != nil {
		return v, err
	}
	of := map[string][]string{}
	for _, n := range all {
		of[n.Status.AgentVersion] = append(of[n.Status.AgentVersion], n.Name)
	}
	for version, nodes := range of {
		v.Agents = append(v.Agents, AgentVersion{version, nodes})
	}
	slices.SortFunc(v.Agents, func(a, b AgentVersion) int {
		return cmp.Or(cmp.Compare(len(b.Nodes), len(a.Nodes)), cmp.Compare(a.Version, b.Version))
	})
	return v, nil
}

// String is "v1.2 on 3 nodes", or names the nodes if they are few.
func (a AgentVersion) String() string {
	where := text.Count(len(a.Nodes), "node")
	if len(a.Nodes) <= fewNodes {
		where = text.List(a.Nodes)
	}
	return fmt.Sprintf("%s on %s", cmp.Or(a.Version, "unknown"), where)
}

// fewNodes is the number of nodes that are named.
const fewNodes = 3
