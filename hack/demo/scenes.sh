# Independent scenes that follow the samples. SCENES selects the ones to show.

drift() {
	local name=${MACHINES[0]}
	step "Somebody changes $name by hand"
	show_on "$name" "echo 'changed by hand' >> $DRIFT_FILE && userdel $DRIFT_USER"
	until_true "the drift to be found" drift_reported "$name"
	until_true "all to be right" all_right "$name"
	note "An agent watches managed objects, and checks all of them every $AGENT_INTERVAL. It found and corrected this drift:"
	show kubectl get nodecatalog "$name" -o "jsonpath=$WHAT_CHANGED"
	show kubectl events --for "nodecatalog/$name"
	show_on "$name" "cat $DRIFT_FILE; id $DRIFT_USER"
	note "With noop, the agent reports drift without correcting it."
	show kubectl patch "$DRIFT_RESOURCE" --type merge --patch '{"spec": {"noop": true}}'
	show kubectl wait --for condition=Ready --timeout "${PATIENCE}s" "$DRIFT_RESOURCE"
	show_on "$name" "echo 'changed again' >> $DRIFT_FILE"
	until_true "the drift to be reported" column "$DRIFT_RESOURCE" noop 1
	show kubectl get "$DRIFT_RESOURCE"
	show kubectl patch "$DRIFT_RESOURCE" --type merge --patch '{"spec": {"noop": null}}'
	show kubectl wait --for condition=Ready --timeout "${PATIENCE}s" "$DRIFT_RESOURCE"
	show_on "$name" "cat $DRIFT_FILE"
}

glance() {
	local name=${MACHINES[1]}
	step "The fleet on one screen, a node compared with its catalog, and a change before it is made"
	show kubectl patch "$DRIFT_RESOURCE" --type merge --patch '{"spec": {"noop": true}}'
	show kubectl wait --for condition=Ready --timeout "${PATIENCE}s" "$DRIFT_RESOURCE"
	show_on "$name" "echo 'changed once more' >> $DRIFT_FILE"
	until_true "the drift to be reported" column "$DRIFT_RESOURCE" noop 1
	show kubectl fettle status
	show kubectl fettle drift
	show kubectl fettle diff "$name"
	show kubectl fettle why File/motd
	note "What would this file change? The nodes themselves compare it with their hosts."
	show cat hack/demo/scenes/motd.yaml
	show kubectl fettle plan -f hack/demo/scenes/motd.yaml
	show kubectl patch "$DRIFT_RESOURCE" --type merge --patch '{"spec": {"noop": null}}'
	show kubectl wait --for condition=Ready --timeout "${PATIENCE}s" "$DRIFT_RESOURCE"
}

WHAT_CHANGED='{range .status.resources[*]}{.ref}: {.state}, corrective: {.corrective}, {.changes[*].property}{"\n"}{end}'

drift_reported() { [[ $(kubectl get nodecatalog "$1" -o "jsonpath=$WHAT_CHANGED") == *'corrective: true'* ]]; }

all_right() { right "$1" && on "$1" id "$DRIFT_USER"; }

# right MACHINE is true if the file contains no changes by the scenes.
right() { ! on "$1" grep -q changed "$DRIFT_FILE"; }

# column RESOURCE COUNTER VALUE is true if the counter of a resource's nodes has that value.
column() { [ "$(kubectl get "$1" -o "jsonpath={.status.nodes.$2}")" = "$3" ]; }

configmap() {
	local name=${MACHINES[0]}
	step "A file gets its content from a ConfigMap, and a service restarts when it changes"
	show kubectl apply -f hack/demo/scenes/greeter.yaml
	show kubectl wait --for condition=Ready --timeout "${PATIENCE}s" files/greeter-unit files/greeter-conf systemservices/greeter
	show_on "$name" "journalctl --unit greeter --output cat | grep hello"
	show kubectl patch configmap greeter --patch '{"data": {"greeting": "good evening\n"}}'
	until_true "the file" on "$name" grep -q evening /etc/greeter.conf
	until_true "the service" on "$name" sh -c "journalctl --unit greeter --output cat | grep -q evening"
	show_on "$name" "journalctl --unit greeter --output cat"
	note "One change of the file caused one restart of the service."
}

conflict() {
	step "Two resources claim one file: both report the conflict, everything else is applied"
	show kubectl apply -f hack/demo/scenes/contested.yaml
	show kubectl wait --for condition=Stalled --timeout "${PATIENCE}s" files/mine files/also-mine
	show kubectl wait --for condition=Ready --timeout "${PATIENCE}s" files/bystander
	show kubectl get files mine also-mine bystander
	show kubectl get files mine also-mine \
		-o 'jsonpath={range .items[*]}{.metadata.name}: {.status.conditions[?(@.type=="Stalled")].message}{"\n"}{end}'
	show_on "${MACHINES[0]}" "ls /etc/contested; cat /etc/bystander"
	show kubectl delete -f hack/demo/scenes/contested.yaml
}

rollout() {
	local failed name
	step "A bad change stops after the first machine, and the others never notice it"
	show kubectl apply -f hack/demo/scenes/umask.yaml
	show kubectl wait --for condition=Ready --timeout "${PATIENCE}s" file/umask
	show kubectl delete -f config/samples/rolloutpolicy.yaml # a new policy would begin with the last change that these have completed
	note "Changes reach all machines at once, unless a RolloutPolicy takes them:"
	show cat hack/demo/scenes/carefully.yaml
	show kubectl apply -f hack/demo/scenes/carefully.yaml
	show kubectl wait --for condition=Ready --timeout "${PATIENCE}s" rolloutpolicy/carefully
	show kubectl patch file umask --type merge --patch '{"spec": {"content": "if true; then umask 077\n"}}'
	note "A rollout begins once nothing has been edited for 10 s. Waiting until the first machine reports the mistake."
	until_true "the first machine to fail" column file/umask failed 1
	show kubectl fettle rollout status carefully
	note "A failure counts after a minute, because a service that restarts is not broken. Waiting until it halts the rollout."
	until_true "the rollout to halt" kubectl wait --for condition=Stalled --timeout 1s rolloutpolicy/carefully
	show kubectl fettle rollout status carefully
	failed=$(kubectl get rolloutpolicy carefully -o 'jsonpath={.status.failures[0].node}')
	for name in "${MACHINES[@]}"; do
		[ "$name" = "$failed" ] || show kubectl fettle report list "$name"
	done
	note "These machines had no run that failed. The fix is a revert, as it would be in Git: what has proven itself before returns at once."
	show kubectl apply -f hack/demo/scenes/umask.yaml
	show kubectl wait --for condition=Ready --timeout "${PATIENCE}s" file/umask
	show kubectl get files umask
	show kubectl delete -f hack/demo/scenes/carefully.yaml -f hack/demo/scenes/umask.yaml
}

labels() {
	local name=${MACHINES[1]}
	step "A label selects a node, and is removed again"
	show kubectl apply -f hack/demo/scenes/canary.yaml
	show kubectl label node "$name" track=canary
	until_true "the node to be selected" on "$name" test -e /etc/canary
	until_true "its status" column file/canary inSync 1
	show kubectl get file canary
	show kubectl label node "$name" track-
	until_true "the node to be deselected" column file/canary selected 0
	show kubectl get file canary
	show_on "$name" "cat /etc/canary"
	note "By default, a node that is no longer selected stays unchanged."
}

deletion() {
	local name=${MACHINES[0]} what="cat /etc/issue; id guest; systemctl is-active guest"
	step "Resources are deleted, and their deletionPolicy cleans up the hosts"
	show_on "$name" "cat /etc/issue"
	show kubectl apply -f hack/demo/scenes/guest.yaml
	show kubectl wait --for condition=Ready --timeout "${PATIENCE}s" -f hack/demo/scenes/guest.yaml
	show_on "$name" "$what"
	note "kubectl waits until all nodes have cleaned up: first the service, then its unit, then its user. The file has its former content again."
	show kubectl delete --timeout "${PATIENCE}s" -f hack/demo/scenes/guest.yaml
	show_on "$name" "$what; ls /etc/systemd/system/guest.service" || true
	until_true "everything to be as before" gone "$name"
}

# gone MACHINE is true if no trace of the guest is left there.
gone() {
	! on "$1" id guest && ! on "$1" systemctl is-active guest && ! on "$1" test -e /etc/systemd/system/guest.service &&
		! on "$1" grep -q guest /etc/issue && on "$1" test -s /etc/issue
}

dns() {
	local name=${MACHINES[0]} resources=(dnszones/example dnsrecords/www dnsrecords/mail)
	step "Zones and records of a DNS server: kinds that a program in Python manages"
	show kubectl label node "$name" node-restriction.kubernetes.io/dns=true
	show kubectl apply -f examples/dns/types.yaml
	show kubectl apply -f examples/dns/server.yaml
	show kubectl apply -f examples/dns/zone.yaml
	show kubectl wait --for condition=Ready --timeout "${PATIENCE}s" "${resources[@]}"
	show_on "$name" "pdnsutil list-zone example.org"
	note "Somebody changes a record on the server. Fettle does not watch servers, and finds the difference with the next check."
	show_on "$name" "pdnsutil replace-rrset example.org www A 60 192.0.2.99"
	until_true "the record to be corrected" on "$name" sh -c "pdnsutil list-zone example.org | grep -q 192.0.2.10"
	until_true "its event" sh -c "kubectl events --for dnsrecord/www | grep DriftCorrected"
	show kubectl events --for dnsrecord/www
	note "deletionPolicy: Delete removes the zone from the server together with its resource."
	show kubectl delete --timeout "${PATIENCE}s" -f examples/dns/zone.yaml
	show_on "$name" "pdnsutil list-all-zones"
}

outage() {
	local name=${MACHINES[0]} before
	step "The API server is down: the agents continue with their cached catalogs"
	note "(stopping kube-apiserver)"
	end kube-apiserver
	before=$(date +%s)
	show_on "$name" "echo 'changed meanwhile' >> $DRIFT_FILE"
	until_true "the file to be put right" right "$name"
	show_on "$name" "cat $DRIFT_FILE"
	note "(starting it again)"
	start_api_server
	until_true "the API server" kubectl get --raw /readyz
	until_true "the status to catch up" reported_since "$name" "$before"
	show kubectl get nodecatalogs
}

# reported_since MACHINE SECONDS is true if the machine's agent has reported a run of that time or later.
reported_since() {
	local started
	started=$(kubectl get nodecatalog "$1" -o 'jsonpath={.status.lastRun.started}')
	[ "$(date --date "$started" +%s)" -ge "$2" ]
}
