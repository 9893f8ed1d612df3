package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli/installed"
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

// addTypes adds the flag for installed types.
func (a *app) addTypes(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.place.types, "types-dir", "", "directory of external types, in which only root can write (default "+installed.DefaultDir+" under the root)")
	_ = cmd.MarkFlagDirname("types-dir") // it was just added
}

// kinds returns the built-in kinds and those of external types. The programs of types are stored on the host below the
// state directory; without a host, nothing can be read or changed.
func (a *app) kinds(types manifest.Types, h host.Host, stateDir string) []resource.Kind {
	var files external.Files
	if h != nil {
		files = store.New(h, a.place.programsDir(stateDir))
	}
	return slices.Concat(a.Kinds, external.Kinds(types.Definitions(), files))
}

// installed returns the built-in kinds and those of installed types. h may be nil, as for kinds.
func (a *app) installed(ctx context.Context, h host.Host, stateDir string) ([]resource.Kind, manifest.Types, error) {
	types, faults := installed.Read(ctx, a.place.top, a.place.types)
	return a.kinds(types, h, stateDir), types, manifest.Join(faults)
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
