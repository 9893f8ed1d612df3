package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/flags"
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

func (a *app) types() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "type",
		Short: "Develop external types: kinds that a program of your own manages",
		Example: "  fettle type new Note --language python\n" +
			"  fettle type test note\n" +
			"  fettle type build note | kubectl apply -f -",
	}
	cmd.AddCommand(a.typeNew(), a.typeTest(), a.typeBuild(), a.typePush())
	return cmd
}

func (a *app) typeNew() *cobra.Command {
	language := "python"
	var from adopted
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
		RunE: func(cmd *cobra.Command, args []string) error {
			files, err := a.newFiles(cmd.Context(), args, language, from)
			if err != nil {
				return err
			}
			written, err := typenew.Write(strings.ToLower(args[0]), files)
			for _, name := range written {
				a.out.Print("wrote %s", name)
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&language, "language", language, "language of the program: "+strings.Join(scaffold.Languages(), " or "))
	f.StringVar(&from.puppet, "puppet", "", "Puppet type that the resources have")
	f.StringVar(&from.ansible, "ansible", "", "Ansible module that the resources run")
	f.StringVar(&from.module, "module", "", "directory of the module with the Puppet type; its lib becomes part of the type")
	flags.Complete(cmd, "language", scaffold.Languages()...)
	cmd.MarkFlagsMutuallyExclusive("language", "puppet", "ansible")
	cmd.MarkFlagsMutuallyExclusive("ansible", "module")
	cmd.MarkFlagsMutuallyExclusive("language", "module")
	return cmd
}

// An adopted type is one of another tool; empty if the type has a program of its own.
type adopted struct{ puppet, module, ansible string }

// request returns what describes the type.
func (f adopted) request(args []string) typenew.Request {
	r := typenew.Request{Kind: args[0], Describer: sdk.PuppetDescriber(), Type: f.puppet, Module: f.module, Example: args[1:]}
	if f.ansible != "" {
		r.Describer, r.Type = sdk.AnsibleDescriber(), f.ansible
	}
	return r
}

// newFiles returns the files of a new type.
func (a *app) newFiles(ctx context.Context, args []string, language string, from adopted) (files map[string]string, err error) {
	if from.puppet == "" && from.ansible == "" {
		if len(args) > 1 || from.module != "" {
			return nil, errors.New("the attributes of an example need --puppet or --ansible, and --module needs --puppet")
		}
		return scaffold.Files(args[0], language)
	}
	if a.CopyOfRoot == nil {
		return nil, errNoCopy
	}
	err = a.CopyOfRoot(func(root string) error {
		h, err := a.OpenHost(root)
		if err != nil {
			return err
		}
		defer func() { _ = h.Close() }() // nothing is buffered
		files, err = typenew.Files(ctx, h, from.request(args))
		return err
	})
	return files, err
}

// errNoCopy is about a program that is built without a way to copy the machine's files.
var errNoCopy = errors.New("this program cannot make a copy of the machine's files")

func (a *app) typeBuild() *cobra.Command {
	ref := ""
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
		RunE: func(cmd *cobra.Command, args []string) error {
			built, types, err := a.buildTypes(cmd.Context(), args[0], ref)
			if err != nil {
				return err
			}
			for i, d := range types.Definitions() {
				if err := a.printType(d, built[i]); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&ref, "image", "", "reference with a digest that type push printed: the program is in that image, rather than in the type")
	return cmd
}

// buildTypes reads the types of an author. ref replaces their source unless it is "".
func (a *app) buildTypes(ctx context.Context, name, ref string) ([]*v1alpha1.ExternalType, manifest.Types, error) {
	return typebuild.Types(ctx, name, ref, a.printed)
}

// printed returns what a command of a DSC manifest prints. It is run in a copy of the machine's files.
func (a *app) printed(ctx context.Context, c dscbuild.Command) (output []byte, err error) {
	if a.CopyOfRoot == nil {
		return nil, errNoCopy
	}
	err = a.CopyOfRoot(func(root string) error {
		h, err := a.OpenHost(root)
		if err != nil {
			return err
		}
		defer func() { _ = h.Close() }() // nothing is buffered
		output, err = typeprint.Print(ctx, h, c)
		return err
	})
	return output, err
}

// printType prints the documents of a type.
func (a *app) printType(d *definition.Definition, t *v1alpha1.ExternalType) error {
	all, err := typebuild.Documents(d, t)
	if err != nil {
		return err
	}
	for _, document := range all {
		a.out.Print("---")
		if err := a.out.Encode(document, "yaml"); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) typePush() *cobra.Command {
	var platforms []string
	cmd := &cobra.Command{
		Use:   "push FILE|DIR REGISTRY/REPOSITORY:TAG",
		Short: "Push the program of a type to a registry, and print the reference for type build",
		Long: "push packs the files of spec.source.files or, if type.yaml has spec.source.image instead, all files in its\n" +
			"directory but type.yaml and hidden ones. It pushes them as an OCI artifact, with the credentials of docker login,\n" +
			"and prints the reference with the digest. The same files always have the same digest.",
		Example: "  fettle type push note registry.example.com/types/note:0.1.0\n" +
			"  fettle type push note registry.example.com/types/note:0.1.0 --platform linux/amd64=bin/amd64 --platform linux/arm64=bin/arm64",
		Args: cobra.ExactArgs(2), //nolint:mnd // a directory and a reference
		RunE: func(cmd *cobra.Command, args []string) error {
			built, _, err := a.buildTypes(cmd.Context(), args[0], "")
			if err != nil {
				return err
			}
			files, err := typepush.Files(args[0], built, platforms)
			if err != nil {
				return err
			}
			ref, err := image.Push(cmd.Context(), args[1], files)
			if err == nil {
				a.out.Print("%s", ref)
			}
			return err
		},
	}
	cmd.Flags().StringArrayVar(&platforms, "platform", nil, "OS/ARCHITECTURE=DIR: a directory with more files for hosts of that platform; may be repeated")
	return cmd
}

func (a *app) typeTest() *cobra.Command {
	return &cobra.Command{
		Use:   "test FILE|DIR",
		Short: "Check a type and its program, without changing this machine",
		Long: "test checks that a type is valid, that its program holds to the protocol, and that its example can be created,\n" +
			"is then in sync, and can be removed. The program sees a copy of this machine's files in which its changes\n" +
			"stay: nothing else is separate, so a program that changes a service by its network changes it.",
		Example: "  fettle type test note",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			built, types, err := a.buildTypes(cmd.Context(), args[0], "")
			if err != nil {
				return err
			}
			program, err := typepush.Local(args[0], built)
			if err != nil {
				return err
			}
			if a.CopyOfRoot == nil {
				return errNoCopy
			}
			return a.CopyOfRoot(func(root string) error { return a.testTypes(cmd.Context(), root, types, program) })
		},
	}
}

func (a *app) testTypes(ctx context.Context, root string, types manifest.Types, program image.Local) error {
	h, err := a.OpenHost(root)
	if err != nil {
		return err
	}
	defer func() { _ = h.Close() }() // nothing is buffered
	failed := 0
	for _, r := range typetest.Run(ctx, h, a.Kinds, types, program) {
		if r.Err == nil {
			a.out.Print("ok    %s: %s", r.Kind, r.Name)
			continue
		}
		failed++
		a.out.Print("FAIL  %s: %s: %s", r.Kind, r.Name, Message(r.Err))
	}
	if failed > 0 {
		return Exit(1)
	}
	return nil
}
