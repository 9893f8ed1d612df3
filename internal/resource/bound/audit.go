package bound

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/resource"
)

func (b *bound[A]) Audit(properties []string) error {
	if b.t.Imperative || len(b.t.Properties) == 0 {
		return fmt.Errorf("audit: resources of kind %s leave no state to audit; remove audit", b.t.Name)
	}
	all := slices.Contains(properties, resource.AllProperties)
	var names, chosen []string
	for _, p := range b.t.Properties {
		names = append(names, p.Name)
		if all || slices.Contains(properties, p.Name) {
			chosen = append(chosen, p.Name)
		}
	}
	for _, name := range properties {
		if name != resource.AllProperties && !slices.Contains(names, name) {
			return fmt.Errorf("audit: %s has no property %q; write %s, or %s", b.t.Name, name, resource.AllProperties, strings.Join(names, ", "))
		}
	}
	b.audited = chosen
	return nil
}

func (b *bound[A]) Audited(key []byte) []resource.AuditedValue {
	values := make([]resource.AuditedValue, 0, len(b.audited))
	exists := exists(b.t, b.state.is)
	for _, p := range b.t.Properties {
		if !slices.Contains(b.audited, p.Name) {
			continue
		}
		v := resource.AuditedValue{Property: p.Name, Sensitive: b.hides(p, b.state.is)}
		switch {
		case !exists && p.Name != resource.Ensure: // absent
		case v.Sensitive:
			v.Value = b.digest(p, key)
		default:
			v.Value = p.Show(b.state.is)
		}
		values = append(values, v)
	}
	return values
}

// digest returns the keyed digest of an attribute as it was read, "" if it is absent. Without the
// key it only reveals whether two values differ.
func (b *bound[A]) digest(p resource.Property[A], key []byte) string {
	var value []byte
	if p.Token != nil {
		value = []byte(p.Token(b.state.is))
	} else {
		value = encoded(b.state.is)[p.Name]
	}
	if len(value) == 0 {
		return ""
	}
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte(b.t.Name + "/" + b.CanonicalName() + "\x00" + p.Name + "\x00")) // a hash accepts every write
	_, _ = mac.Write(value)
	return "{hmac-sha256}" + hex.EncodeToString(mac.Sum(nil))
}

// encoded returns attributes as JSON, or nil if they can't be encoded, which does not happen to
// plain data.
func encoded(attributes any) map[string]json.RawMessage {
	var all map[string]json.RawMessage
	raw, err := json.Marshal(attributes)
	if err != nil || json.Unmarshal(raw, &all) != nil {
		return nil
	}
	return all
}
