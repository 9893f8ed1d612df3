package nodeagent_test

import (
	"os"
	"strings"
	"testing"
	"time"
	"unsafe"

	. "github.com/onsi/gomega"
)

// setBy returns what a clock that is set by d, a multiple of a second, reads at t: another wall time, but the same monotonic
// reading, which t must have. The layout is that of package time.
func setBy(t time.Time, d time.Duration) time.Time {
	const nanosecondBits = 30
	*(*uint64)(unsafe.Pointer(&t)) += uint64(d/time.Second) << nanosecondBits
	return t
}

func TestSetClockKeepsItsMonotonicReading(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, d := range []time.Duration{50 * 365 * 24 * time.Hour, -50 * 365 * 24 * time.Hour} {
		set := setBy(now, d)
		if wall, elapsed := set.Round(0).Sub(now.Round(0)), set.Sub(now); wall != d || elapsed != 0 {
			t.Errorf("set by %s: %s by the wall clock, %s by the monotonic one", d, wall, elapsed)
		}
	}
}

// survivesSetClock sets the clock as a host without a battery does when it reaches a time server, and back.
func survivesSetClock(t *testing.T, m *machine) {
	m.clock.SetTime(time.Now()) // with a monotonic reading
	goOn := m.stuck()
	const jump = 50 * 365 * 24 * time.Hour
	m.clock.SetTime(setBy(m.clock.Now(), jump))
	m.Expect(m.agent.Alive()).To(Succeed())
	goOn()

	for _, content := range []string{"fast\n", "right\n", "slow\n"} {
		m.applied(m.should(fileEntry("motd", content)))
		m.file("motd").write("changed")
		m.passes("drift is corrected", func(g Gomega) { g.Expect(m.file("motd").text()).To(Equal(content)) })
		m.clock.SetTime(setBy(m.clock.Now(), -jump))
	}
}

// replacesKeyFromFuture gives an agent a key that it made when its clock was fast.
func replacesKeyFromFuture(t *testing.T, m *machine) {
	const day = 24 * time.Hour
	m.keyAge = 90 * day
	right := m.clock.Now()
	m.clock.SetTime(right.Add(10 * 365 * day))
	m.start()
	m.own()
	first := m.publicKey()
	m.stop()
	m.clock.SetTime(right)
	m.start()
	m.applied(m.own(m.sealedEntry(first, "token", "one")))
	m.passes("its age counts from now", func(g Gomega) {
		text, err := os.ReadFile(m.keysFile())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(text)).To(ContainSubstring(m.clock.Now().Format("2006-01-")))
	})
	m.Expect(m.publicKey()).To(Equal(first))
	m.clock.Step(91 * day)
	m.passes("another key is published", func(g Gomega) { g.Expect(m.object().Status.PublicKey).NotTo(Equal(first.String())) })
	text, err := os.ReadFile(m.keysFile())
	must(t, err)
	m.Expect(strings.Count(string(text), "seed")).To(Equal(2), "it keeps the old key")
}
