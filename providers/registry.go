// Package providers is the registry of resource types.
package providers

import (
	"time"

	"github.com/fettle-dev/fettle/internal/fetch"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/providers/exec"
	"github.com/fettle-dev/fettle/providers/file"
	"github.com/fettle-dev/fettle/providers/group"
	"github.com/fettle-dev/fettle/providers/notify"
	pkg "github.com/fettle-dev/fettle/providers/package"
	"github.com/fettle-dev/fettle/providers/purge"
	"github.com/fettle-dev/fettle/providers/sshauthorizedkey"
	"github.com/fettle-dev/fettle/providers/systemservice"
	"github.com/fettle-dev/fettle/providers/tidy"
	"github.com/fettle-dev/fettle/providers/user"
)

// Kinds returns every resource type, in the order of their names.
func Kinds() []resource.Kind {
	return []resource.Kind{
		bound.Kind(exec.Type()),
		bound.Kind(file.Type(fetch.NewHTTP(fetch.Silence))),
		bound.Kind(group.Type()),
		bound.Kind(notify.Type()),
		bound.Kind(pkg.Type(pkg.DefaultLock())),
		bound.Kind(purge.Type()),
		bound.Kind(sshauthorizedkey.Type()),
		bound.Kind(systemservice.Type()),
		bound.Kind(tidy.Type(time.Now)), //nolint:forbidigo // here the clock is handed out
		bound.Kind(user.Type()),
	}
}
