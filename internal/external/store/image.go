package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/external/image"
	"github.com/fettle-dev/fettle/internal/external/image/archive"
	"github.com/fettle-dev/fettle/internal/external/image/signature"
	"github.com/fettle-dev/fettle/internal/host"
)

// A Registry has images: a *image.Client.
type Registry interface {
	Pull(ctx context.Context, ref string, to archive.Sink) (image.Content, error)
	Signatures(ctx context.Context, ref string) ([]signature.Signature, error)
}

// Names in the directory of an image. The record is written last, so what is left of an interrupted pull has none.
const (
	contents = "content"
	record   = "record.json"
)

// A MissingError means that an image has to be pulled before it can be used.
type MissingError struct {
	Image string
	Why   error // nil if it was not pulled yet
}

// Error names the image.
func (e *MissingError) Error() string {
	if e.Why == nil {
		return fmt.Sprintf("the image %s is not on this host yet", e.Image)
	}
	return fmt.Sprintf("the image %s on this host cannot be used: %v", e.Image, e.Why)
}

// Unwrap returns why it cannot be used.
func (e *MissingError) Unwrap() error { return e.Why }

// Check returns a *MissingError unless the image of a type can be used. It reads all files. Types with other sources need no image.
func (s *Store) Check(d *definition.Definition) error {
	if d.Spec.Source.Image == "" {
		return nil
	}
	content, err := s.content(d)
	if errors.Is(err, fs.ErrNotExist) {
		return &MissingError{Image: d.Spec.Source.Image}
	}
	if err == nil {
		err = s.verify(d, content)
	}
	if err != nil {
		return &MissingError{Image: d.Spec.Source.Image, Why: err}
	}
	return nil
}

// content returns the record of an image whose files are as they were unpacked.
func (s *Store) content(d *definition.Definition) (image.Content, error) {
	var c image.Content
	dir := path.Join(s.dir, nameOf(d))
	text, err := s.host.ReadFile(path.Join(dir, record))
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err == nil {
		err = s.matches(path.Join(dir, contents), c.Entries)
	}
	return c, err
}

// verify verifies the signatures with the keys as they are now.
func (s *Store) verify(d *definition.Definition, c image.Content) error {
	if s.keys == nil {
		return nil
	}
	keys, err := s.keys()
	if err != nil {
		return err
	}
	return keys.Verify(definition.ImageDigestOf(d.Spec.Source.Image), c.Signatures)
}

// Pull stores the image of a type, unless it is there. It waits for another pull of the same image. After an error, what was unpacked is
// removed.
func (s *Store) Pull(ctx context.Context, from Registry, d *definition.Definition) error {
	name := nameOf(d)
	if err := s.begin(ctx, name); err != nil {
		return err
	}
	defer s.end(name)
	if s.Check(d) == nil {
		return nil
	}
	dir := path.Join(s.dir, name)
	content, err := s.content(d)
	if err != nil {
		return s.pull(ctx, from, d.Spec.Source.Image, dir)
	}
	// Only a signature is missing.
	if content.Signatures, err = from.Signatures(ctx, d.Spec.Source.Image); err != nil {
		return err
	}
	return s.record(ctx, dir, content)
}

// begin waits until no other pull uses a directory.
func (s *Store) begin(ctx context.Context, name string) error {
	for {
		s.mu.Lock()
		other := s.pulling[name]
		if other == nil {
			s.pulling[name], s.retained = make(chan struct{}), nil
		}
		s.mu.Unlock()
		if other == nil {
			return nil
		}
		select {
		case <-other:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *Store) end(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.pulling[name])
	delete(s.pulling, name)
}

func (s *Store) pull(ctx context.Context, from Registry, ref, dir string) error {
	if err := s.host.RemoveAll(dir); err != nil {
		return err
	}
	err := s.mkdirAll(path.Join(dir, contents))
	var content image.Content
	if err == nil {
		content, err = from.Pull(ctx, ref, sink{s.host, path.Join(dir, contents)})
	}
	if err == nil {
		err = s.record(ctx, dir, content)
	}
	if err != nil {
		return errors.Join(err, s.host.RemoveAll(dir))
	}
	return nil
}

func (s *Store) record(ctx context.Context, dir string, c image.Content) error {
	text, err := json.Marshal(c)
	if err == nil {
		_, err = s.host.WriteFile(ctx, path.Join(dir, record), host.NewFile{Content: bytes.NewReader(text), Mode: new(uint32(dataMode))})
	}
	return err
}
