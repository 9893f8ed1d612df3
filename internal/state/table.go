package state

import (
	"bytes"
	"encoding/json"
	"maps"
	"sync"

	"github.com/fxamacker/cbor/v2"
	"go.etcd.io/bbolt"

	"github.com/fettle-dev/fettle/internal/resource"
)

// texts are values by property.
type texts = map[string]string

// textModes encode texts as CBOR byte strings. Values need not be UTF-8, and a run decodes one text
// map per resource, which takes a fraction of the time that JSON takes.
var textModes = sync.OnceValues(func() (cbor.EncMode, cbor.DecMode) {
	enc, err := cbor.EncOptions{String: cbor.StringToByteString, Sort: cbor.SortBytewiseLexical}.EncMode()
	if err != nil { // the options are constants
		panic(err)
	}
	dec, err := cbor.DecOptions{ByteStringToString: cbor.ByteStringToStringAllowed}.DecMode()
	if err != nil {
		panic(err)
	}
	return enc, dec
})

// A table is one kind of stored values: a bucket of encoded values by Kind/name.
type table[V any] struct {
	bucket []byte
	encode func(v any) ([]byte, error)
	decode func(raw []byte, v any) error
	// check returns an error if bytes are no encoded value. Values with a check are decoded when somebody asks for them, because a
	// correction of drift asks for a few of thousands.
	check  func(raw []byte) error
	stored map[resource.Ref][]byte // encoded values that nobody has asked for
	values map[resource.Ref]V      // all others
	dirty  map[resource.Ref]bool   // keys whose values differ from the disk
}

// newTable returns a table that encodes values as JSON.
func newTable[V any](bucket string) table[V] {
	return table[V]{
		bucket: []byte(bucket), encode: json.Marshal, decode: json.Unmarshal,
		stored: map[resource.Ref][]byte{}, values: map[resource.Ref]V{}, dirty: map[resource.Ref]bool{},
	}
}

func newTexts(bucket string) table[texts] {
	enc, dec := textModes()
	t := newTable[texts](bucket)
	t.encode, t.decode, t.check = enc.Marshal, dec.Unmarshal, dec.Wellformed
	return t
}

// An observation is what a run last observed of an object.
type observation struct {
	values    texts
	completed string // see [Store.Completed]
}

// completed is the key among the observed values under which the file has what [Store.Completed] returns. It is no name of a
// property.
const completed = "complete for"

func newObservations(bucket string) table[observation] {
	of := newTexts(bucket)
	t := newTable[observation](bucket)
	t.check = of.check
	t.encode = func(v any) ([]byte, error) {
		o := v.(observation)
		if o.completed == "" {
			return of.encode(o.values)
		}
		all := texts{completed: o.completed}
		maps.Copy(all, o.values)
		return of.encode(all)
	}
	t.decode = func(raw []byte, v any) error {
		o := v.(*observation)
		err := of.decode(raw, &o.values)
		o.completed = o.values[completed]
		delete(o.values, completed)
		return err
	}
	return t
}

// get returns a value; the zero value if there is none, or one that cannot be decoded.
func (t table[V]) get(ref resource.Ref) V {
	if raw, there := t.stored[ref]; there {
		delete(t.stored, ref)
		var v V
		if t.decode(raw, &v) == nil {
			t.values[ref] = v
		}
	}
	return t.values[ref]
}

func (t table[V]) set(ref resource.Ref, v V) {
	delete(t.stored, ref)
	t.values[ref] = v
	t.dirty[ref] = true
}

func (t table[V]) drop(ref resource.Ref) {
	_, encoded := t.stored[ref]
	if _, there := t.values[ref]; there || encoded {
		delete(t.stored, ref)
		delete(t.values, ref)
		t.dirty[ref] = true
	}
}

func (t table[V]) retain(keep func(resource.Ref) bool) {
	for ref := range t.stored {
		if !keep(ref) {
			t.drop(ref)
		}
	}
	for ref := range t.values {
		if !keep(ref) {
			t.drop(ref)
		}
	}
}

func (t table[V]) read(source *bbolt.Bucket) error {
	return each(source, t.bucket, func(ref resource.Ref, raw []byte) error {
		if t.check != nil {
			t.stored[ref] = bytes.Clone(raw)
			return t.check(raw)
		}
		var v V
		err := t.decode(raw, &v)
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
		raw, err := t.encode(v)
		if err != nil {
			return err
		}
		if err := put(b, ref, raw, there); err != nil {
			return err
		}
	}
	return nil
}
