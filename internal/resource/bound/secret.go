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

// setSecrets sets the attributes that come from Secrets.
func (d *desired[A]) setSecrets(secrets []resource.Secret) error {
	for _, s := range secrets {
		list, name, _ := strings.Cut(s.Attribute, ".")
		switch set, add := d.t.Secrets[s.Attribute], d.t.SecretEntries[list]; {
		case set != nil:
			set(&d.want, s.Value)
		case add != nil && name != "":
			add(&d.want, name, s.Value)
		default:
			can := slices.Sorted(maps.Keys(d.t.Secrets))
			return fmt.Errorf("%s of %s can't come from a Secret; of %s these can: %s",
				s.Attribute, d.ref, d.t.Name, strings.Join(slices.AppendSeq(can, maps.Keys(d.t.SecretEntries)), ", "))
		}
		d.secrets = append(d.secrets, list)
	}
	return nil
}

func (d *desired[A]) HasSecret() bool { return len(d.secrets) > 0 && d.t.RecordSecrets != nil }

func (k kind[A]) RecordSecrets(ctx context.Context, h resource.Writer, all []resource.Resource) error {
	return k.t.RecordSecrets(ctx, h, wantsOf[A](all))
}

// redacted replaces an error that quotes a secret, in case a type's own message does so.
func redacted(err error, secrets []resource.Secret) error {
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
