package controllers

import (
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/compiler"
)

// specs remember the specs of NodeCatalogs as they were last read or written, whichever is
// newer: the cache may be behind a write. They are not safe for concurrent use.
type specs map[string]spec // by node

// A spec is the spec of one generation of a NodeCatalog.
type spec struct {
	v1alpha1.NodeCatalogSpec // zero in specs while the cache has it
	uid                      types.UID
	generation               int64
	content                  int64 // generation since which the node is to have the same: later ones are marks
	digest                   string
	noop                     bool
	inSync                   int  // revision of the edits with which the node last had its desired spec
	cached                   bool // the cache has had the NodeCatalog
}

// observe takes in the NodeCatalogs of a snapshot, forgets nodes that are gone, and reports whether a NodeCatalog is missing that was
// there before while its Node stays.
func (k specs) observe(s *snapshot) (missing bool) {
	for node, nc := range s.nodeCatalogs {
		is := k.of(nc)
		if is.generation == nc.Generation {
			is.NodeCatalogSpec = v1alpha1.NodeCatalogSpec{}
		}
		k[node] = is
	}
	maps.DeleteFunc(k, func(node string, _ spec) bool { return !s.exists(node) })
	for node, is := range k {
		missing = missing || is.cached && s.nodeCatalogs[node] == nil
	}
	return missing
}

// newest returns the newest known specs of NodeCatalogs, by node.
func (k specs) newest(nodeCatalogs map[string]*v1alpha1.NodeCatalog) map[string]spec {
	all := make(map[string]spec, len(nodeCatalogs))
	for node, nc := range nodeCatalogs {
		all[node] = k.of(nc)
	}
	return all
}

// of returns the newest known spec of a NodeCatalog that the cache has.
func (k specs) of(nc *v1alpha1.NodeCatalog) spec {
	is := k[nc.Name]
	if is.uid == nc.UID && is.generation > nc.Generation {
		return is
	}
	if is.uid != nc.UID {
		is = spec{uid: nc.UID}
	}
	is.cached = true
	if is.generation != nc.Generation {
		digest := catalog.Digest(nc.Spec)
		if nc.Generation != is.generation+1 || digest != is.digest || nc.Spec.Noop != is.noop {
			is.content = nc.Generation
		}
		is.generation, is.digest, is.noop = nc.Generation, digest, nc.Spec.Noop
	}
	is.NodeCatalogSpec = nc.Spec
	return is
}

// recordWrite records a spec that replaced another one, or the zero spec. If someone else wrote in between,
// the result is not known, and the cache will tell.
func (k specs) recordWrite(node string, before, now spec) {
	if now.generation <= before.generation+1 {
		k[node] = now
	}
}

// setInSync records that a node has its desired spec as of a revision.
func (k specs) setInSync(node string, revision int) {
	s := k[node]
	s.inSync = revision
	k[node] = s
}

// matches reports whether this is the desired spec, apart from its mark. noop and disabled are not compared: people set them.
func (s spec) matches(want *compiler.NodeResult) bool {
	return s.digest == want.Digest && slices.Equal(s.Withheld, want.Spec.Withheld)
}

// heldAs identifies the hold of a NodeCatalog that began at a time.
func (s spec) heldAs(since metav1.Time) string {
	return fmt.Sprintf("%s %s", s.uid, since.UTC().Format(time.RFC3339))
}

// applied reports whether a node has applied a spec with a digest, and this generation of its
// NodeCatalog or one with the same content: a spec that was changed and changed back has one digest. Of generations from before
// a manager started, it knows only the newest.
func (s spec) applied(digest string, status v1alpha1.NodeCatalogStatus) bool {
	return status.AppliedDigest == digest && status.AppliedGeneration >= s.content
}
