package nodetoken_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fettle-dev/fettle/internal/nodetoken"
	"github.com/fettle-dev/fettle/test/fixtures/locked"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

var start = time.Unix(1_800_000_000, 0)

// token returns a token with these claims.
func token(issued time.Time, lifetime time.Duration) string {
	claims := fmt.Sprintf(`{"aud":["api"],"iat":%d,"exp":%d,"kubernetes.io":{"namespace":"fettle-nodes","node":{"name":"web-1"},"serviceaccount":{"name":"fettle-nodeagent"}}}`,
		issued.Unix(), issued.Add(lifetime).Unix())
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2VjcmV0"
}

func TestParse(t *testing.T) {
	got, err := nodetoken.Parse(token(start, time.Hour) + "\n")
	want := nodetoken.Claims{
		Namespace: "fettle-nodes", Account: "fettle-nodeagent", Node: "web-1", Audiences: []string{"api"}, Issued: start, Expires: start.Add(time.Hour),
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	for _, invalid := range []string{"", "s3cret", "a.s3cret!.b", "a.czNjcmV0.b"} {
		if _, err := nodetoken.Parse(invalid); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v", invalid, err)
		}
	}
}

func TestTokenIsRenewedInTime(t *testing.T) {
	for name, c := range map[string]struct {
		lifetime, age time.Duration
		want          []time.Duration // between the renewals, of which the second fails
	}{
		"a new one":      {nodetoken.MaxLifetime, 0, []time.Duration{day * 7 / 5, day * 7 / 5, 5 * time.Second, day * 7 / 5}},
		"an old one":     {nodetoken.MaxLifetime, 6 * day, []time.Duration{0, day * 7 / 5, 5 * time.Second, day * 7 / 5}},
		"the first one":  {time.Hour, 0, []time.Duration{0, day * 7 / 5, 5 * time.Second, day * 7 / 5}},
		"an expired one": {time.Hour, 2 * time.Hour, []time.Duration{0, day * 7 / 5, 5 * time.Second, day * 7 / 5}},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(start)
			file := filepath.Join(t.TempDir(), "token")
			if err := os.WriteFile(file, []byte(token(start.Add(-c.age), c.lifetime)), 0o600); err != nil {
				t.Fatal(err)
			}
			last, requests := start, make(chan time.Duration)
			var logs locked.Buffer
			count := 0
			r := nodetoken.Renewer{
				File: file, Clock: clock, Random: func() float64 { return 0 }, Log: slog.New(slog.NewTextHandler(&logs, nil)),
				Replace: func(file string, text []byte) error { return os.WriteFile(file, text, 0o600) },
				Request: func(_ context.Context, is nodetoken.Claims) (string, error) {
					requests <- clock.Since(last)
					last = clock.Now()
					if count++; count == 2 {
						return "", errors.New("the API server is away")
					}
					return token(clock.Now(), nodetoken.MaxLifetime), nil
				},
			}
			if diff := cmp.Diff(c.want, waits(t, r, clock, requests, len(c.want))); diff != "" {
				t.Error(diff)
			}
			if text, err := os.ReadFile(file); err != nil || strings.TrimSpace(string(text)) != token(last, nodetoken.MaxLifetime) {
				t.Errorf("the file has %s, %v", text, err)
			}
			if said := logs.String(); !strings.Contains(said, "the API server is away; the present one expires at 2027") || strings.Contains(said, "c2VjcmV0") {
				t.Error(said)
			}
		})
	}
}

const day = 24 * time.Hour

// waits runs a renewer until it has made n requests, and returns the time before each.
func waits(t *testing.T, r nodetoken.Renewer, clock *clocktesting.FakeClock, requests <-chan time.Duration, n int) (got []time.Duration) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { r.Run(ctx); close(ended) }()
	for range n {
		got = append(got, next(t, clock, requests))
	}
	stop()
	<-ended
	return got
}

// next advances the clock from timer to timer until there is a request.
func next(t *testing.T, clock *clocktesting.FakeClock, requests <-chan time.Duration) time.Duration {
	t.Helper()
	deadline := time.After(patient.Limit)
	for {
		select {
		case got := <-requests:
			return got
		case <-deadline:
			t.Fatal("there was no request")
		default:
		}
		if clock.HasWaiters() {
			clock.Step(time.Second)
		}
	}
}

// Hosts without a battery start with a clock that is decades slow until it is set.
func TestRenewalsDoNotDependOnTheHostsClock(t *testing.T) {
	for name, c := range map[string]struct {
		ahead, lifetime time.Duration
		want            []time.Duration
	}{
		"fast":                    {365 * day, nodetoken.MaxLifetime, []time.Duration{0, day * 7 / 5, day * 7 / 5}},
		"slow":                    {-50 * 365 * day, nodetoken.MaxLifetime, []time.Duration{day * 7 / 5, day * 7 / 5, day * 7 / 5}},
		"with short-lived tokens": {0, 0, []time.Duration{0, time.Minute, time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(start)
			file := filepath.Join(t.TempDir(), "token")
			requests := make(chan time.Duration)
			last := start
			issue := func() string { return token(clock.Now().Add(-c.ahead), c.lifetime) }
			r := nodetoken.Renewer{
				File: file, Clock: clock, Random: func() float64 { return 0 }, Log: slog.New(slog.DiscardHandler),
				Replace: func(file string, text []byte) error { return os.WriteFile(file, text, 0o600) },
				Request: func(context.Context, nodetoken.Claims) (string, error) {
					requests <- clock.Since(last)
					last = clock.Now()
					return issue(), nil
				},
			}
			if err := os.WriteFile(file, []byte(issue()), 0o600); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, waits(t, r, clock, requests, len(c.want))); diff != "" {
				t.Error(diff)
			}
		})
	}
}
