package status

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/text"
)

// Bounds of a status, in bytes of JSON. The API server accepts objects of up to 1.5 MiB, but
// every node has a status and the manager reads them all.
const (
	// MaxSize is the size of a whole status.
	MaxSize = 64 << 10

	maxFacts      = 32 << 10
	maxFactNames  = 1024
	maxFactDepth  = 8        // levels; the object of all facts is the first
	maxReports    = 20 << 10 // with maxRecordSize, leaves 6 KiB for conditions, key and counts
	maxEntries    = 50
	maxProperties = 16
	maxMessage    = 512
	maxValue      = 128
)

// reports are the entries of the status: failed, withheld, skipped and out-of-sync resources, then corrected drift.
// An entry keeps its since while its state lasts.
func reports(run Run, prev []v1alpha1.ResourceReport, now time.Time) (list []v1alpha1.ResourceReport, omitted int32) {
	var all []v1alpha1.ResourceReport
	before := byRef(prev)
	if run.Report.Partial {
		all = others(prev, run.Report.Resources)
	}
	for _, r := range run.Report.Resources {
		switch was, ok := before[reportedRef(r.Ref)]; {
		case r.Left && ok:
			all = append(all, was)
		case r.Left: // in sync, as before
		case listed(r):
			all = append(all, resourceReport(r))
		}
	}
	for _, w := range withheldFrom(run) {
		all = append(all, v1alpha1.ResourceReport{
			Ref: v1alpha1.ReportedRef(w.Ref), State: v1alpha1.StateWithheld, Message: cut(w.Why(), maxMessage),
		})
	}
	slices.SortStableFunc(all, func(a, b v1alpha1.ResourceReport) int {
		return cmp.Or(rank(a.State)-rank(b.State), strings.Compare(string(a.Ref), string(b.Ref)))
	})
	all = unique(all)
	keepSince(all, prev, now)
	list = fit(all)
	return list, int32(len(all) - len(list))
}

// others returns the entries of what a partial run has not handled. Those of withheld resources are made anew.
func others(prev []v1alpha1.ResourceReport, handled []report.ResourceReport) []v1alpha1.ResourceReport {
	refs := map[v1alpha1.ReportedRef]bool{}
	for _, r := range handled {
		refs[reportedRef(r.Ref)] = true
	}
	return slices.DeleteFunc(slices.Clone(prev), func(r v1alpha1.ResourceReport) bool { return refs[r.Ref] || r.State == v1alpha1.StateWithheld })
}

// unique keeps the first entry of each name: two resources may have generated the same one.
func unique(all []v1alpha1.ResourceReport) []v1alpha1.ResourceReport {
	seen := make(map[v1alpha1.ReportedRef]bool, len(all))
	return slices.DeleteFunc(all, func(r v1alpha1.ResourceReport) bool {
		was := seen[r.Ref]
		seen[r.Ref] = true
		return was
	})
}

// maxRef is the longest ReportedRef, in bytes.
const maxRef = 4160

// reportedRef names a resource. Resources found on the host may have any name.
func reportedRef(r report.Ref) v1alpha1.ReportedRef {
	name := text.Line(text.Encode(r.String()))
	if len(name) > maxRef {
		hash := fmt.Sprintf("…%x", sha256.Sum256([]byte(name)))
		name = strings.ToValidUTF8(name[:maxRef-len(hash)], "") + hash
	}
	return v1alpha1.ReportedRef(name)
}

// listed reports whether a resource has an entry in the status.
func listed(r report.ResourceReport) bool {
	switch r.State {
	case report.Failed, report.Skipped, report.Noop:
		return true
	case report.Changed:
		return r.Corrective()
	case report.InSync, report.Refreshed:
	}
	return false
}

func rank(s v1alpha1.ResourceState) int {
	return slices.Index([]v1alpha1.ResourceState{
		v1alpha1.StateFailed, v1alpha1.StateWithheld, v1alpha1.StateSkipped, v1alpha1.StateNoop, v1alpha1.StateChanged,
	}, s)
}

func resourceReport(r report.ResourceReport) v1alpha1.ResourceReport {
	out := v1alpha1.ResourceReport{
		Ref:        reportedRef(r.Ref),
		State:      v1alpha1.ResourceState(r.State),
		Message:    r.Message,
		Corrective: r.Corrective(),
		OutOfSync:  r.Differs,
	}
	for _, e := range r.Events {
		if e.Status == report.Audit { // changed nothing
			continue
		}
		if e.Property == "" { // a refresh has only a message
			out.Message = cmp.Or(out.Message, e.Message)
		} else if len(out.Changes) < maxProperties {
			out.Changes = append(out.Changes, v1alpha1.PropertyChange{
				Property: e.Property, Is: cut(e.Is, maxValue), Should: cut(e.Should, maxValue),
			})
		}
	}
	out.Message = cut(out.Message, maxMessage)
	return out
}

// withheldFrom returns the resources that a run had to leave alone, without those whose kind is gone: these are no resources any more.
func withheldFrom(run Run) []v1alpha1.Withheld {
	return slices.DeleteFunc(slices.Clone(run.Withheld), func(w v1alpha1.Withheld) bool { return !w.IsMissing() })
}

// fit keeps as many of the first entries as fit. It omits entries that are too large by themselves.
func fit(all []v1alpha1.ResourceReport) []v1alpha1.ResourceReport {
	var list []v1alpha1.ResourceReport
	room := maxReports
	for _, r := range all {
		if size := len(jsonOf(r)) + len(","); len(list) < maxEntries && size <= room {
			list, room = append(list, r), room-size
		}
	}
	return list
}

func keepSince(list, prev []v1alpha1.ResourceReport, now time.Time) {
	since := byRef(prev)
	for i := range list {
		r := &list[i]
		was, ok := since[r.Ref]
		// A correction is an event, so this is a new one.
		if ok && was.State == r.State && was.Since != nil && r.State != v1alpha1.StateChanged {
			r.Since = was.Since
		} else {
			r.Since = &metav1.Time{Time: now}
		}
	}
}

func byRef(reports []v1alpha1.ResourceReport) map[v1alpha1.ReportedRef]v1alpha1.ResourceReport {
	all := make(map[v1alpha1.ReportedRef]v1alpha1.ResourceReport, len(reports))
	for _, r := range reports {
		all[r.Ref] = r
	}
	return all
}

// cut makes a text printable and shortens it to a number of bytes as JSON. It retains both ends: of an error, what failed and
// why. The limits of a status count JSON bytes, of which a byte of the text takes up to six.
func cut(s string, limit int) string {
	for n := limit; ; {
		line := text.Line(text.Encode(text.ClipMiddle(s, n)))
		excess := len(jsonOf(line)) - len(`""`) - limit
		if excess <= 0 {
			return line
		}
		n -= (excess + 5) / 6
	}
}

// jsonOf encodes plain data, which cannot fail.
func jsonOf(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return text
}
