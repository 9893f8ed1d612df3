package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Bounds of a URL.
const (
	maxBody      = 32 << 20 // bytes
	maxTime      = time.Minute
	maxRedirects = 10
)

// web reads the text of a URL. The author of a manifest has root on the machine, so TLS is required, except for URLs of
// this machine.
func (l Loader) web(address string) Source {
	return Source{withoutPassword(address), func(ctx context.Context) ([]byte, error) {
		text, err := l.get(ctx, address)
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // the address is added below
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", withoutPassword(address), err)
		}
		return text, nil
	}}
}

func (l Loader) get(ctx context.Context, address string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	if err := trusted(req.URL); err != nil {
		return nil, err
	}
	resp, err := l.client().Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server responded with %s", resp.Status)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err == nil && len(text) > maxBody {
		err = fmt.Errorf("it is larger than %d MiB: download it and use -f FILE", maxBody>>20)
	}
	return text, err
}

// client checks the addresses of redirects too.
func (l Loader) client() *http.Client {
	c := http.Client{}
	if l.HTTP != nil {
		c = *l.HTTP
	}
	c.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if len(via) >= maxRedirects {
			return fmt.Errorf("more than %d redirects", maxRedirects)
		}
		return trusted(req.URL)
	}
	return &c
}

// trusted returns an error for a URL whose content others on the network could change.
func trusted(u *url.URL) error {
	if u.Scheme == "https" {
		return nil
	}
	if u.Scheme == "http" && loopback(u.Hostname()) {
		return nil
	}
	return fmt.Errorf("%s://%s is not encrypted, and manifests are applied as root: use https", u.Scheme, u.Host)
}

func loopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// withoutPassword returns an address for messages.
func withoutPassword(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the URL"
	}
	return u.Redacted()
}
