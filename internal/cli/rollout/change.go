package rollout

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/cli/overview"
)

// A change sets a field of the spec of a policy, or removes it.
type change struct {
	field string
	value any // nil removes the field
}

// A changer is what the commands share that change a policy.
type changer struct {
	Options
	dryRun flags.DryRun
}

// add adds what the commands share.
func (c *changer) add(cmd *cobra.Command) {
	c.dryRun.Add(cmd)
	cmd.ValidArgsFunction = c.completePolicy
	cmd.Args = cobra.ExactArgs(1)
}

// policy returns a client and a policy to change.
func (c *changer) policy(ctx context.Context, name string) (client *overview.Client, p v1alpha1.RolloutPolicy, err error) {
	if err := c.dryRun.Check(); err != nil {
		return nil, p, err
	}
	if client, err = c.Connect(); err != nil {
		return nil, p, err
	}
	p, err = client.Policy(ctx, name)
	return client, p, err
}

// change writes changes and prints a line about them, and whether something will revert them.
func (c *changer) change(ctx context.Context, client *overview.Client, p v1alpha1.RolloutPolicy, changes []change, line string) error {
	spec := map[string]any{}
	for _, one := range changes {
		spec[one.field] = one.value
	}
	if err := client.ChangePolicy(ctx, p.Name, overview.PolicyChange{Spec: spec, DryRun: c.dryRun.Server()}); err != nil {
		return err
	}
	c.Out.Print("policy %s %s%s", p.Name, line, c.dryRun.Done())
	for _, w := range warnings(p, changes) {
		c.Out.Warn("%s", w)
	}
	return nil
}
