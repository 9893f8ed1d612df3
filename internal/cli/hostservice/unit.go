// Package hostservice installs the agent as a systemd service of a host.
//
// It reads and changes the host through a [host.Host], so that it also works on an image's root directory, and from a
// container on the host that runs it.
package hostservice

import (
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
)

// The files of the service on the host, and its name.
const (
	Name       = "fettle-nodeagent.service"
	unitFile   = "/etc/systemd/system/" + Name
	binaryFile = "/usr/local/bin/fettle-nodeagent"
	configDir  = "/etc/fettle/agent"
	kubeconfig = configDir + "/kubeconfig"
	tokenName  = "token"
	tokenFile  = configDir + "/" + tokenName
)

// unit is the unit without its command. It has no restriction that gives the service a mount namespace of its own, such
// as ProtectSystem, because the agent must see and change the host's mounts and files. Packages and Execs run in units
// of their own, which have none of these restrictions.
const unit = `# Written by fettle agent install, which replaces it. Put changes into a drop-in: systemctl edit ` + Name + `
[Unit]
Description=Fettle node agent
Documentation=https://github.com/fettle-dev/fettle
After=network.target
StartLimitIntervalSec=0

[Service]
ExecStart=COMMAND
Restart=always
RestartSec=2
# It finishes the current resource.
TimeoutStopSec=120
KillMode=mixed
UMask=0022
OOMScoreAdjust=-500
CapabilityBoundingSet=~CAP_SYS_BOOT CAP_SYS_RAWIO CAP_SYS_PACCT CAP_WAKE_ALARM CAP_BLOCK_SUSPEND
LockPersonality=yes
RestrictRealtime=yes

[Install]
WantedBy=multi-user.target
`

// unitText returns the unit of an agent with these arguments.
func unitText(node string, args []string) string {
	command := append([]string{binaryFile, "--node-name=" + node, "--kubeconfig=" + kubeconfig, "--renew-token"}, args...)
	for i, word := range command {
		command[i] = quote(word)
	}
	return strings.Replace(unit, "COMMAND", strings.Join(command, " "), 1)
}

// quote quotes a word of a command in a unit: systemd expands % and $, and splits at spaces.
func quote(word string) string {
	word = strings.NewReplacer(`%`, `%%`, `$`, `$$`).Replace(word)
	if !strings.ContainsAny(word, " \t\n\"'\\;") {
		return word
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(word) + `"`
}

// A Service is the agent as a service of a host, installed or not. Its methods must not be called concurrently.
type Service struct{ Host host.Host }
