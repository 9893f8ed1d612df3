# Replaces the cluster of the demo by a real one: make demo CLUSTER=1. Kubelets run the manager
# and the agents in pods, from images of this checkout.

MACHINES=(node-1 node-2 node-3)
SCENES=${SCENES/outage/} # the control plane belongs to another process
export CLUSTER_NAME=$NETNS

prepare() {
	step "Preparing: takes a quarter of an hour the first time, then seconds"
	busy "building the images" make image ARCHES=amd64 IMAGE_MANAGER=localhost/fettle-manager:demo IMAGE_AGENT=localhost/fettle-nodeagent:demo
	busy "building what starts a cluster" go build -o "$WORK/bin/cluster" ./test/cluster/cmd
	busy "building kubectl fettle" make bin/kubectl-fettle
	install bin/kubectl-fettle "$WORK/bin"
	busy "building Kubernetes" hack/controlplane/build.sh
	busy "building kubelet and containerd" hack/cluster/build.sh
	printf '#!/bin/sh\nexec cluster run kubectl "$@"\n' >"$WORK/bin/kubectl"
	printf '#!/bin/sh\nexec cluster node "$@"\n' >"$WORK/bin/on"
	chmod +x "$WORK/bin/kubectl" "$WORK/bin/on"
}

a_cluster() {
	step "A cluster: a control plane and ${#MACHINES[@]} systemd machines with containerd and kubelet"
	start cluster TERM cluster up --nodes "${#MACHINES[@]}" --packages "$(IFS=,; echo "${PACKAGES[*]}")"
	until_true "the cluster" cluster run true
	show kubectl label node "${MACHINES[@]}" role=web
	show kubectl get nodes -o wide
}

fettle_moves_in() {
	step "Installing Fettle with config/default: a Deployment of managers, and a DaemonSet of agents"
	cluster load dist/images/fettle-manager-amd64.tar dist/images/fettle-nodeagent-amd64.tar >"$WORK/log/load.log" 2>&1
	# In the checkout, because kustomize reads no absolute paths.
	mkdir -p bin/demo
	cat >bin/demo/kustomization.yaml <<-'END'
		apiVersion: kustomize.config.k8s.io/v1beta1
		kind: Kustomization
		resources: [../../config/default, ../../config/reports]
		images:
		  - {name: fettle-manager, newName: localhost/fettle-manager, newTag: demo}
		  - {name: fettle-nodeagent, newName: localhost/fettle-nodeagent, newTag: demo}
		patches: # changes reach all machines at once
		  - target: {kind: Deployment, name: fettle-manager}
		    patch: '[{op: add, path: /spec/template/spec/containers/0/args/-, value: "--default-rollout-policy=false"}]'
	END
	show kubectl apply -k bin/demo
	show kubectl --namespace fettle-nodes rollout status daemonset/fettle-nodeagent --timeout "${PATIENCE}s"
	until_true "every agent to report" all_nodes_known
	until_true "the API of reports" kubectl get --raw /apis/reports.fettle.dev/v1alpha1
	show kubectl get pods --all-namespaces -o wide
	show kubectl get nodecatalogs
}
