# Starts Fettle: its binaries, its objects in the cluster, its processes.

check_prerequisites() {
	[ "$(id -u)" = 0 ] || die "booting machines needs root: run it as root"
	local tool
	for tool in go make ip nsenter setpriv unshare openssl flock systemd-nspawn debootstrap dpkg-scanpackages; do
		command -v "$tool" >/dev/null || die "the command $tool is missing: run hack/prerequisites.sh, which installs what the demo needs"
	done
}

build_binaries() {
	busy "building Fettle" make build
	install bin/manager bin/nodeagent bin/fettle bin/kubectl-fettle "$WORK/bin"
	CGO_ENABLED=0 busy "building what boots machines" go build -o "$WORK/bin/" ./test/fixtures/debian/machine
}

# identity NAMESPACE ACCOUNT FOLDER [FLAG...] writes a kubeconfig and a token of a ServiceAccount into a folder.
identity() (
	umask 077
	local namespace=$1 account=$2 folder=$3
	shift 3
	mkdir -p "$folder"
	kubectl --namespace "$namespace" create token "$account" --duration 24h "$@" >"$folder/token"
	write_kubeconfig token "$folder/kubeconfig"
)

REPORTS_PORT=9443

# install_reports installs the API by which kubectl fettle asks nodes. Nothing routes the addresses of Services here, so the
# API server reaches the manager, which is in its network, as localhost.
install_reports() {
	show kubectl apply -k config/reports
	kubectl --namespace "$MANAGER_NAMESPACE" patch service fettle-reports --type merge --patch \
		'{"spec": {"type": "ExternalName", "externalName": "localhost", "clusterIP": "", "clusterIPs": null, "selector": null}}' >/dev/null
	kubectl patch apiservice v1alpha1.reports.fettle.dev --type merge --patch "{\"spec\": {\"service\": {\"port\": $REPORTS_PORT}}}" >/dev/null
}

start_manager() {
	identity "$MANAGER_NAMESPACE" "$MANAGER_ACCOUNT" "$WORK/manager"
	start manager KILL env POD_NAMESPACE="$MANAGER_NAMESPACE" nsenter --net="/run/netns/$NETNS" "$WORK/bin/manager" \
		--kubeconfig "$WORK/manager/kubeconfig" --reports-bind-address "127.0.0.1:$REPORTS_PORT"
	until_true "the API of reports" kubectl get --raw /apis/reports.fettle.dev/v1alpha1
}

# start_agent MACHINE installs the agent on a machine as a service, like an administrator. Its token is bound to the
# Node, like that of a pod on it, so that it is invalid for other nodes.
start_agent() {
	local name=$1
	inside "$WORK/bin/fettle" agent token --kubeconfig "$WORK/admin.kubeconfig" --node "$name" |
		"$WORK/bin/fettle" agent install --host-pid "$(cat "$WORK/machines/$name/pid")" --node-name "$name" \
			--kubeconfig - -- --interval="$AGENT_INTERVAL" --spread=0s >/dev/null
}
