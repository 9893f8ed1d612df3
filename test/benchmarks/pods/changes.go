package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// measureChanges changes the content of a File, one change after another, and measures the time from the start of kubectl apply to
// the change of the file on the first and the last of the nodes. Nodes have the clock of this machine.
func (l *lab) measureChanges(ctx context.Context, o options, r *result) error {
	for i := range o.changes {
		content := fmt.Sprintf("change %d", i)
		began := time.Now()
		err := l.Apply(ctx, fmt.Sprintf("apiVersion: fettle.dev/v1alpha1\nkind: File\nmetadata: {name: change}\nspec: {nodeSelector: {}, path: /etc/change, content: %s}\n", content))
		if err != nil {
			return err
		}
		r.applied = append(r.applied, time.Since(began))
		took, err := l.arrivals(ctx, content, began)
		if err != nil {
			return err
		}
		r.first, r.last = append(r.first, slices.Min(took)), append(r.last, slices.Max(took))
		if _, err := l.Kubectl(ctx, "wait", "--for=condition=Ready", "--timeout=1m", "file/change"); err != nil {
			return err
		}
	}
	return nil
}

// arrivals returns when the file changed on each node, since began.
func (l *lab) arrivals(ctx context.Context, content string, began time.Time) ([]time.Duration, error) {
	took := make([]time.Duration, len(l.Nodes()))
	nodes, ctx := errgroup.WithContext(ctx)
	for i, n := range l.Nodes() {
		nodes.Go(func() error {
			out, err := n.Shell(ctx, fmt.Sprintf(`for i in $(seq 600); do
	if [ "$(cat /etc/change 2>/dev/null)" = %q ]; then exec stat --format %%.9Z /etc/change; fi
	sleep 0.1
done
exit 1`, content))
			if err != nil {
				return fmt.Errorf("%s has no %q after a minute: %w", n.Name, content, err)
			}
			seconds, fraction, _ := strings.Cut(strings.TrimSpace(out), ".")
			s, err := strconv.ParseInt(seconds, 10, 64)
			if err != nil {
				return err
			}
			ns, err := strconv.ParseInt(fraction, 10, 64)
			took[i] = time.Unix(s, ns).Sub(began)
			return err
		})
	}
	return took, nodes.Wait()
}
