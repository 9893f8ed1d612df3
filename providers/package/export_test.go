package pkg

import (
	"io"
	"time"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Impatient is the type with an apt that waits for locks no longer than this.
func Impatient(lockTimeout time.Duration) *resource.Type[Attributes] {
	return typeOf(apt{lockTimeout: lockTimeout, poll: 50 * time.Millisecond})
}

// ParseStatus reads paragraphs of dpkg's database: name, architecture, version, and
// the three words of the status.
func ParseStatus(r io.Reader) ([][6]string, error) {
	var all [][6]string
	err := parseRecords(r, func(r record) {
		all = append(all, [6]string{r.name, r.arch, r.version, r.want, r.flag, r.state})
	})
	return all, err
}

// ParsePolicy reads what apt-cache policy prints: the candidate and then all versions
// of each package.
func ParsePolicy(out string) map[string][]string {
	all := map[string][]string{}
	for name, o := range parsePolicy(out) {
		all[name] = append([]string{o.candidate}, o.versions...)
	}
	return all
}

// ParseProviders reads what apt-cache showpkg prints: who provides each name.
func ParseProviders(out string) map[string][]string { return parseProviders(out) }

// Stumbled is what is said of an answer of debconf-set-selections.
func Stumbled(res host.Result) error { return stumbled(res) }

// Explanation is what is said of a tool's failure.
func Explanation(res host.Result, environment []string) string { return explanation(res, environment) }
