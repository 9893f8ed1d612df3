#!/usr/bin/env bash
# Shows Fettle at work on real systemd machines: make demo.
#
# A control plane, a manager and the machines live in a network namespace of their own
# and in one folder; nothing else on this machine is touched, and all of it goes away at
# the end, also after an error or Ctrl-C. KEEP=1 leaves it running until Ctrl-C.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# Tunables.
MACHINES=(web-1 web-2)               # the nodes, each a booted machine
AGENT_INTERVAL=${AGENT_INTERVAL:-5s} # how often an agent looks for drift; minutes in real life
PATIENCE=${PATIENCE:-180}            # seconds to wait for anything
SCENES=${SCENES-drift configmap conflict labels deletion outage} # what to show after the samples, of scenes.sh
KEEP=${KEEP:-}                       # not empty: stay until Ctrl-C
NETNS=${NETNS:-fettle-demo}          # the network namespace; demos in different ones don't meet
BRIDGE=fettle0                       # the machines' network in it
NETWORK=10.77.0                      # the control plane is .1, the machines count from .11
CACHE=${FETTLE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fettle}

# What config/ and config/samples call things.
MANAGER_NAMESPACE=fettle-system
MANAGER_ACCOUNT=fettle-manager
AGENT_NAMESPACE=fettle-nodes
AGENT_ACCOUNT=fettle-nodeagent
PACKAGES=(nginx-light) # what the samples install: the machines can't download it
DRIFT_RESOURCE=file/motd # a file and a user of the samples, to be spoiled
DRIFT_FILE=/etc/motd
DRIFT_USER=deploy

for part in say process network controlplane image machine fettle story scenes; do
	# shellcheck source=/dev/null
	. "hack/demo/$part.sh"
done

main() {
	check_prerequisites
	claim_network
	trap clean_up EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	tell_the_story
	[ -z "$KEEP" ] || stay
}

main
