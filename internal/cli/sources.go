package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli/installed"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/external/image"
	"github.com/fettle-dev/fettle/internal/external/store"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/manifest"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/source"
	"github.com/fettle-dev/fettle/providers/external"
)

// useSources is the usage of the flags of addSources.
const useSources = "(-f FILE|DIR|URL|- | -k DIR)"

// addSources adds the flags for manifests, as in kubectl.
func (a *app) addSources(cmd *cobra.Command, r *source.Request) {
	a.addTypes(cmd)
	cmd.Flags().StringSliceVarP(&r.Files, "filename", "f", nil, "file, directory or https URL of manifests, or - for stdin; may be repeated")
	cmd.Flags().BoolVarP(&r.Recursive, "recursive", "R", false, "also read subdirectories of the directories given with -f")
	cmd.Flags().StringVarP(&r.Kustomize, "kustomize", "k", "", "directory of a kustomization to build, instead of -f; requires kustomize or kubectl")
	_ = cmd.MarkFlagFilename("filename", "yaml", "yml", "json") // it was just added
	_ = cmd.MarkFlagDirname("kustomize")
	cmd.ValidArgsFunction = cobra.NoFileCompletions
}

// needSources returns an error if there are no manifests.
func needSources(r source.Request) error {
	if r.Empty() {
		return errors.New("no manifests: use -f FILE, -f DIR, -f URL, -k DIR or, for stdin, -f -")
	}
	return nil
}

// onlySources returns an error if there are no manifests or there are arguments.
func onlySources(r *source.Request) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return fmt.Errorf("unexpected argument %q: use -f FILE for files", args[0])
		}
		return needSources(*r)
	}
}

// readManifests reads the manifests of the flags. cache may be nil.
func (a *app) readManifests(ctx context.Context, r source.Request, cache *manifest.Cache) *manifest.Set {
	all, missing := source.Loader{Stdin: a.In, Local: a.place.local, Kustomize: a.kustomize}.Expand(r)
	types, faults := installed.Read(ctx, a.place.top, a.place.types)
	set := types.Read(ctx, all, cache)
	set.Faults = slices.Concat(faults, manifest.Unread(missing), set.Faults)
	return set
}

// addTypes adds the flags for external types.
func (a *app) addTypes(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.place.types, "types-dir", "", "directory of external types, in which only root can write (default "+installed.DefaultDir+" under the root)")
	_ = cmd.MarkFlagDirname("types-dir") // it was just added
	cmd.Flags().StringVar(&a.place.image.Config, "registry-config", "", "config.json of docker with credentials for images of external types (default "+image.DefaultConfig+", then that of the kubelet)")
	_ = cmd.MarkFlagFilename("registry-config", "json")
	cmd.Flags().StringVar(&a.place.image.Keys, "type-keys", "", "file or directory of public keys in PEM, of which one must have signed each image of an external type (default: signatures are not checked)")
	_ = cmd.MarkFlagFilename("type-keys", "pub", "pem")
}

// kinds returns the built-in kinds and those of external types. Without programs, nothing can be read or changed.
func (a *app) kinds(types manifest.Types, programs external.Files) []resource.Kind {
	return slices.Concat(a.Kinds, external.Kinds(types.Definitions(), programs))
}

// programs returns the programs of external types. They are stored on the host below the state directory.
func (a *app) programs(h host.Host, stateDir string) (*store.OnDemand, error) {
	setup := a.place.image
	for _, file := range []*string{&setup.Config, &setup.Keys} {
		if *file == "" {
			continue
		}
		local, err := a.place.local(*file)
		if err != nil {
			return nil, err
		}
		*file = local
	}
	client := setup.Client(h)
	return store.NewOnDemand(store.NewSigned(h, a.place.programsDir(stateDir), client.Keys), client), nil
}

// maxAge is how long programs stay on the host that no run has needed.
const maxAge = 30 * 24 * time.Hour

// pull pulls the images of the types that a run needs, before it begins. What cannot be pulled fails the resources that need it. A run that
// is not readOnly deletes old programs.
func (a *app) pull(ctx context.Context, programs *store.OnDemand, types []*definition.Definition, readOnly bool) {
	programs.Prepare(ctx, slices.DeleteFunc(slices.Clone(types), func(d *definition.Definition) bool { return d.Spec.Source.Image == "" })...)
	if readOnly {
		return
	}
	err := programs.RetainNewer(time.Now().Add(-maxAge), types...)
	if err != nil && !errors.Is(err, fs.ErrPermission) { // who may not delete them is told by the state, which is beside them
		a.out.Warn("warning: cannot delete old programs of external types: %v", err)
	}
}

// installed returns the built-in kinds and those of installed types. h may be nil: nothing can be read or changed then.
func (a *app) installed(ctx context.Context, h host.Host, stateDir string) ([]resource.Kind, manifest.Types, error) {
	types, faults := installed.Read(ctx, a.place.top, a.place.types)
	if h == nil {
		return a.kinds(types, nil), types, manifest.Join(faults)
	}
	programs, err := a.programs(h, stateDir)
	return a.kinds(types, programs), types, errors.Join(err, manifest.Join(faults))
}

// kustomize builds the kustomization in a directory of this machine.
func (a *app) kustomize(ctx context.Context, dir string) ([]byte, error) {
	if a.place.pid > 0 {
		return nil, errors.New("-k does not read the host of --host-pid: build it elsewhere, and pass it to -f -")
	}
	return a.Kustomize(ctx, dir)
}

// sourceNames identify a request.
func sourceNames(r source.Request) []string { return append([]string{r.Kustomize}, r.Files...) }
