package cli

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli/installed"
	"github.com/fettle-dev/fettle/internal/cli/place"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/external/image"
	"github.com/fettle-dev/fettle/internal/external/store"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/manifest"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/external"
)

// typeFlags are the flags for external types.
type typeFlags struct {
	dir   string      // --types-dir; "" unless it is set
	image image.Setup // for their programs
}

// add adds the flags to a command.
func (f *typeFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.dir, "types-dir", "", "directory of external types, in which only root can write (default "+installed.DefaultDir+" under the root)")
	_ = cmd.MarkFlagDirname("types-dir") // it was just added
	cmd.Flags().StringVar(&f.image.Config, "registry-config", "", "config.json of docker with credentials for images of external types (default "+image.DefaultConfig+", then that of the kubelet)")
	_ = cmd.MarkFlagFilename("registry-config", "json")
	cmd.Flags().StringVar(&f.image.Keys, "type-keys", "", "file or directory of public keys in PEM, of which one must have signed each image of an external type (default: signatures are not checked)")
	_ = cmd.MarkFlagFilename("type-keys", "pub", "pem")
}

// installed returns the types that are installed on a host.
func (f typeFlags) installed(ctx context.Context, at place.Place) (manifest.Types, []manifest.Fault) {
	return installed.Read(ctx, at.Top, f.dir)
}

// programs returns the programs of external types. They are stored on the host below the state directory.
func (f typeFlags) programs(at place.Place, h host.Host) (*store.OnDemand, error) {
	setup := f.image
	for _, file := range []*string{&setup.Config, &setup.Keys} {
		if *file == "" {
			continue
		}
		local, err := at.Local(*file)
		if err != nil {
			return nil, err
		}
		*file = local
	}
	client := setup.Client(h)
	return store.NewOnDemand(store.NewSigned(h, at.ProgramsDir(), client.Keys), client), nil
}

// kinds returns the built-in kinds and those of external types. Without programs, nothing can be read or changed.
func (s shared) kinds(types manifest.Types, programs external.Files) []resource.Kind {
	return slices.Concat(s.Kinds, external.Kinds(types.Definitions(), programs))
}

// installedKinds returns the built-in kinds, and the types that are installed on a host with their kinds.
func (s shared) installedKinds(ctx context.Context, f typeFlags, at place.Place, h host.Host) ([]resource.Kind, manifest.Types, error) {
	types, faults := f.installed(ctx, at)
	programs, err := f.programs(at, h)
	return s.kinds(types, programs), types, errors.Join(err, manifest.Join(faults))
}

// maxAge is how long programs stay on the host that no run has needed.
const maxAge = 30 * 24 * time.Hour

// pull pulls the images of the types that a run needs, before it begins. What cannot be pulled fails the resources that need it. A run that
// is not readOnly deletes old programs.
func (s shared) pull(ctx context.Context, programs *store.OnDemand, types []*definition.Definition, readOnly bool) {
	programs.Prepare(ctx, slices.DeleteFunc(slices.Clone(types), func(d *definition.Definition) bool { return d.Spec.Source.Image == "" })...)
	if readOnly {
		return
	}
	err := programs.RetainNewer(time.Now().Add(-maxAge), types...)
	if err != nil && !errors.Is(err, fs.ErrPermission) { // who may not delete them is told by the state, which is beside them
		s.out.Warn("warning: cannot delete old programs of external types: %v", err)
	}
}
