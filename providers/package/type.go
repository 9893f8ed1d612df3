package pkg

import (
	_ "embed"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/package/apt"
)

//go:embed doc.md
var doc string

//go:embed example.yaml
var example string

// Attributes are the attributes of a Package, desired or as read by a provider.
type Attributes struct {
	v1alpha1.PackageAttributes
	found found
}

// found is the state of a package beyond its attributes.
type found struct {
	// latest is the version that would be installed now for ensure: latest or a range; "" if none
	// is known, or if it was not looked up.
	latest string
	// stale is why the latest version can't be told by reading, such as an index that is older than its sources; "" if it can.
	stale string
	// unfinished is set if dpkg was interrupted while it installed the package. It is never in sync:
	// installing it again finishes it, and removing it deletes its files.
	unfinished bool
	// damage is set if dpkg has flagged the package as damaged. Writing ensure repairs it.
	damage error
}

// Values of ensure beside present, absent and versions.
const (
	latest    = "latest"
	purged    = "purged"
	installed = "installed" // a synonym of present
	damaged   = "damaged"   // only ever read
)

// Values of mark and configFiles.
const (
	hold    = "hold"
	none    = "none"
	keep    = "keep"
	replace = "replace"
)

// The features of providers.
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

// DefaultLock waits for other package managers as long as an unattended upgrade may take.
func DefaultLock() apt.Lock { return apt.Lock{Timeout: 10 * time.Minute, Poll: 2 * time.Second} }

// Type is the resource type Package. lock configures the wait for other package managers.
func Type(lock apt.Lock) *resource.Type[Attributes] {
	return &resource.Type[Attributes]{
		Name:        "Package",
		Doc:         doc,
		Example:     example,
		Features:    features(),
		Properties:  []resource.Property[Attributes]{ensureProperty(), markProperty()},
		Parameters:  parameters(),
		Providers:   []resource.Provider[Attributes]{provider{lock}},
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
		Traits:   resource.Traits{SideEffects: true},
		Deletion: &resource.Deletion[Attributes]{Delete: deleted, Original: original},
	}
}

// deleted removes a package but not its configuration, as ensure: absent does.
func deleted(want Attributes) Attributes {
	return Attributes{PackageAttributes: v1alpha1.PackageAttributes{
		Name: want.Name, Ensure: new(resource.Absent),
		InstallOptions: want.InstallOptions, UninstallOptions: want.UninstallOptions, Environment: want.Environment,
	}}
}

// original returns the state to restore. A package that is damaged or half installed was meant to be
// installed.
func original(_ host.Reader, is Attributes, _ []resource.Change) (Attributes, error) {
	if is.found.damage != nil || is.found.unfinished {
		is.Ensure = new(resource.Present)
	}
	return is, nil
}

func features() []resource.FeatureDoc {
	return []resource.FeatureDoc{
		{Name: installable, Doc: "Packages can be installed."},
		{Name: uninstallable, Doc: "Packages can be removed."},
		{Name: upgradeable, Doc: "The newest version is known and can be installed (`ensure: latest`)."},
		{Name: purgeable, Doc: "Packages can be removed together with their configuration (`ensure: purged`)."},
		{Name: versionable, Doc: "A given version can be installed."},
		{Name: versionRanges, Doc: "A version of a range can be installed."},
		{Name: reinstallable, Doc: "Installed packages can be reinstalled (`reinstallOnRefresh`)."},
		{Name: virtualPackages, Doc: "Virtual packages stand for their providers (`allowVirtual`)."},
		{Name: holdable, Doc: "Packages can be held at their version (`mark`)."},
		{Name: installOptions, Doc: "The install command accepts further options."},
		{Name: uninstallOptions, Doc: "The remove command accepts further options."},
	}
}

func parameters() []resource.Parameter {
	return []resource.Parameter{
		{Name: "installOptions", Doc: "Further options of the install command.", Feature: installOptions},
		{Name: "uninstallOptions", Doc: "Further options of the remove command.", Feature: uninstallOptions},
		{Name: "source", Doc: "Path of a package file on the host that is installed instead of one from the index."},
		{Name: "responseFile", Doc: "Path of a file on the host with answers to the package's debconf questions, read before it is installed, removed or purged."},
		{Name: "allowVirtual", Doc: "Lets name be a virtual package. Default false.", Feature: virtualPackages},
		{Name: "reinstallOnRefresh", Doc: "Reinstalls the package when it is notified. Default false.", Feature: reinstallable},
		{Name: "configFiles", Doc: "How to handle a locally changed configuration file when a package has a new one: keep (default) or replace."},
		{Name: "environment", Doc: "Environment of apt's commands, as KEY=value."},
	}
}

// files returns the files on the host that the package needs.
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
	mark := resource.Field("mark", "hold holds the package at its version, none releases it.",
		func(a *Attributes) *string { return a.Mark })
	mark.Feature = holdable
	return mark
}

func normalize(a *Attributes) {
	if a.Ensure != nil && *a.Ensure == installed {
		a.Ensure = new(resource.Present)
	}
}

// setDefaults sets Puppet's default: a package is present.
func setDefaults(a *Attributes) {
	if a.Ensure == nil {
		a.Ensure = new(resource.Present)
	}
}
