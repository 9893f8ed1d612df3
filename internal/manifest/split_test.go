package manifest_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/fettle-dev/fettle/internal/manifest"
)

// FuzzSplit compares the documents of a file with those of kubectl's reader.
func FuzzSplit(f *testing.F) {
	f.Add("a: b\n---\nc: d\n")
	f.Add("---\n---\n---\na: b\n--- # next\n\nc: d\n---")
	f.Add("a: |\n  ---\n ---\n---\nb")
	f.Add("a\n---b\nc\n")
	f.Add("a\n--- \n---\t#\nc\n\n---\n")
	f.Add("----\n")
	f.Fuzz(func(t *testing.T, in string) {
		if bytes.ContainsRune([]byte(in), '\r') {
			return // kubectl's reader drops it
		}
		want, wantErr := library(in)
		got, err := manifest.Split([]byte(in))
		for i, doc := range got {
			got[i] = append(bytes.TrimSuffix(doc, []byte("\n")), '\n') // as in kubectl's reader
		}
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("got %v, want %v", err, wantErr)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("documents (-want +got):\n%s", diff)
		}
	})
}

func library(in string) (docs [][]byte, err error) {
	r := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader([]byte(in))))
	for {
		doc, err := r.Read()
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			return docs, err
		}
		docs = append(docs, doc)
	}
}
