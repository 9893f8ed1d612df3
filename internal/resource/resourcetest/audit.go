package resourcetest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/internal/resource"
)

// isAudited reads the properties of a managed resource again without managing them: an audit must
// return all of them.
func (l *lifecycle) isAudited(ctx context.Context, managed resource.Resource) error {
	if managed.Traits().Imperative {
		return nil
	}
	audited, err := l.audit(ctx, managed.Namevar())
	if err != nil {
		return err
	}
	if l.c.Secret != "" && strings.Contains(fmt.Sprint(audited), l.c.Secret) {
		return errors.New("an audit shows the secret")
	}
	if !managed.State().Exists {
		return nil
	}
	for property, value := range managed.Compare().Observed {
		if value != "" && audited[property] == "" {
			return fmt.Errorf("%s is %s when it is managed, but absent when it is only audited", property, value)
		}
	}
	return nil
}

// audit returns all properties of a resource that manages none of them.
func (l *lifecycle) audit(ctx context.Context, namevar string) (map[string]string, error) {
	r, err := l.kind.Named(namevar)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(l.choose(r), r.Audit([]string{resource.AllProperties})); err != nil {
		return nil, err
	}
	if err := r.Read(ctx, Reader(l.host)); err != nil {
		return nil, fmt.Errorf("cannot read the resource for an audit: %w", err)
	}
	values := map[string]string{}
	for _, v := range r.Audited([]byte("key")) {
		values[v.Property] = v.Value
	}
	return values, nil
}
