# Starts and stops processes.

declare -A PID_OF=() # by name
STARTED=()           # names, in the order of their start

# claim_network creates the folder of this run, named after its network.
claim_network() {
	mkdir -p "$CACHE/demo"
	clear_the_dead
	exec 8>"$CACHE/demo/$NETNS.lock"
	flock -n 8 || die "another demo is running in the network $NETNS: wait for it, end it, or set NETNS to another name"
	WORK=$(umask 077 && mktemp -d "$CACHE/demo/$NETNS.run.XXXXXX")
	mkdir "$WORK/log" "$WORK/bin"
	PATH=$WORK/bin:$PATH
}

# clear_the_dead cleans up after demos that were killed.
clear_the_dead() {
	local lock
	for lock in "$CACHE"/demo/*.lock; do
		if [ -e "$lock" ] && flock -n "$lock" true; then
			clear_run "$(basename "$lock" .lock)"
		fi
	done
}

# clear_run NETNS removes the remains of a demo in that network.
clear_run() {
	rm -rf "$CACHE/demo/$1".run.*
	[ ! -e "/run/netns/$1" ] || ip netns delete "$1"
	rm -f "$CACHE/demo/$1.lock"
}

# start NAME SIGNAL COMMAND... runs a command in the background. The signal is what it gets if
# this script is killed: KILL is fast, TERM lets the command clean up.
start() {
	local name=$1 signal=$2
	shift 2
	setpriv --pdeathsig "$signal" -- "$@" >"$WORK/log/$name.log" 2>&1 8>&- &
	PID_OF[$name]=$!
	STARTED+=("$name")
}

# alive fails if any started process has exited.
alive() {
	local pid
	for pid in "${PID_OF[@]}"; do
		kill -0 "$pid" 2>/dev/null || return 1
	done
}

clean_up() {
	local status=$?
	trap - EXIT
	set +e
	if [ "$status" != 0 ] && [ "$status" -lt 128 ]; then
		tell_failure >&2
		[ -z "$KEEP" ] || stay
	fi
	trap '' INT TERM
	step "Clearing up"
	end_processes
	clear_run "$NETNS"
	exit "$status"
}

# tell_failure prints the end of all logs, and the step that failed.
tell_failure() {
	local name
	timeout 20 kubectl get nodecatalogs,fettle --output yaml >"$WORK/log/objects.log" 2>&1 || true
	find "$WORK/log" -type f -size +0 -exec tail -v -n 200 {} +
	for name in "${MACHINES[@]}"; do
		[ ! -e "$WORK/machines/$name/pid" ] || on "$name" journalctl --unit fettle-nodeagent --lines 10 --no-pager || true
	done
	printf 'demo: it broke off at "%s"; KEEP=1 leaves all as it is then\n' "$STEP"
}

# end_processes stops all started processes, the latest first, and waits for them.
end_processes() {
	local i
	for ((i = ${#STARTED[@]} - 1; i >= 0; i--)); do
		end "${STARTED[i]}"
	done
}

# end NAME stops the process of that name, within ten seconds.
end() {
	local pid=${PID_OF[$1]:-} tries=100
	[ -n "$pid" ] || return 0
	unset "PID_OF[$1]"
	kill "$pid" 2>/dev/null || return 0
	while ((tries-- > 0)) && kill -0 "$pid" 2>/dev/null; do
		sleep 0.1
	done
	kill -9 "$pid" 2>/dev/null || true
	wait "$pid" 2>/dev/null || true
}

# stay leaves everything running until Ctrl-C.
stay() {
	local over=
	trap 'over=yes' INT TERM
	step "Running until Ctrl-C. In another terminal:"
	note "export PATH=$WORK/bin:\$PATH"
	note "kubectl get nodes,nodecatalogs,fettle"
	note "kubectl fettle status                                   # also diff, drift, why, plan"
	note "on ${MACHINES[0]} systemctl status fettle-nodeagent     # any command; bash for a shell"
	note "logs: $WORK/log"
	while [ -z "$over" ]; do sleep 1 || true; done
}
