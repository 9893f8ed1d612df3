package engine_test

import (
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/schedule"
)

// zoned is a host that only has a time zone.
type zoned struct {
	host.Host
	rules []byte
}

func (z zoned) ReadFile(path string) ([]byte, error) {
	if path != "/etc/localtime" || z.rules == nil {
		return nil, fs.ErrNotExist
	}
	return z.rules, nil
}

// zone is a time zone file that contains only a rule.
func zone(rule string) []byte {
	block := "TZif2" + strings.Repeat("\x00", 15+4*4) + "\x00\x00\x00\x01" + "\x00\x00\x00\x04" + // one kind of time, with a name of four bytes
		"\x00\x00\x0e\x10\x00\x00CET\x00"
	return []byte(block + block + "\n" + rule + "\n")
}

// clock is a transaction at a time, in UTC, on a host in a zone.
func clock(z zoned, now string) func(*engine.Transaction) {
	return func(tx *engine.Transaction) {
		tx.Host = z
		tx.Now = func() time.Time { return when(now) }
	}
}

func when(text string) time.Time {
	t, err := time.Parse(time.DateTime, text)
	if err != nil {
		panic(err)
	}
	return t
}

func scheduled(item resource.Item, s schedule.Schedule) resource.Item {
	item.Schedule = &s
	return item
}

func night(t *testing.T) schedule.Schedule {
	t.Helper()
	r, err := schedule.ParseTimeRange("22:00-04:00")
	if err != nil {
		t.Fatal(err)
	}
	return schedule.Schedule{Ranges: []schedule.TimeRange{r}}
}

func TestSchedule(t *testing.T) {
	rules := zone("CET-1CEST,M3.5.0,M10.5.0/3")
	skipped := func(begins string) []string {
		return []string{
			"Thing/a Changed", "  created",
			"Thing/s Skipped", "  not scheduled: next window begins " + begins,
			"Thing/t Changed", "  created",
		}
	}
	done := []string{"Thing/a Changed", "  created", "Thing/s Changed", "  created", "Thing/t Changed", "  created"}
	for name, test := range map[string]struct {
		host zoned
		now  string
		with func(*engine.Transaction)
		want []string
	}{
		"out of its time a resource is skipped and holds nothing up": {now: "2026-11-21 12:00:00", want: skipped("2026-11-21 22:00 UTC")},
		"in its time it is not":                  {now: "2026-11-21 22:00:00", want: done},
		"the time is that of the host":           {host: zoned{rules: rules}, now: "2026-11-21 21:00:00", want: done},
		"and not the same in summer":             {host: zoned{rules: rules}, now: "2026-07-21 02:30:00", want: skipped("2026-07-21 22:00 CEST")},
		"all times are good if schedules do not": {now: "2026-11-21 12:00:00", with: func(tx *engine.Transaction) { tx.IgnoreSchedules = true }, want: done},
		"an unreadable time zone fails resources with schedules": {
			host: zoned{rules: []byte("x")}, now: "2026-11-21 21:00:00",
			want: []string{
				"Thing/a Changed", "  created",
				"Thing/s Failed", "  cannot evaluate its schedule: cannot read the host's time zone from /etc/localtime: malformed time zone information",
				"Thing/t Skipped", "  skipped because of failed dependencies: Thing/s",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			items := []resource.Item{
				m.item(t, "Thing/a", red),
				scheduled(m.item(t, "Thing/s", red), night(t)),
				m.item(t, "Thing/t", red, "require:Thing/s"),
			}
			if test.with == nil {
				test.with = func(*engine.Transaction) {}
			}
			if diff := cmp.Diff(test.want, lines(transact(t, items, clock(test.host, test.now), test.with))); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPostponedResourceIsSkippedWhateverItsSchedule(t *testing.T) {
	m := newMachine()
	item := scheduled(m.item(t, "Thing/a", red), night(t))
	item.Postponed = errBroken
	want := []string{"Thing/a Skipped", "  " + errBroken.Error()}
	if diff := cmp.Diff(want, lines(transact(t, []resource.Item{item}, clock(zoned{}, "2026-11-21 23:00:00")))); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

// A period begins when the resource was last looked at, whether that changed anything or
// not; to be skipped is not to be looked at.
func TestPeriodStartsWithACheck(t *testing.T) {
	m, store := newMachine(), newMemory()
	hourly := schedule.Schedule{Period: schedule.Hourly}
	var got []report.State
	for _, now := range []string{"10:00:00", "10:59:59", "11:00:00", "11:30:00", "12:30:00"} {
		run := transact(t, []resource.Item{scheduled(m.item(t, "Thing/a", red), hourly)}, storing(store), clock(zoned{}, "2026-11-21 "+now))
		got = append(got, run.Resources[0].State)
		if left := run.Resources[0].Left; left != (run.Resources[0].State == report.Skipped) {
			t.Errorf("at %s it is said to be as it was left: %v", now, left)
		}
	}
	want := []report.State{report.Changed, report.Skipped, report.InSync, report.Skipped, report.InSync}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
}

// A refresh stays pending outside the schedule, as it does after a failed dependency.
func TestRefreshWaitsForItsSchedule(t *testing.T) {
	m, store := newMachine(), newMemory()
	m.things["s"] = redThing("s")
	for _, now := range []string{"2026-11-21 12:00:00", "2026-11-21 23:00:00", "2026-11-21 23:30:00"} {
		transact(t, []resource.Item{
			m.item(t, "Thing/a", red, "notify:Thing/s"), scheduled(m.item(t, "Thing/s", red), night(t)),
		}, storing(store), clock(zoned{}, now))
		m.did("that was at %s", now)
	}
	want := []string{
		"write a (ensure)", "that was at 2026-11-21 12:00:00",
		"refresh s", "that was at 2026-11-21 23:00:00",
		"that was at 2026-11-21 23:30:00",
	}
	if diff := cmp.Diff(want, m.log); diff != "" {
		t.Errorf("done (-want +got):\n%s", diff)
	}
}

func TestEventsHaveTheirResourcesLogLevel(t *testing.T) {
	m := newMachine()
	m.fail["write b"] = errBroken
	items := []resource.Item{m.item(t, "Thing/a", red), m.item(t, "Thing/b", red), m.item(t, "Thing/c", red)}
	items[0].LogLevel, items[1].LogLevel = resource.LevelDebug, resource.LevelDebug
	result := transact(t, items)
	var got []resource.LogLevel
	var told []string
	for _, r := range result.Resources {
		got = append(got, r.Events[0].Level)
		told = append(told, r.Above(resource.LevelDebug).Lines()...)
	}
	if diff := cmp.Diff([]resource.LogLevel{resource.LevelDebug, resource.LevelErr, ""}, got); diff != "" {
		t.Errorf("levels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Thing/b: change of ensure from absent to present failed: broken", "Thing/c: created"}, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

func TestScheduleErrorIsReportedOnce(t *testing.T) {
	m := newMachine()
	result := transact(t, []resource.Item{m.leaf(t, "a"), scheduled(m.leaf(t, "b"), night(t))}, clock(zoned{rules: []byte("x")}, "2026-01-05 12:00:00"))
	const why = "cannot evaluate its schedule: cannot read the host's time zone from /etc/localtime: malformed time zone information"
	if got := result.Resources[1].Message; got != why {
		t.Errorf("got %q, want %q", got, why)
	}
}
