package pkg

import (
	_ "embed"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

//go:embed doc.md
var doc string

//go:embed example.yaml
var example string

// Attributes are a package's: what a user writes and what a provider reads back.
// They encode as the API's own.
type Attributes struct {
	v1alpha1.PackageAttributes
	found found
}

// found is what a provider finds out beside the attributes.
type found struct {
	// latest is the version that the tool would install now for ensure: latest or a range; "" where
	// it knows none, or it was not asked.
	latest string
	// stale says that the tool's index is older than the sources it is made from.
	stale bool
	// unfinished says that dpkg stopped amid installing the package. It is in sync with nothing:
	// installing it again finishes it, and removing it takes away the files that are there.
	unfinished bool
	// damage is what dpkg says is wrong with the package; to write ensure mends it.
	damage error
}

// Values of ensure beside present, absent and versions.
const (
	latest    = "latest"
	purged    = "purged"
	installed = "installed" // another word for present
	damaged   = "damaged"   // only ever read
)

// Values of mark and configFiles.
const (
	hold    = "hold"
	none    = "none"
	keep    = "keep"
	replace = "replace"
)

// What providers may be able to do.
const (
	installable      resource.Feature = "installable"
	uninstallable    resource.Feature = "uninstallable"
	upgradeable      resource.Feature = "upgradeable"
	purgeable        resource.Feature = "purgeable"
	versionable      resource.Feature = "versionable"
	versionRanges    resource.Feature = "version_ranges"
	reinstallable    resource.Feature = "reinstallable"
	virtualPackages  resource.Feature = "virtual_packages"
	holdable         resource.Feature = "holdable"
	installOptions   resource.Feature = "install_options"
	uninstallOptions resource.Feature = "uninstall_options"
)

// Type is the resource type Package.
func Type() *resource.Type[Attributes] { return typeOf(newApt()) }

func typeOf(providers ...resource.Provider[Attributes]) *resource.Type[Attributes] {
	return &resource.Type[Attributes]{
		Name:        "Package",
		Doc:         doc,
		Example:     example,
		Features:    features(),
		Properties:  []resource.Property[Attributes]{ensureProperty(), markProperty()},
		Parameters:  parameters(),
		Providers:   providers,
		NamevarName: "name",
		Namevar:     func(a *Attributes) *string { return &a.Name },
		Exists:      exists,
		Normalize:   normalize,
		Default:     setDefaults,
		OneOf: []resource.OneOf[Attributes]{
			{Attribute: "mark", Value: func(a *Attributes) *string { return a.Mark }, Words: []string{"hold", "none"}},
			{Attribute: "configFiles", Value: func(a *Attributes) *string { return a.ConfigFiles }, Words: []string{"keep", "replace"}},
		},
		Validate: validate,
		Auto: []resource.AutoRelation[Attributes]{
			{Relation: resource.Require, Kind: "File", Names: files},
		},
		SideEffects: true,
		Leaving:     &resource.Leaving[Attributes]{Gone: gone, Was: was},
	}
}

// gone leaves the configuration, as ensure: absent does.
func gone(want Attributes) Attributes {
	return Attributes{PackageAttributes: v1alpha1.PackageAttributes{
		Name: want.Name, Ensure: new(resource.Absent),
		InstallOptions: want.InstallOptions, UninstallOptions: want.UninstallOptions, Environment: want.Environment,
	}}
}

// was is the state to come back to. A package that is damaged or half installed was meant to be
// installed.
func was(_ host.Reader, is Attributes, _ []resource.Change) (Attributes, error) {
	if is.found.damage != nil || is.found.unfinished {
		is.Ensure = new(resource.Present)
	}
	return is, nil
}

func features() []resource.FeatureDoc {
	return []resource.FeatureDoc{
		{Name: installable, Doc: "Packages can be installed."},
		{Name: uninstallable, Doc: "Packages can be removed."},
		{Name: upgradeable, Doc: "The newest version is known and can be had (`ensure: latest`)."},
		{Name: purgeable, Doc: "Packages can be removed together with their configuration (`ensure: purged`)."},
		{Name: versionable, Doc: "A certain version can be had."},
		{Name: versionRanges, Doc: "Any version of a range can be had."},
		{Name: reinstallable, Doc: "What is installed can be installed again (`reinstallOnRefresh`)."},
		{Name: virtualPackages, Doc: "Packages can be named by what they provide (`allowVirtual`)."},
		{Name: holdable, Doc: "Packages can be kept at their version (`mark`)."},
		{Name: installOptions, Doc: "The command to install takes further words."},
		{Name: uninstallOptions, Doc: "The command to remove takes further words."},
	}
}

func parameters() []resource.Parameter {
	return []resource.Parameter{
		{Name: "installOptions", Doc: "Further words for the tool's command to install.", Feature: installOptions},
		{Name: "uninstallOptions", Doc: "Further words for the tool's command to remove.", Feature: uninstallOptions},
		{Name: "source", Doc: "Path of a package on the host that is installed in place of one from the index."},
		{Name: "responseFile", Doc: "Path of a file on the host with answers to the package's questions, read before it is installed, removed or purged."},
		{Name: "allowVirtual", Doc: "Lets name be what other packages provide. Default false.", Feature: virtualPackages},
		{Name: "reinstallOnRefresh", Doc: "Installs the package again when something notifies it. Default false.", Feature: reinstallable},
		{Name: "configFiles", Doc: "What becomes of a changed configuration file when a package brings a new one: keep (default) or replace."},
		{Name: "environment", Doc: "Environment of the tool's commands, as KEY=value."},
	}
}

// files are those on the host that the package is made from.
func files(want Attributes) []string {
	var all []string
	for _, file := range []*string{want.Source, want.ResponseFile} {
		if file != nil {
			all = append(all, *file)
		}
	}
	return all
}

func markProperty() resource.Property[Attributes] {
	mark := resource.Field("mark", "hold keeps the package at its version, none lets it go.",
		func(a *Attributes) *string { return a.Mark })
	mark.Feature = holdable
	return mark
}

func normalize(a *Attributes) {
	if a.Ensure != nil && *a.Ensure == installed {
		a.Ensure = new(resource.Present)
	}
}

// setDefaults is Puppet's: a package that says nothing of ensure is to be there.
func setDefaults(a *Attributes) {
	if a.Ensure == nil {
		a.Ensure = new(resource.Present)
	}
}
