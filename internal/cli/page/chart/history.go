package chart

import (
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// A History is a stacked column of nodes for each hour.
type History struct {
	Width, Height int
	Columns       []Column
	Days          []Day
	Most          int32 // nodes in an hour, which have the whole height
}

// A Day is where one begins.
type Day struct {
	Begin time.Time
	X     float64 // in percent of the width
}

// A Column is an hour.
type Column struct {
	v1alpha1.FleetHour
	X     int
	Parts []Part
}

// A Part is the nodes in one state.
type Part struct {
	State     string // InSync, Drifting, Failed or Unknown
	Y, Height float64
}

// Sizes of the chart.
const (
	// ColumnWidth is the width of an hour. The last unit is the gap to the next one.
	ColumnWidth   = 6
	historyHeight = 120
	hours         = 168
)

// HistoryOf returns the columns of the last 168 hours, the oldest at the left. All have the scale of the hour with most nodes. Hours
// without an entry are gaps.
func HistoryOf(all []v1alpha1.FleetHour, now time.Time) History {
	h := History{Width: hours * ColumnWidth, Height: historyHeight}
	most := int32(0)
	for _, hour := range all {
		most = max(most, total(hour))
	}
	h.Most, h.Days = most, days(now)
	for _, hour := range all {
		ago := int(now.Truncate(time.Hour).Sub(hour.Hour.Time) / time.Hour)
		if ago < 0 || ago >= hours || total(hour) == 0 {
			continue
		}
		h.Columns = append(h.Columns, Column{hour, (hours - 1 - ago) * ColumnWidth, parts(hour, float64(historyHeight)/float64(most))})
	}
	return h
}

// days returns the days that begin in the last 168 hours, in UTC.
func days(now time.Time) (all []Day) {
	end := now.UTC().Truncate(time.Hour).Add(time.Hour)
	begin := end.Add(-hours * time.Hour)
	for day := begin.Truncate(24 * time.Hour); day.Before(end); day = day.Add(24 * time.Hour) {
		if !day.Before(begin) {
			all = append(all, Day{day, 100 * float64(day.Sub(begin)) / float64(hours*time.Hour)})
		}
	}
	return all
}

func total(h v1alpha1.FleetHour) int32 { return h.InSync + h.Drifting + h.Failed + h.Unknown }

// parts returns what a column consists of, from the bottom.
func parts(h v1alpha1.FleetHour, scale float64) []Part {
	var all []Part
	y := float64(historyHeight)
	for _, p := range []struct {
		state string
		nodes int32
	}{{"InSync", h.InSync}, {"Drifting", h.Drifting}, {"Failed", h.Failed}, {"Unknown", h.Unknown}} {
		if p.nodes <= 0 {
			continue
		}
		height := float64(p.nodes) * scale
		y -= height
		all = append(all, Part{p.state, y, height})
	}
	return all
}
