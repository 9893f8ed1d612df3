# Starts etcd and kube-apiserver, and creates their credentials.

SERVER=https://$NETWORK.1:6443

start_control_plane() {
	make_keys
	start etcd KILL nsenter --net="/run/netns/$NETNS" "$CONTROL_PLANE/etcd" --data-dir "$WORK/etcd" \
		--listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \
		--listen-peer-urls http://127.0.0.1:2380 --unsafe-no-fsync --logger zap --log-level warn
	start_api_server
	write_kubeconfig "$WORK/keys/admin.token" "$WORK/admin.kubeconfig"
	# As a variable, because kubectl takes no flags before the name of a plugin.
	cat >"$WORK/bin/kubectl" <<-END
		#!/bin/sh
		export KUBECONFIG="$WORK/admin.kubeconfig"
		exec setpriv --pdeathsig TERM -- nsenter --net=/run/netns/$NETNS "$CONTROL_PLANE/kubectl" "\$@"
	END
	chmod +x "$WORK/bin/kubectl"
	until_true "the API server" kubectl get --raw /readyz
}

start_api_server() {
	start kube-apiserver KILL nsenter --net="/run/netns/$NETNS" "$CONTROL_PLANE/kube-apiserver" \
		--etcd-servers http://127.0.0.1:2379 \
		--bind-address "$NETWORK.1" --secure-port 6443 --service-cluster-ip-range 10.78.0.0/24 \
		--tls-cert-file "$WORK/keys/server.crt" --tls-private-key-file "$WORK/keys/server.key" \
		--token-auth-file "$WORK/keys/tokens.csv" \
		--service-account-issuer "$SERVER" --service-account-key-file "$WORK/keys/serviceaccounts.pub" \
		--service-account-signing-key-file "$WORK/keys/serviceaccounts.key" \
		--requestheader-client-ca-file "$WORK/keys/proxy.crt" --requestheader-allowed-names fettle-demo-proxy \
		--requestheader-username-headers X-Remote-User --requestheader-group-headers X-Remote-Group \
		--requestheader-extra-headers-prefix X-Remote-Extra- \
		--proxy-client-cert-file "$WORK/keys/proxy.crt" --proxy-client-key-file "$WORK/keys/proxy.key" \
		--authorization-mode Node,RBAC --enable-admission-plugins NodeRestriction --allow-privileged
}

# make_keys makes the certificates of the server and of its requests to the API of reports, the key that signs ServiceAccounts' tokens, and the
# administrator's token.
make_keys() (
	umask 077
	mkdir "$WORK/keys"
	cd "$WORK/keys" || exit
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=fettle-demo \
		-addext "subjectAltName=IP:$NETWORK.1" -keyout server.key -out server.crt 2>/dev/null
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=fettle-demo-proxy \
		-keyout proxy.key -out proxy.crt 2>/dev/null
	openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out serviceaccounts.key 2>/dev/null
	openssl pkey -in serviceaccounts.key -pubout -out serviceaccounts.pub
	openssl rand -hex 24 >admin.token
	printf '%s,admin,admin,system:masters\n' "$(cat admin.token)" >tokens.csv
)

# write_kubeconfig TOKENFILE FILE writes a kubeconfig with the token.
write_kubeconfig() {
	cat >"$2" <<-END
		apiVersion: v1
		kind: Config
		clusters: [{name: demo, cluster: {server: "$SERVER", certificate-authority-data: $(base64 -w0 "$WORK/keys/server.crt")}}]
		users: [{name: demo, user: {tokenFile: "$1"}}]
		contexts: [{name: demo, context: {cluster: demo, user: demo}}]
		current-context: demo
	END
}
