// Package providers is the registry of resource types, and nothing else.
package providers

import (
	"time"

	"github.com/fettle-dev/fettle/internal/fetch"
	"github.com/fettle-dev/fettle/internal/resource"
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
		exec.Type().Erase(),
		file.Type(fetch.NewHTTP(fetch.Silence)).Erase(),
		group.Type().Erase(),
		notify.Type().Erase(),
		pkg.Type(pkg.DefaultLock()).Erase(),
		purge.Type().Erase(),
		sshauthorizedkey.Type().Erase(),
		systemservice.Type().Erase(),
		tidy.Type(time.Now).Erase(), //nolint:forbidigo // here the clock is handed out
		user.Type().Erase(),
	}
}
