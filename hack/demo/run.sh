#!/usr/bin/env bash
# Demonstrates Fettle on real systemd machines: make demo.
#
# The control plane, the manager and the machines run in a separate network namespace
# and in one folder. Nothing else on this machine is changed, and everything is removed at
# the end, even after an error or Ctrl-C. KEEP=1 leaves it running until Ctrl-C.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# Parameters.
MACHINES=(web-1 web-2)               # the nodes, each a booted machine
AGENT_INTERVAL=${AGENT_INTERVAL:-5s} # how often an agent looks for drift; minutes in real life
PATIENCE=${PATIENCE:-180}            # seconds to wait for anything
SCENES=${SCENES-drift glance configmap conflict rollout labels deletion dns outage} # what to show after the samples, of scenes.sh
KEEP=${KEEP:-}                       # not empty: stay until Ctrl-C
CLUSTER=${CLUSTER:-}                 # not empty: real kubelets run Fettle in pods
NETNS=${NETNS:-fettle-demo}          # the network namespace; demos in different ones don't meet
BRIDGE=fettle0                       # the machines' network in it
NETWORK=10.77.0                      # the control plane is .1, the machines count from .11
CACHE=${FETTLE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fettle}

# Names in config/ and config/samples.
MANAGER_NAMESPACE=fettle-system
MANAGER_ACCOUNT=fettle-manager
PACKAGES=(nginx-light pdns-server pdns-backend-sqlite3 sqlite3 python3) # what the samples and examples/dns install: the machines can't download it
DRIFT_RESOURCE=file/motd # a file and a user of the samples, to be spoiled
DRIFT_FILE=/etc/motd
DRIFT_USER=deploy

for part in say process network controlplane machine fettle story scenes; do
	# shellcheck source=/dev/null
	. "hack/demo/$part.sh"
done
# shellcheck source=/dev/null
[ -z "$CLUSTER" ] || . hack/demo/cluster.sh

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
