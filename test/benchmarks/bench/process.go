package bench

import (
	"context"
	"io"
	"net/http"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/procfs"
)

// Usage is what a process has used since its start.
type Usage struct {
	CPU      time.Duration
	Commands time.Duration // the processor time of its child processes that have ended
	Peak     int64         // the largest resident set, in bytes
}

// UsageOf reads the usage of a running process.
func UsageOf(pid int) (u Usage, err error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return u, err
	}
	stat, err := process.Stat()
	if err != nil {
		return u, err
	}
	const tick = time.Second / 100 // of the kernel's interface
	u.CPU, u.Commands = time.Duration(stat.UTime+stat.STime)*tick, time.Duration(stat.CUTime+stat.CSTime)*tick
	status, err := process.NewStatus()
	u.Peak = int64(status.VmHWM)
	return u, err
}

// ParseMetrics parses metrics in the text format of Prometheus.
func ParseMetrics(text io.Reader) (map[string]*dto.MetricFamily, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(text)
}

// AgentRuns asks an agent for the number of its runs by their status, such as "unchanged". address is that of its metrics.
func AgentRuns(ctx context.Context, address string) (map[string]int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept-Encoding", "identity") // to compress the answer would take the agent longer than a run of a few files
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	families, err := ParseMetrics(response.Body)
	runs := map[string]int{}
	for _, m := range families["fettle_runs_total"].GetMetric() {
		runs[m.GetLabel()[0].GetValue()] += int(m.GetCounter().GetValue())
	}
	return runs, err
}
