// Package cloudevents sends the events of a manager to a webhook, as CloudEvents.
//
// The events are those that it records in the cluster. The webhook gets them as well as possible: it never delays the manager, and
// an event that cannot be sent soon is dropped and counted.
package cloudevents

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
)

const (
	queueSize   = 1000
	attempts    = 3
	retryAfter  = time.Second // and then twice as long
	sendTimeout = 5 * time.Second
	mediaType   = "application/cloudevents+json; charset=UTF-8"
)

// Options are the settings of a Webhook. All but Transport are required.
type Options struct {
	URL       string
	Source    string // of the events: a URI that identifies the cluster
	Scheme    *runtime.Scheme
	Clock     clock.Clock
	Log       logr.Logger
	Transport http.RoundTripper // nil is the default one
}

// A Webhook sends events. Create it with [New].
type Webhook struct {
	Options
	client *http.Client
	queue  chan []byte
	events *prometheus.CounterVec
}

// New returns a Webhook that sends nothing until it is started. The error says what is wrong with the options, and does not contain
// the URL.
func New(o Options, in prometheus.Registerer) (*Webhook, error) {
	if err := Check(o.URL, o.Source); err != nil {
		return nil, err
	}
	w := &Webhook{
		Options: o, queue: make(chan []byte, queueSize),
		client: &http.Client{
			Transport: o.Transport, Timeout: sendTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		events: Metrics(in),
	}
	return w, nil
}

// Metrics registers the metrics of a Webhook, which panics if they are registered already.
func Metrics(in prometheus.Registerer) *prometheus.CounterVec {
	return promauto.With(in).NewCounterVec(prometheus.CounterOpts{
		Name: "fettle_webhook_events_total", Help: "Events for the webhook by result: sent, failed, or dropped because too many waited.",
	}, []string{"result"})
}

// Check returns an error unless an address and a source can be used.
func Check(address, source string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return errors.New("the address of the webhook is not one of http or https")
	case u.User != nil:
		return errors.New("the address of the webhook contains a user or a password, which everyone could read who sees the manager's flags: leave them out")
	}
	if _, err := url.Parse(source); err != nil || source == "" {
		return fmt.Errorf("the source %q of events is not a URI", source)
	}
	return nil
}

// Recorder returns a recorder that records events with another one, and queues them for the webhook.
func (w *Webhook) Recorder(next events.EventRecorder) events.EventRecorder { return recorder{w, next} }

type recorder struct {
	webhook *Webhook
	next    events.EventRecorder
}

// Eventf implements [events.EventRecorder].
func (r recorder) Eventf(regarding, related runtime.Object, eventType, reason, action, note string, args ...any) {
	r.next.Eventf(regarding, related, eventType, reason, action, note, args...)
	r.webhook.enqueue(regarding, related, data{Type: eventType, Reason: reason, Action: action, Note: fmt.Sprintf(note, args...)})
}

func (w *Webhook) enqueue(regarding, related runtime.Object, d data) {
	var err error
	if d.Regarding, err = objectOf(w.Scheme, regarding); err != nil {
		w.Log.Error(err, "an event is not sent to the webhook", "reason", d.Reason)
		return
	}
	if related != nil {
		if o, err := objectOf(w.Scheme, related); err == nil {
			d.Related = &o
		}
	}
	body, err := encode(string(uuid.NewUUID()), w.Source, w.Clock.Now(), d)
	if err != nil {
		w.Log.Error(err, "an event is not sent to the webhook", "reason", d.Reason)
		return
	}
	select {
	case w.queue <- body:
	default:
		w.events.WithLabelValues("dropped").Inc()
	}
}

// Start sends events until ctx ends.
func (w *Webhook) Start(ctx context.Context) error {
	var before error
	for {
		select {
		case <-ctx.Done():
			return nil
		case body := <-w.queue:
			err := w.deliver(ctx, body)
			if ctx.Err() != nil {
				return nil
			}
			w.recordResult(err, before)
			before = err
		}
	}
}

// recordResult counts the result of an event, and logs it unless the event before had the same.
func (w *Webhook) recordResult(err, before error) {
	result := "sent"
	switch {
	case err != nil && before == nil:
		w.Log.Error(err, "the webhook does not accept events; the next success is logged")
	case err == nil && before != nil:
		w.Log.Info("the webhook accepts events again")
	}
	if err != nil {
		result = "failed"
	}
	w.events.WithLabelValues(result).Inc()
}

// NeedLeaderElection returns false: only a leader records most events.
func (*Webhook) NeedLeaderElection() bool { return false }

// deliver sends an event, several times if that may help.
func (w *Webhook) deliver(ctx context.Context, body []byte) error {
	for n := 1; ; n++ {
		again, err := w.send(ctx, body)
		if err == nil || !again || n == attempts {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.Clock.After(retryAfter << (n - 1)):
		}
	}
}

// send sends an event once, and reports whether another attempt may help. The error does not contain the URL.
func (w *Webhook) send(ctx context.Context, body []byte) (again bool, err error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(body))
	if err != nil {
		return false, errors.New("cannot make a request for the webhook")
	}
	q.Header.Set("Content-Type", mediaType)
	answer, err := w.client.Do(q)
	if err != nil {
		if of, ok := errors.AsType[*url.Error](err); ok {
			err = of.Err
		}
		return true, fmt.Errorf("cannot reach the webhook: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.CopyN(io.Discard, answer.Body, 4<<10) // so that the connection is used again
	if answer.StatusCode/100 == 2 {
		return false, nil
	}
	again = answer.StatusCode == http.StatusTooManyRequests || answer.StatusCode/100 == 5
	return again, fmt.Errorf("the webhook answered with status %d", answer.StatusCode)
}
