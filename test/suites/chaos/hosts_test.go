//go:build rare

package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
)

type attributes = v1alpha1.FileAttributes

// A machine is a node's host: files in memory. It is the provider of the node's agent. It is safe for concurrent use.
type machine struct {
	group string // of its node

	mu       sync.Mutex
	files    map[string]attributes
	writes   map[string]int  // by path
	rejected map[string]bool // contents
}

func newMachine(group string) *machine {
	return &machine{group: group, files: map[string]attributes{}, writes: map[string]int{}, rejected: map[string]bool{}}
}

// badContent returns content that no host accepts, or none of a group. number tells it from others.
func badContent(group string, number int) string {
	return fmt.Sprintf("bad%s: change %d", group, number)
}

// breaks reports whether a content is bad on this host.
func (m *machine) breaks(content string) bool {
	return strings.HasPrefix(content, "bad:") || strings.HasPrefix(content, "bad"+m.group+":")
}

// rejects reports whether the agent has ever tried to write a content that is bad on this host.
func (m *machine) rejects(content string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rejected[content]
}

func (*machine) Name() string                            { return "memory" }
func (*machine) Suits(resource.Facts, host.Reader) error { return nil }

func (m *machine) Read(_ context.Context, _ resource.Reader, want attributes) (attributes, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	is := m.files[want.Path]
	is.Path = want.Path
	return is, nil
}

func (m *machine) Write(_ context.Context, _ resource.Writer, _, want attributes, _ []resource.Change) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if want.Content != nil && m.breaks(*want.Content) {
		m.rejected[*want.Content] = true
		return errors.New("the content is bad")
	}
	m.files[want.Path] = attributes{Content: want.Content, Mode: want.Mode}
	m.writes[want.Path]++
	return nil
}

// kinds returns the kinds of the agent.
func (m *machine) kinds() []resource.Kind {
	t := &resource.Type[attributes]{
		Name: "File", NamevarName: "path", Namevar: func(a *attributes) *string { return &a.Path },
		Properties: []resource.Property[attributes]{
			resource.Field("content", "what is in it", func(a *attributes) *string { return a.Content }),
			resource.Field("mode", "who may do what", func(a *attributes) *string { return a.Mode }),
		},
		Secrets:   map[string]func(*attributes, string){"content": func(a *attributes, value string) { a.Content = &value }},
		Providers: []resource.Provider[attributes]{m},
	}
	return []resource.Kind{bound.Kind(t)}
}

// drift changes a file behind the agent's back.
func (m *machine) drift(path, content string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[path] = attributes{Content: &content}
}

// content returns the content of a file, or "" if it does not exist.
func (m *machine) content(path string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if content := m.files[path].Content; content != nil {
		return *content
	}
	return ""
}

// writeCounts counts the writes of each file since the machine was created.
func (m *machine) writeCounts() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.writes)
}
