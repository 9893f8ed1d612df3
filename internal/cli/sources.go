package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/cli/place"
	"github.com/fettle-dev/fettle/internal/manifest"
	"github.com/fettle-dev/fettle/internal/source"
)

// useSources is the usage of sourceFlags.
const useSources = "(-f FILE|DIR|URL|- | -k DIR)"

// sourceFlags are the flags for manifests, as in kubectl, and for the types of their resources.
type sourceFlags struct {
	types   typeFlags
	request source.Request
}

// add adds the flags to a command.
func (f *sourceFlags) add(cmd *cobra.Command) {
	f.types.add(cmd)
	r := &f.request
	cmd.Flags().StringSliceVarP(&r.Files, "filename", "f", nil, "file, directory or https URL of manifests, or - for stdin; may be repeated")
	cmd.Flags().BoolVarP(&r.Recursive, "recursive", "R", false, "also read subdirectories of the directories given with -f")
	cmd.Flags().StringVarP(&r.Kustomize, "kustomize", "k", "", "directory of a kustomization to build, instead of -f; requires kustomize or kubectl")
	_ = cmd.MarkFlagFilename("filename", "yaml", "yml", "json") // it was just added
	_ = cmd.MarkFlagDirname("kustomize")
	cmd.ValidArgsFunction = cobra.NoFileCompletions
}

// given returns an error if there are no manifests.
func (f *sourceFlags) given(*cobra.Command, []string) error {
	if f.request.Empty() {
		return errors.New("no manifests: use -f FILE, -f DIR, -f URL, -k DIR or, for stdin, -f -")
	}
	return nil
}

// only returns an error if there are no manifests or there are arguments.
func (f *sourceFlags) only(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q: use -f FILE for files", args[0])
	}
	return f.given(cmd, args)
}

// names identify the sources.
func (f *sourceFlags) names() []string {
	return append([]string{f.request.Kustomize}, f.request.Files...)
}

// readManifests reads the manifests of flags. cache may be nil.
func (s shared) readManifests(ctx context.Context, f sourceFlags, at place.Place, cache *manifest.Cache) *manifest.Set {
	kustomize := s.Kustomize
	if at.OfProcess() {
		kustomize = func(context.Context, string) ([]byte, error) {
			return nil, errors.New("-k does not read the host of --host-pid: build it elsewhere, and pass it to -f -")
		}
	}
	all, missing := source.Loader{Stdin: s.In, Local: at.Local, Kustomize: kustomize}.Expand(f.request)
	types, faults := f.types.installed(ctx, at)
	set := types.Read(ctx, all, cache)
	set.Faults = slices.Concat(faults, manifest.SourceFaults(missing), set.Faults)
	return set
}

// readHere reads the manifests of a command without flags for the host.
func (s shared) readHere(ctx context.Context, f sourceFlags) (*manifest.Set, error) {
	at, err := s.Hosts.Default()
	if err != nil {
		return nil, err
	}
	return s.readManifests(ctx, f, at, nil), nil
}

// warnFaults prints faults, a line each.
func (s shared) warnFaults(faults []manifest.Fault) {
	for _, f := range faults {
		s.out.WarnIn(output.Red, "%s", f)
	}
}

// warnIgnored names the documents that are not Fettle's.
func (s shared) warnIgnored(set *manifest.Set) {
	for _, i := range set.Ignored {
		s.out.Warn("note: ignored %s, which is not of fettle.dev", i)
	}
}
