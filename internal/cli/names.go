package cli

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"

	"github.com/fettle-dev/fettle/internal/resource"
)

// sameKind reports whether a person means a kind: File, file, files.
func sameKind(kind, name string) bool {
	return strings.EqualFold(kind, name) || strings.EqualFold(kind+"s", name)
}

func kindNames(kinds []resource.Kind) string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.Name())
	}
	return strings.Join(names, ", ")
}

var notInNames = regexp.MustCompile(`[^a-z0-9.]+`)

// objectName makes a name on a host into one that an object of a cluster may have:
// /etc/motd becomes etc-motd. Where that loses something a hash keeps names apart.
func objectName(namevar string) string {
	lower := strings.ToLower(namevar)
	name := strings.Trim(notInNames.ReplaceAllString(lower, "-"), "-.")
	if name == namevar && len(name) <= 253 {
		return name
	}
	if "/"+strings.ReplaceAll(name, "-", "/") == namevar && len(name) <= 253 {
		return name
	}
	hash := fmt.Sprintf("%x", sha256.Sum256([]byte(namevar)))[:8]
	if name == "" {
		return hash
	}
	return strings.TrimRight(name[:min(len(name), 200)], "-.") + "-" + hash
}
