package manifest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/source"
)

// A Set is the contents of manifests, in their order.
type Set struct {
	Documents  []Document // resources that an API server would accept
	ConfigMaps ConfigMaps
	Secrets    Secrets
	// Policies are the RolloutPolicies, which only clusters have.
	Policies []Policy
	// Types are the external types of the resources.
	Types Types
	// Faults are all errors. The rest of the Set has nothing that a fault is about, except for Fragments.
	Faults []Fault
	// Fragments are what can be read of the resources that Faults are about.
	Fragments []v1alpha1.Resource
	// Rejected is how many resources Faults are about.
	Rejected int
	// Ignored are documents of other API groups, such as "Deployment/web in web.yaml:1".
	Ignored []string
	// Digest identifies the documents.
	Digest [sha256.Size]byte
}

// A Document is one resource and its place.
type Document struct {
	line     int
	file     string
	item     string // of a List, such as items[0]; "" for the document itself
	Resource v1alpha1.Resource
	text     []byte // of the document, which begins in line begin
	begin    int
}

// Where returns the file and line where the document begins: web.yaml:12.
func (d Document) Where() string { return d.WhereIs(d.line) }

// WhereIs returns a line of the document's file: web.yaml:14.
func (d Document) WhereIs(line int) string { return fmt.Sprintf("%s:%d", d.file, line) }

// Resources returns the resources of the documents, in order.
func (s *Set) Resources() []v1alpha1.Resource {
	out := make([]v1alpha1.Resource, len(s.Documents))
	for i, d := range s.Documents {
		out[i] = d.Resource
	}
	return out
}

// Read reads sources, in their order. It validates resources against their CRDs with the API server's own code. The
// set has only those without faults. cache may be nil.
func Read(ctx context.Context, all []source.Source, cache *Cache) *Set {
	return Types{}.Read(ctx, all, cache)
}

// Read is the function Read for sources that may have resources of these external types, besides those that the sources
// themselves define.
func (t Types) Read(ctx context.Context, all []source.Source, cache *Cache) *Set {
	s := &Set{}
	parts := s.splitAll(ctx, all)
	s.declareAll(ctx, t, parts)
	s.addAll(ctx, parts, cache)
	s.refuseDuplicates()
	return s
}

// splitAll reads sources and splits them into documents.
func (s *Set) splitAll(ctx context.Context, all []source.Source) (parts []part) {
	for _, from := range all {
		text, err := from.Read(ctx)
		if err != nil {
			s.Faults = append(s.Faults, SourceFaults(err)...)
			continue
		}
		more, err := split(from.Name, text)
		if err != nil {
			s.Faults = append(s.Faults, Fault{Where: from.Name, Message: err.Error()})
		}
		parts = append(parts, more...)
	}
	return parts
}

// SourceFaults returns the faults of sources that cannot be read: err is the error of one source, or joins the errors of
// several. It returns none for nil.
func SourceFaults(err error) []Fault {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok { // a wrapped one is a single fault
		var all []Fault
		for _, e := range joined.Unwrap() {
			all = append(all, SourceFaults(e)...)
		}
		return all
	}
	if at, ok := err.(*fs.PathError); ok { //nolint:errorlint // as os returns it
		return []Fault{{Where: at.Path, Message: "cannot be read: " + at.Err.Error()}}
	}
	return []Fault{{Message: err.Error()}}
}

// addAll decodes documents on all processors and adds them in their order.
func (s *Set) addAll(ctx context.Context, parts []part, cache *Cache) {
	const share = 64 // small, so that no processor waits long for another
	shares := slices.Collect(slices.Chunk(parts, share))
	batches := make([]batch, len(shares))
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(shares)) {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(shares)); i = next.Add(1) - 1 {
				batches[i] = batch{Set: Set{Types: s.Types}, schemas: allSchemas(), cached: recording{cache: cache}}
				batches[i].readAll(ctx, shares[i])
			}
		})
	}
	group.Wait()
	digest := sha256.New()
	s.Types.addTo(digest)
	for _, b := range batches {
		s.Documents = append(s.Documents, b.Documents...)
		s.ConfigMaps = append(s.ConfigMaps, b.ConfigMaps...)
		s.Secrets = append(s.Secrets, b.Secrets...)
		s.Policies = append(s.Policies, b.Policies...)
		s.Faults = append(s.Faults, b.Faults...)
		s.Fragments = append(s.Fragments, b.Fragments...)
		s.Ignored = append(s.Ignored, b.Ignored...)
		s.Rejected += b.Rejected
		_, _ = digest.Write(b.hashes) // a hash accepts every write
		cache.add(b.cached.entries)
	}
	digest.Sum(s.Digest[:0])
}

// A batch builds a set from documents that are read one after the other.
type batch struct {
	Set
	schemas schemas
	cached  recording
	hashes  []byte // of the documents, one after the other

	declaring bool               // only types are read
	outline   func(object, head) // gets all objects, instead of the set; nil for a set

	laidOut part // the document that lines describes
	lines   layout
}

// layout returns the layout of a document, which is parsed once for all of its objects.
func (b *batch) layout(p part) layout {
	if b.laidOut.file != p.file || b.laidOut.line != p.line || b.laidOut.text == nil {
		b.laidOut, b.lines = p, layoutOf(p)
	}
	return b.lines
}

func (b *batch) readAll(ctx context.Context, parts []part) {
	for _, p := range parts {
		if _, ok := firstContent(p.text); !ok {
			continue
		}
		hash := sha256.Sum256(p.text)
		b.hashes = append(b.hashes, hash[:]...)
		if b.restore(p, hash) {
			continue
		}
		b.cached.begin()
		if o, err := read(p); err != nil {
			b.fault(object{part: p}, subject{}, fieldError{"", err.Error()})
		} else {
			b.add(ctx, o)
		}
		b.cached.end(hash)
	}
}

// line is the line where an object begins.
func (b *batch) line(o object) int {
	if o.path != "" {
		return b.layout(o.part).line(o.path)
	}
	lead, _ := firstContent(o.text)
	return o.line + lead
}

func (b *batch) where(o object) string { return fmt.Sprintf("%s:%d", o.file, b.line(o)) }

// refuseDuplicates removes resources that occur more than once: with kubectl the last one would win, and the author
// of the other would never know.
func (s *Set) refuseDuplicates() {
	first := make(map[v1alpha1.ResourceRef]Document, len(s.Documents))
	duplicate := map[v1alpha1.ResourceRef]bool{}
	for _, d := range s.Documents {
		ref := v1alpha1.RefOf(d.Resource)
		if other, ok := first[ref]; ok {
			duplicate[ref] = true
			s.Faults = append(s.Faults, Fault{d.Where(), ref, "", fmt.Sprintf("is already in %s; rename or remove one", other.Where())})
			continue
		}
		first[ref] = d
	}
	if len(duplicate) > 0 {
		s.Documents = slices.DeleteFunc(s.Documents, func(d Document) bool {
			is := duplicate[v1alpha1.RefOf(d.Resource)]
			if is {
				s.Rejected++
				s.Fragments = append(s.Fragments, d.Resource)
			}
			return is
		})
	}
}
