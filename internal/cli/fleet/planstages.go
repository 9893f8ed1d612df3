package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/cli/overview"
	"github.com/fettle-dev/fettle/internal/fleet/rollout/policies"
	"github.com/fettle-dev/fettle/internal/manifest"
	"github.com/fettle-dev/fettle/internal/source"
	"github.com/fettle-dev/fettle/internal/text"
)

// readPolicies reads the RolloutPolicies of --policy.
func (c *planCommand) readPolicies(ctx context.Context) (all []v1alpha1.RolloutPolicy, err error) {
	if len(c.policies) == 0 {
		return nil, nil
	}
	sources, err := source.Loader{Stdin: c.In}.Expand(source.Request{Files: c.policies})
	if err != nil {
		return nil, err
	}
	set := manifest.Read(ctx, sources, nil)
	for _, fault := range set.Faults {
		c.out.WarnIn(output.Red, "%s", fault)
	}
	switch {
	case len(set.Faults) > 0:
		return nil, errors.New("nothing was planned: correct the RolloutPolicies first")
	case len(set.Policies) == 0:
		return nil, fmt.Errorf("--policy %s has no RolloutPolicy: name a file that has one", strings.Join(c.policies, ","))
	}
	for _, p := range set.Policies {
		all = append(all, *p.RolloutPolicy)
	}
	return all, nil
}

// passThrough adds which RolloutPolicies the change would pass, if the specs of those in changed were applied. An older manager has none.
func (c *planCommand) passThrough(ctx context.Context, client *overview.Client, p *overview.Plan, changed []v1alpha1.RolloutPolicy) {
	all, err := client.Policies(ctx)
	if apierrors.IsNotFound(err) {
		err = nil
	}
	nodes, nodesErr := client.NodeLabels(ctx)
	if err := errors.Join(err, nodesErr); err != nil {
		c.out.Warn("cannot say which RolloutPolicies the change would pass: %v", err)
		return
	}
	p.PassThrough(overview.WithPolicies(all, changed), nodes, time.Now())
}

// stagesLine says which RolloutPolicies a change would pass, and how long that takes; "" if it is not known, or nothing changes.
func stagesLine(p *overview.Plan) string {
	all := p.RolloutPolicies
	if len(all) == 0 {
		return ""
	}
	if len(all) == 1 && isFree(all[0]) {
		return "No RolloutPolicy: the change reaches all nodes at once"
	}
	line, before := "RolloutPolicies: ", ""
	for i, s := range all {
		switch {
		case i > 0 && len(s.After) > 0:
			line += ", then "
		case i > 0:
			line += ", and "
		}
		line += stageText(s, before)
		before = s.Policy
	}
	return line
}

// isFree reports whether a stage has the nodes that no policy takes.
func isFree(s policies.Stage) bool { return s.Policy == "" && s.Waits == "" }

// stageText is "staging (3 of 40 nodes, 2 waves, at least 4m10s)". before is the policy that was named before it.
func stageText(s policies.Stage, before string) string {
	nodes := fmt.Sprintf("%d of %s", s.Affected, text.Count(s.Nodes, "node"))
	switch {
	case isFree(s):
		return nodes + " at once, without a policy"
	case s.Policy == "":
		return nodes + " (" + s.Waits + ")"
	}
	parts := []string{nodes}
	if s.Affected > 0 {
		parts = append(parts, text.Count(s.Waves, "wave"), "at least "+briefly(s.AtLeast.Duration))
	}
	if len(s.After) > 0 && !slices.Equal(s.After, []string{before}) {
		parts = append(parts, "after "+text.List(s.After))
	}
	if s.Waits != "" {
		parts = append(parts, s.Waits)
	}
	return s.Policy + " (" + strings.Join(parts, ", ") + ")"
}

// briefly is a duration without its zeros: 4m, 4m10s, 2h.
func briefly(d time.Duration) string {
	line := d.String()
	for _, zero := range []struct{ end, after string }{{"0s", "m"}, {"0m", "h"}} {
		if short, found := strings.CutSuffix(line, zero.end); found && strings.HasSuffix(short, zero.after) {
			line = short
		}
	}
	return line
}
