package types

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"

	"github.com/fettle-dev/fettle/internal/external/definition"
)

// A list is a document with a [definition.Definition.Ref] for each kind.
type list struct {
	name string
	refs map[string]string // nil until it was read from disk
}

func (s *Store) read(l *list) {
	if l.refs != nil {
		return
	}
	l.refs = map[string]string{}
	body, err := s.disk.Get(l.name)
	if err == nil {
		err = json.Unmarshal(body, &l.refs)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.warn("cannot read the list of types from disk", "error", err)
	}
}

func (s *Store) write(l list) {
	body, err := json.Marshal(l.refs)
	if err == nil {
		err = s.disk.Put(l.name, body)
	}
	if err != nil {
		s.warn("cannot save the list of types on disk", "error", err)
	}
}

// remember records the types of the latest catalog.
func (s *Store) remember(all []*definition.Definition) {
	s.read(&s.newest)
	before := maps.Clone(s.newest.refs)
	s.latest = nil
	for _, d := range all {
		s.newest.refs[d.Spec.Kind] = d.Ref()
		s.latest = append(s.latest, d.Spec.Kind)
	}
	if !maps.Equal(before, s.newest.refs) {
		s.write(s.newest)
	}
}
