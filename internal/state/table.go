package state

import (
	"encoding/json"

	"go.etcd.io/bbolt"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
)

// texts are values by property. They are kept as JSON, which holds UTF-8 alone, encoded by
// [text.Encode].
type texts map[string]string

// MarshalJSON encodes the values.
func (t texts) MarshalJSON() ([]byte, error) {
	encoded := make(map[string]string, len(t))
	for k, v := range t {
		encoded[k] = text.Encode(v)
	}
	return json.Marshal(encoded)
}

// UnmarshalJSON is the reverse of MarshalJSON.
func (t *texts) UnmarshalJSON(raw []byte) error {
	err := json.Unmarshal(raw, (*map[string]string)(t))
	for k, v := range *t {
		(*t)[k] = text.Decode(v)
	}
	return err
}

// A table is one sort of what is remembered of things: a bucket of JSON values by
// Kind/namevar. What was set is on disk once it was written.
type table[V any] struct {
	bucket []byte
	values map[resource.Ref]V
	dirty  map[resource.Ref]bool // keys whose values differ from the disk
}

func newTable[V any](bucket string) table[V] {
	return table[V]{bucket: []byte(bucket), values: map[resource.Ref]V{}, dirty: map[resource.Ref]bool{}}
}

func (t table[V]) set(ref resource.Ref, v V) {
	t.values[ref] = v
	t.dirty[ref] = true
}

func (t table[V]) drop(ref resource.Ref) {
	if _, there := t.values[ref]; there {
		delete(t.values, ref)
		t.dirty[ref] = true
	}
}

func (t table[V]) retain(keep func(resource.Ref) bool) {
	for ref := range t.values {
		if !keep(ref) {
			delete(t.values, ref)
			t.dirty[ref] = true
		}
	}
}

func (t table[V]) read(source *bbolt.Bucket) error {
	return each(source, t.bucket, func(ref resource.Ref, raw []byte) error {
		var v V
		err := json.Unmarshal(raw, &v)
		t.values[ref] = v
		return err
	})
}

func (t table[V]) write(source *bbolt.Bucket) error {
	if len(t.dirty) == 0 {
		return nil
	}
	b, err := source.CreateBucketIfNotExists(t.bucket)
	if err != nil {
		return err
	}
	for ref := range t.dirty {
		v, there := t.values[ref]
		raw, err := json.Marshal(v)
		if err != nil {
			return err
		}
		if err := put(b, ref, raw, there); err != nil {
			return err
		}
	}
	return nil
}
