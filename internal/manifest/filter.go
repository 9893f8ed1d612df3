package manifest

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/json"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// Filter returns a text with only the documents that describe resources of Fettle and ConfigMaps, each on its original lines. ignored
// names the others, such as "Secret/db in web.yaml:1". A fault is a document that cannot be read.
func Filter(name string, text []byte) (own []byte, ignored []string, faults []Fault) {
	parts, err := split(name, text)
	if err != nil {
		faults = append(faults, Fault{Where: name, Message: err.Error()})
	}
	var out bytes.Buffer
	for _, p := range parts {
		if _, ok := firstContent(p.text); !ok {
			continue
		}
		o, err := read(p)
		if err != nil {
			faults = append(faults, Fault{Where: (&batch{}).where(object{part: p}), Message: err.Error()})
			continue
		}
		kept, others := filterDocument(o)
		ignored = append(ignored, others...)
		if kept == nil {
			continue
		}
		if line := bytes.Count(out.Bytes(), []byte("\n")) + 1; line < p.line {
			out.WriteString(strings.Repeat("\n", p.line-line-1) + "---\n")
		}
		out.Write(kept)
	}
	return out.Bytes(), ignored, faults
}

// filterDocument returns the text of a document, unchanged or with some items of its List; nil if nothing is kept.
func filterDocument(o object) (kept []byte, ignored []string) {
	var h head
	if json.UnmarshalCaseSensitivePreserveInts(o.raw, &h) != nil {
		return o.text, nil // Read says what is wrong
	}
	if !strings.HasSuffix(h.Kind, "List") {
		if isKept(h) {
			return o.text, nil
		}
		return nil, []string{fmt.Sprintf("%s in %s", h, (&batch{}).where(o))}
	}
	var l list
	if json.UnmarshalCaseSensitivePreserveInts(o.raw, &l) != nil {
		return nil, []string{fmt.Sprintf("%s in %s", h, (&batch{}).where(o))}
	}
	var items []stdjson.RawMessage
	for _, item := range l.Items {
		var of head
		if json.UnmarshalCaseSensitivePreserveInts(item, &of) == nil && !isKept(of) {
			ignored = append(ignored, fmt.Sprintf("%s in %s", of, (&batch{}).where(o)))
			continue
		}
		items = append(items, item)
	}
	if len(ignored) == 0 {
		return o.text, nil
	}
	if len(items) == 0 {
		return nil, ignored
	}
	l.Items = items
	kept, _ = stdjson.Marshal(l) // it was JSON
	return append(kept, '\n'), ignored
}

// isKept reports whether Filter keeps an object: a resource, an ExternalType or a ConfigMap. It drops nested Lists, whatever they have.
func isKept(h head) bool {
	gv, err := schema.ParseGroupVersion(h.APIVersion)
	switch {
	case err != nil, strings.HasSuffix(h.Kind, "List"):
		return false
	case gv.Group == v1alpha1.GroupVersion.Group, gv.Group == v1alpha1.ExternalGroupVersion.Group:
		return true
	}
	return gv == corev1.SchemeGroupVersion && h.Kind == "ConfigMap"
}
