package bound

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/redact"
)

// withSecrets sets the attributes that come from Secrets.
func (b *bound[A]) withSecrets(secrets []resource.Secret) error {
	for _, s := range secrets {
		list, name, _ := strings.Cut(s.Attribute, ".")
		switch set, add := b.t.Secrets[s.Attribute], b.t.SecretEntries[list]; {
		case set != nil:
			set(&b.want, s.Value)
		case add != nil && name != "":
			add(&b.want, name, s.Value)
		default:
			can := slices.Sorted(maps.Keys(b.t.Secrets))
			return fmt.Errorf("%s of %s can't come from a Secret; of %s these can: %s",
				s.Attribute, b.ref, b.t.Name, strings.Join(slices.AppendSeq(can, maps.Keys(b.t.SecretEntries)), ", "))
		}
		b.secrets = append(b.secrets, list)
	}
	return nil
}

func (b *bound[A]) HasSecret() bool { return len(b.secrets) > 0 && b.t.RecordSecrets != nil }

// RecordSecrets records resources of one kind, for all of which HasSecret must be true, as secret
// on the host: see [Type.RecordSecrets].
func RecordSecrets(ctx context.Context, h resource.Writer, all []resource.Resource) error {
	if len(all) == 0 {
		return nil
	}
	return all[0].(erased).recordSecrets(ctx, h, all)
}

func (b *bound[A]) recordSecrets(ctx context.Context, h resource.Writer, all []resource.Resource) error {
	wants := make([]A, len(all))
	for i, r := range all {
		wants[i] = r.(*bound[A]).want
	}
	return b.t.RecordSecrets(ctx, h, wants)
}

// unsaid replaces an error that quotes a secret, in case a type's own message does so.
func unsaid(err error, secrets []resource.Secret) error {
	if err == nil {
		return nil
	}
	for _, s := range secrets {
		if redact.Of(s.Value).In(err.Error()) {
			return errors.New(s.Attribute + " is invalid (details omitted: the value is secret): see what the attribute accepts")
		}
	}
	return err
}
