// Package sdk has the libraries for the programs of external types, and programs that manage types of other tools.
package sdk

import _ "embed" // for the libraries

// Names of files that come with fettle.
const (
	PythonFile  = "fettle.py"         // the library for Python
	PuppetFile  = "fettle_puppet.rb"  // the program for types of Puppet
	AnsibleFile = "fettle_ansible.py" // the program for modules of Ansible
)

var (
	//go:embed python/fettle.py
	python string
	//go:embed ruby/fettle_puppet.rb
	puppet string
	//go:embed ruby/fettle_puppet_describe.rb
	puppetDescriber string
	//go:embed ansible/fettle_ansible.py
	ansible string
	//go:embed ansible/fettle_ansible_describe.py
	ansibleDescriber string
)

// Files returns the contents of files that programs may use without a copy, by name.
func Files() map[string]string {
	return map[string]string{PythonFile: python, PuppetFile: puppet, AnsibleFile: ansible}
}

// A Describer is a program that describes types of another tool.
type Describer struct {
	// Command is the interpreter and the main file. It needs the name of a type as another argument, and prints a JSON
	// object with fields of the spec of an ExternalType.
	Command []string
	Files   map[string]string // by name
	// Packages are those of Debian that it needs.
	Packages string
}

// PuppetDescriber describes types of Puppet, with the library in lib beside it.
func PuppetDescriber() Describer {
	const name = "fettle_puppet_describe.rb"
	return Describer{
		Command: []string{"ruby", name}, Packages: "puppet-agent and ruby-puppet-resource-api",
		Files: map[string]string{name: puppetDescriber, PuppetFile: puppet},
	}
}

// AnsibleDescriber describes modules of Ansible.
func AnsibleDescriber() Describer {
	const name = "fettle_ansible_describe.py"
	return Describer{
		Command: []string{"python3", name}, Packages: "ansible",
		Files: map[string]string{name: ansibleDescriber, AnsibleFile: ansible},
	}
}
