package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/cli/place"
	"github.com/fettle-dev/fettle/internal/cli/program"
	"github.com/fettle-dev/fettle/internal/cli/typebuild"
	"github.com/fettle-dev/fettle/internal/cli/typenew"
	"github.com/fettle-dev/fettle/internal/cli/typeprint"
	"github.com/fettle-dev/fettle/internal/cli/typepush"
	"github.com/fettle-dev/fettle/internal/cli/typetest"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/external/dscbuild"
	"github.com/fettle-dev/fettle/internal/external/image"
	"github.com/fettle-dev/fettle/internal/external/scaffold"
	"github.com/fettle-dev/fettle/internal/manifest"
	"github.com/fettle-dev/fettle/sdk"
)

func newType(s shared) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "type",
		Short: "Develop external types: kinds that a program of your own manages",
		Example: "  fettle type new Note --language python\n" +
			"  fettle type test note\n" +
			"  fettle type build note | kubectl apply -f -",
	}
	cmd.AddCommand(newTypeNew(s), newTypeTest(s), newTypeBuild(s), newTypePush(s))
	return cmd
}

// withCopy opens a copy of this machine's files for the duration of do.
func (s shared) withCopy(do func(place.Host) error) error {
	if s.CopyOfRoot == nil {
		return errors.New("this program cannot make a copy of the machine's files")
	}
	return s.CopyOfRoot(func(root string) error {
		h, err := s.Hosts.Root(root)
		if err != nil {
			return err
		}
		defer func() { _ = h.Close() }() // nothing is buffered
		return do(h)
	})
}

// buildTypes reads the types of an author. ref replaces their source unless it is "".
func (s shared) buildTypes(ctx context.Context, name, ref string) ([]*v1alpha1.ExternalType, manifest.Types, error) {
	return typebuild.Types(ctx, name, ref, s.printed)
}

// printed returns what a command of a DSC manifest prints. It is run in a copy of the machine's files.
func (s shared) printed(ctx context.Context, c dscbuild.Command) (output []byte, err error) {
	err = s.withCopy(func(h place.Host) error {
		output, err = typeprint.Print(ctx, h, c)
		return err
	})
	return output, err
}

// A typeNew is type new.
type typeNew struct {
	shared
	language                string
	puppet, module, ansible string // the type of another tool; empty if the type has a program of its own
}

func newTypeNew(s shared) *cobra.Command {
	c := typeNew{shared: s}
	cmd := &cobra.Command{
		Use:   "new KIND [NAME [ATTRIBUTE=VALUE...]]",
		Short: "Write a directory with a type and its program, to begin with",
		Long: "new writes a directory with type.yaml and a program. Its name is the kind in lower case. The type manages\n" +
			"files and passes fettle type test.\n\n" +
			"With --puppet, it manages resources of a Puppet type, which Puppet describes: this machine needs the packages\n" +
			"puppet-agent and ruby-puppet-resource-api. --module copies the library of a module into the type. With\n" +
			"--ansible, it runs an Ansible module, which the package ansible describes. NAME and the attributes are those\n" +
			"of spec.example, as in puppet resource TYPE NAME ATTRIBUTE=VALUE.",
		Example: "  fettle type new Note --language sh\n" +
			"  fettle type new HostEntry db ip=192.0.2.7 --puppet host\n" +
			"  fettle type new Firewall --puppet firewall --module modules/firewall\n" +
			"  fettle type new Line motd path=/etc/motd line=hello --ansible lineinfile",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0], args[1:]) },
	}
	f := cmd.Flags()
	f.StringVar(&c.language, "language", "python", "language of the program: "+strings.Join(scaffold.Languages(), " or "))
	f.StringVar(&c.puppet, "puppet", "", "Puppet type that the resources have")
	f.StringVar(&c.ansible, "ansible", "", "Ansible module that the resources run")
	f.StringVar(&c.module, "module", "", "directory of the module with the Puppet type; its lib becomes part of the type")
	flags.Complete(cmd, "language", scaffold.Languages()...)
	cmd.MarkFlagsMutuallyExclusive("language", "puppet", "ansible")
	cmd.MarkFlagsMutuallyExclusive("ansible", "module")
	cmd.MarkFlagsMutuallyExclusive("language", "module")
	return cmd
}

func (c *typeNew) run(ctx context.Context, kind string, example []string) error {
	files, err := c.files(ctx, kind, example)
	if err != nil {
		return err
	}
	written, err := typenew.Write(strings.ToLower(kind), files)
	for _, name := range written {
		c.out.Print("wrote %s", name)
	}
	return err
}

// files returns the files of a new type.
func (c *typeNew) files(ctx context.Context, kind string, example []string) (files map[string]string, err error) {
	if c.puppet == "" && c.ansible == "" {
		if len(example) > 0 || c.module != "" {
			return nil, errors.New("the attributes of an example need --puppet or --ansible, and --module needs --puppet")
		}
		return scaffold.Files(kind, c.language)
	}
	r := typenew.Request{Kind: kind, Describer: sdk.PuppetDescriber(), Type: c.puppet, Module: c.module, Example: example}
	if c.ansible != "" {
		r.Describer, r.Type = sdk.AnsibleDescriber(), c.ansible
	}
	err = c.withCopy(func(h place.Host) error {
		files, err = typenew.Files(ctx, h, r)
		return err
	})
	return files, err
}

// A typeBuild is type build.
type typeBuild struct {
	shared
	image string
}

func newTypeBuild(s shared) *cobra.Command {
	c := typeBuild{shared: s}
	cmd := &cobra.Command{
		Use:   "build FILE|DIR",
		Short: "Print a type and its CustomResourceDefinition, for Git and kubectl apply",
		Long: "build prints ExternalTypes with the files of their programs, and their CustomResourceDefinitions. It reads\n" +
			"type.yaml if it gets a directory. In spec.source.files, an empty value stands for the file of that name beside\n" +
			"type.yaml; fettle.py is the library for Python that comes with fettle, unless there is such a file.\n\n" +
			"From the manifest of a DSC resource, x.dsc.resource.json, build makes the type of that resource. The file\n" +
			"x.fettle.yaml beside it has what the manifest does not say, such as which properties identify an instance.\n" +
			"A command that prints the schema is run once, which requires root: it cannot change anything.",
		Example: "  fettle type build note | kubectl apply -f -\n" +
			"  fettle type build note --image registry.example.com/types/note:0.1.0@sha256:...\n" +
			"  fettle type build service.dsc.resource.json",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	cmd.Flags().StringVar(&c.image, "image", "", "reference with a digest that type push printed: the program is in that image, rather than in the type")
	return cmd
}

func (c *typeBuild) run(ctx context.Context, name string) error {
	built, types, err := c.buildTypes(ctx, name, c.image)
	if err != nil {
		return err
	}
	for i, d := range types.Definitions() {
		if err := c.print(d, built[i]); err != nil {
			return err
		}
	}
	return nil
}

// print prints the documents of a type.
func (c *typeBuild) print(d *definition.Definition, t *v1alpha1.ExternalType) error {
	all, err := typebuild.Documents(d, t)
	if err != nil {
		return err
	}
	for _, document := range all {
		c.out.Print("---")
		if err := c.out.Encode(document, flags.YAML); err != nil {
			return err
		}
	}
	return nil
}

// A typePush is type push.
type typePush struct {
	shared
	platforms []string
}

func newTypePush(s shared) *cobra.Command {
	c := typePush{shared: s}
	cmd := &cobra.Command{
		Use:   "push FILE|DIR REGISTRY/REPOSITORY:TAG",
		Short: "Push the program of a type to a registry, and print the reference for type build",
		Long: "push packs the files of spec.source.files or, if type.yaml has spec.source.image instead, all files in its\n" +
			"directory but type.yaml and hidden ones. It pushes them as an OCI artifact, with the credentials of docker login,\n" +
			"and prints the reference with the digest. The same files always have the same digest.",
		Example: "  fettle type push note registry.example.com/types/note:0.1.0\n" +
			"  fettle type push note registry.example.com/types/note:0.1.0 --platform linux/amd64=bin/amd64 --platform linux/arm64=bin/arm64",
		Args: cobra.ExactArgs(2), //nolint:mnd // a directory and a reference
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0], args[1]) },
	}
	cmd.Flags().StringArrayVar(&c.platforms, "platform", nil, "OS/ARCHITECTURE=DIR: a directory with more files for hosts of that platform; may be repeated")
	return cmd
}

func (c *typePush) run(ctx context.Context, name, to string) error {
	built, _, err := c.buildTypes(ctx, name, "")
	if err != nil {
		return err
	}
	files, err := typepush.Files(name, built, c.platforms)
	if err != nil {
		return err
	}
	ref, err := image.Push(ctx, to, files)
	if err == nil {
		c.out.Print("%s", ref)
	}
	return err
}

// A typeTest is type test.
type typeTest struct{ shared }

func newTypeTest(s shared) *cobra.Command {
	c := typeTest{s}
	return &cobra.Command{
		Use:   "test FILE|DIR",
		Short: "Check a type and its program, without changing this machine",
		Long: "test checks that a type is valid, that its program holds to the protocol, and that its example can be created,\n" +
			"is then in sync, and can be removed. The program sees a copy of this machine's files in which its changes\n" +
			"stay: nothing else is separate, so a program that changes a service by its network changes it.",
		Example: "  fettle type test note",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
}

func (c *typeTest) run(ctx context.Context, name string) error {
	built, types, err := c.buildTypes(ctx, name, "")
	if err != nil {
		return err
	}
	files, err := typepush.Local(name, built)
	if err != nil {
		return err
	}
	return c.withCopy(func(h place.Host) error { return c.print(typetest.Run(ctx, h, c.Kinds, types, files)) })
}

// print prints the results, of which a failed one fails the command.
func (c *typeTest) print(results []typetest.Result) error {
	failed := 0
	for _, r := range results {
		if r.Err == nil {
			c.out.Print("ok    %s: %s", r.Kind, r.Name)
			continue
		}
		failed++
		c.out.Print("FAIL  %s: %s: %s", r.Kind, r.Name, program.Message(r.Err))
	}
	if failed > 0 {
		return output.Exit(1)
	}
	return nil
}
