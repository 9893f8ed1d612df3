package manifest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/source"
)

// A Set is what files say, in the order in which they say it.
type Set struct {
	Documents  []Document
	ConfigMaps ConfigMaps
	Secrets    Secrets
	// Ignored are documents of other API groups, as "Deployment/web in web.yaml".
	Ignored []string
	// Digest is the SHA-256 of the files, one after the other.
	Digest [sha256.Size]byte
}

// A Document is one resource and where it stands.
type Document struct {
	Source   string // file, and the number of the document where the file has more
	Resource v1alpha1.Resource
	text     []byte // as it was written
}

// JSON is the document as JSON. It was read before, so there is no error.
func (d Document) JSON() []byte {
	o, err := read(d.text, nil)
	if err != nil {
		return nil
	}
	return o.raw
}

// Resources are those of the documents, in order.
func (s *Set) Resources() []v1alpha1.Resource {
	out := make([]v1alpha1.Resource, len(s.Documents))
	for i, d := range s.Documents {
		out[i] = d.Resource
	}
	return out
}

// Read reads sources, in their order. All that is wrong is in the error, a line each; the set
// has the rest.
func Read(ctx context.Context, all []source.Source) (*Set, error) {
	s := &Set{}
	digest := sha256.New()
	var errs []error
	for _, from := range all {
		errs = append(errs, s.readOne(ctx, from, digest))
	}
	errs = append(errs, s.twice())
	digest.Sum(s.Digest[:0])
	return s, errors.Join(errs...)
}

func (s *Set) readOne(ctx context.Context, from source.Source, digest io.Writer) error {
	text, err := from.Read(ctx)
	if err != nil {
		return err
	}
	_, _ = digest.Write(text) // a hash accepts every write
	docs, err := split(from.Name, text)
	return errors.Join(s.addAll(docs), err)
}

// addAll decodes documents on all processors, and adds them in their order.
func (s *Set) addAll(parts []part) error {
	const share = 64 // few enough that no processor waits long for another's last ones
	shares := slices.Collect(slices.Chunk(parts, share))
	sets, errs := make([]Set, len(shares)), make([]error, len(shares))
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(shares)) {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(shares)); i = next.Add(1) - 1 {
				errs[i] = sets[i].addEach(shares[i])
			}
		})
	}
	group.Wait()
	for _, other := range sets {
		s.Documents = append(s.Documents, other.Documents...)
		s.ConfigMaps = append(s.ConfigMaps, other.ConfigMaps...)
		s.Secrets = append(s.Secrets, other.Secrets...)
		s.Ignored = append(s.Ignored, other.Ignored...)
	}
	return errors.Join(errs...)
}

func (s *Set) addEach(parts []part) error {
	var errs []error
	var scratch []byte
	for _, p := range parts {
		errs = append(errs, s.add(p.source, p.text, &scratch))
	}
	return errors.Join(errs...)
}

// list is any List of objects, as kubectl get -o yaml prints it.
type list struct {
	metav1.TypeMeta `json:",inline"`
	Items           []yamlValue `json:"items"`
}

// yamlValue keeps an item as it is.
type yamlValue []byte

// UnmarshalJSON keeps the bytes.
func (v *yamlValue) UnmarshalJSON(b []byte) error {
	*v = bytes.Clone(b)
	return nil
}

// head is what says what an object is.
type head struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        struct {
		Name any `json:"name"` // what it must be is said of the resource
	} `json:"metadata"`
}

// String is kind and name, where it has one.
func (h head) String() string {
	if h.Metadata.Name == nil {
		return h.Kind
	}
	return fmt.Sprintf("%s/%v", h.Kind, h.Metadata.Name)
}

// add reads a document, and may use scratch for as long as that takes.
func (s *Set) add(source string, doc []byte, scratch *[]byte) error {
	if isEmpty(doc) {
		return nil
	}
	o, err := read(doc, scratch)
	if err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	head, err := o.head()
	if err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	return s.addObject(source, head, o, doc)
}

func (s *Set) addObject(source string, head head, o object, doc []byte) error {
	switch {
	case head.Kind == "":
		return fmt.Errorf("%s: kind is missing: is this a Kubernetes object?", source)
	case strings.HasSuffix(head.Kind, "List"):
		return s.addList(source, o)
	case head.APIVersion == "v1" && head.Kind == "ConfigMap":
		return s.addConfigMap(source, o)
	case head.APIVersion == "v1" && head.Kind == "Secret":
		return s.addSecret(source, o)
	}
	if group(head.APIVersion) != v1alpha1.GroupVersion.Group {
		s.Ignored = append(s.Ignored, fmt.Sprintf("%s in %s", head, source))
		return nil
	}
	if head.APIVersion != v1alpha1.GroupVersion.String() {
		return fmt.Errorf("%s: apiVersion %s is not known; write %s", source, head.APIVersion, v1alpha1.GroupVersion)
	}
	return s.addResource(source, head.Kind, o, doc)
}

func group(apiVersion string) string {
	group, _, _ := strings.Cut(apiVersion, "/")
	return group
}

func (s *Set) addList(source string, o object) error {
	var l list
	if err := json.Unmarshal(o.raw, &l); err != nil {
		return fmt.Errorf("%s: %w", source, Explain(err))
	}
	var errs []error
	for i, item := range l.Items {
		errs = append(errs, s.add(fmt.Sprintf("%s (item %d)", source, i+1), item, nil))
	}
	return errors.Join(errs...)
}

func (s *Set) addConfigMap(source string, o object) error {
	var c corev1.ConfigMap
	if err := o.decode(&c); err != nil {
		return fmt.Errorf("%s: ConfigMap: %w", source, err)
	}
	s.ConfigMaps = append(s.ConfigMaps, &c)
	return nil
}

func (s *Set) addSecret(source string, o object) error {
	var secret corev1.Secret
	if err := o.decode(&secret); err != nil {
		return fmt.Errorf("%s: Secret: %w", source, err)
	}
	s.Secrets = append(s.Secrets, &secret)
	return nil
}

func (s *Set) addResource(source, kind string, o object, doc []byte) error {
	r := v1alpha1.NewResource(kind)
	if r == nil {
		return fmt.Errorf("%s: kind %s is not known; there are %s", source, kind, strings.Join(kindNames(), ", "))
	}
	if err := o.decode(r); err != nil {
		return &Malformed{Document{source, r, doc}, err}
	}
	if r.GetName() == "" {
		return fmt.Errorf("%s: %s: metadata.name is missing", source, kind)
	}
	s.Documents = append(s.Documents, Document{source, r, doc})
	return nil
}

func kindNames() []string {
	var names []string
	for _, r := range v1alpha1.Resources() {
		names = append(names, r.KindName())
	}
	return names
}

// twice names resources that are there more than once: kubectl would let the last
// one win, and one of the two authors would never know.
func (s *Set) twice() error {
	first := map[v1alpha1.ResourceRef]string{}
	var errs []error
	for _, d := range s.Documents {
		ref := v1alpha1.RefOf(d.Resource)
		if other, ok := first[ref]; ok {
			errs = append(errs, fmt.Errorf("%s: %s is in %s already; rename or remove one", d.Source, ref, other))
		}
		first[ref] = d.Source
	}
	return errors.Join(errs...)
}
