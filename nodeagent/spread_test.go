package nodeagent_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/fettle-dev/fettle/nodeagent/schedule"
)

func startsAtOffset(_ *testing.T, m *machine) {
	m.spread = 20 * time.Second // the first run at the interval comes after 30 s
	place := schedule.Offset(m.name, m.spread)
	m.start()
	m.should(fileEntry("motd", "one\n"))
	m.soon("it has seen what is new, and told its facts", func(g Gomega) { g.Expect(m.object().Status.Facts).NotTo(BeNil()) })
	second := m.should(fileEntry("motd", "two\n"))
	m.clock.Step(place - time.Millisecond)
	m.Consistently(func(g Gomega) { g.Expect(m.runs.Load()).To(BeZero()) }).WithTimeout(500 * time.Millisecond).Should(Succeed())
	m.clock.Step(time.Millisecond)
	m.applied(second)
	m.Expect(m.file("motd").text()).To(Equal("two\n"))
	m.Expect(m.runs.Load()).To(BeEquivalentTo(1))
}
