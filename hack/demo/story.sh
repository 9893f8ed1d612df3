# The story of the demo, in order.

KINDS=files,packages,users,groups,systemservices

tell_the_story() {
	prepare
	a_cluster
	fettle_moves_in
	the_samples
	local scene
	for scene in $SCENES; do
		"$scene"
	done
}

prepare() {
	step "Preparing: takes minutes the first time, then seconds"
	build_binaries
	hack/controlplane/build.sh >"$WORK/controlplane"
	CONTROL_PLANE=$(<"$WORK/controlplane")
	busy "packages for machines without a network" offer_packages
}

a_cluster() {
	step "A cluster: a control plane and ${#MACHINES[@]} systemd machines"
	make_network
	start_control_plane
	boot_machines
	nodes >"$WORK/nodes.yaml"
	show kubectl apply -f "$WORK/nodes.yaml"
	show kubectl get nodes --show-labels
	note "No kubelet runs on these machines, so the Nodes have no status. Fettle does not need one."
}

fettle_moves_in() {
	step "Installing Fettle: its API, its permissions, a manager, and an agent on each machine"
	show kubectl apply -f config/default/namespace.yaml -f config/crd -f config/rbac -f config/policy -f config/flowcontrol
	install_reports
	start_manager
	local name
	for name in "${MACHINES[@]}"; do
		start_agent "$name"
	done
	until_true "every agent to report" all_nodes_known
	show kubectl get nodecatalogs
}

all_nodes_known() {
	kubectl wait --for condition=Ready --timeout 1s nodecatalogs "${MACHINES[@]}"
}

the_samples() {
	step "Applying the samples"
	show kubectl apply -f config/samples
	show kubectl wait --for condition=Ready --timeout "${PATIENCE}s" "$KINDS" --all
	show kubectl get "$KINDS"
	show kubectl get nodecatalogs
	show kubectl fettle status
}
