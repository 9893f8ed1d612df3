package overview

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pageSize is the number of objects in a request. A NodeCatalog may have 64 KiB.
const pageSize = 500

// list returns all objects there, page by page.
func list[T any](ctx context.Context, c *Client, at, accept string) (all []T, err error) {
	what := at[strings.LastIndexByte(at, '/')+1:]
	type page struct {
		Items []T `json:"items"`
		err   error
	}
	var pages []*page
	var decoding sync.WaitGroup // while the API server encodes the next page
	for next, first := "", true; first || next != ""; first = false {
		raw, err := bodyOf(c.rest.Get().AbsPath(at).Param("limit", fmt.Sprint(pageSize)).Param("continue", next).SetHeader("Accept", accept).Do(ctx))
		if err != nil {
			return nil, fmt.Errorf("cannot list %s: %w", what, err)
		}
		if next, err = nextPage(raw); err != nil {
			return nil, fmt.Errorf("cannot read the list of %s: %w", what, err)
		}
		p := &page{}
		pages = append(pages, p)
		decoding.Go(func() { p.err = json.Unmarshal(raw, p) })
	}
	decoding.Wait()
	for _, p := range pages {
		if p.err != nil {
			return nil, fmt.Errorf("cannot read the list of %s: %w", what, p.err)
		}
		all = append(all, p.Items...)
	}
	return all, nil
}

// nextPage returns what to continue a list with; "" after its last page. An API server writes that before the items.
func nextPage(raw []byte) (string, error) {
	text := json.NewDecoder(bytes.NewReader(raw))
	_, err := text.Token()
	for err == nil && text.More() {
		var key json.Token
		if key, err = text.Token(); err == nil && key == "metadata" {
			var list metav1.ListMeta
			err = text.Decode(&list)
			return list.Continue, err
		}
		var other json.RawMessage
		err = errors.Join(err, text.Decode(&other))
	}
	return "", err
}
