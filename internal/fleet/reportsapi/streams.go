package reportsapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/fettle-dev/fettle/internal/fleet/questions"
)

const (
	// minStream is the least time for which an agent's watch lasts, as that of an API server. The most is twice of that.
	minStream = 30 * time.Minute
	// sendTimeout is how long an agent may take to receive a question.
	sendTimeout = 10 * time.Second
)

// streams serves the watches of agents. What an API server does with a request is a stack of filters, and a goroutine that waits within
// them has 32 KiB of stack and everything that they made of the request, for each node of the fleet. So a watch of questions is handed
// to this handler, which is outside of them, once they have admitted it and the header is sent.
type streams struct {
	filters http.Handler
	encoder runtime.Encoder
}

// A handover is the watch that the filters have admitted; nil if they have not.
type handover struct{ watch *questions.Watch }

type handoverKey struct{}

// ServeHTTP implements [http.Handler].
func (s streams) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/nodequestions") {
		s.filters.ServeHTTP(w, r)
		return
	}
	admitted := &handover{}
	s.filters.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), handoverKey{}, admitted)))
	if admitted.watch != nil {
		s.send(r.Context(), w, admitted.watch)
	}
}

// handOver hands a watch to the handler that is outside of the filters, and returns an empty one for these.
func handOver(ctx context.Context, admitted *questions.Watch) watch.Interface {
	to, ok := ctx.Value(handoverKey{}).(*handover)
	if !ok {
		return admitted
	}
	to.watch = admitted
	return watch.NewEmptyWatch()
}

// send sends events until the watch ends, or the agent is gone.
func (s streams) send(ctx context.Context, w http.ResponseWriter, from *questions.Watch) {
	defer from.Stop()
	ctx, cancel := context.WithTimeout(ctx, wait.Jitter(minStream, 1))
	defer cancel()
	to := http.NewResponseController(w)
	for {
		select {
		case <-ctx.Done():
			return
		case e, open := <-from.ResultChan():
			if !open || s.write(w, to, e) != nil {
				return
			}
		}
	}
}

func (s streams) write(w http.ResponseWriter, to *http.ResponseController, e watch.Event) error {
	raw, err := runtime.Encode(s.encoder, e.Object)
	if err != nil {
		return err
	}
	_ = to.SetWriteDeadline(time.Now().Add(sendTimeout)) // without one, only the end of the connection ends it
	if err := json.NewEncoder(w).Encode(metav1.WatchEvent{Type: string(e.Type), Object: runtime.RawExtension{Raw: raw}}); err != nil {
		return err
	}
	if err := to.Flush(); err != nil {
		return err
	}
	return to.SetWriteDeadline(time.Time{})
}
