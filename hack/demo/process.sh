# What runs, and how it ends.

PIDS=()

# one_demo_at_a_time makes the folder for this run and clears up after a run that was killed.
one_demo_at_a_time() {
	mkdir -p "$CACHE/demo"
	exec 8>"$CACHE/demo/lock"
	flock -n 8 || die "another demo is running on this machine: wait for it or end it"
	rm -rf "$CACHE"/demo/run.*
	remove_network
	WORK=$(umask 077 && mktemp -d "$CACHE/demo/run.XXXXXX")
	mkdir "$WORK/log" "$WORK/bin"
	PATH=$WORK/bin:$PATH
}

# start NAME COMMAND... runs a command in the background. It ends with this script, whatever ends that.
start() {
	local name=$1
	shift
	setpriv --pdeathsig TERM -- "$@" >"$WORK/log/$name.log" 2>&1 8>&- &
	PIDS+=("$!")
}

# alive fails if anything that was started has ended.
alive() {
	local pid
	for pid in ${PIDS[@]+"${PIDS[@]}"}; do
		kill -0 "$pid" 2>/dev/null || return 1
	done
}

clean_up() {
	local status=$?
	trap - EXIT
	trap '' INT TERM
	if [ "$status" != 0 ] && [ "$status" -lt 128 ]; then
		find "$WORK/log" -size +0 -exec tail -n 10 -v {} + >&2
	fi
	step "Clearing up"
	end_processes
	remove_network
	rm -rf "$WORK"
	exit "$status"
}

# end_processes ends what was started, the last first, and waits for it.
end_processes() {
	local i
	for ((i = ${#PIDS[@]} - 1; i >= 0; i--)); do
		end_process "${PIDS[i]}"
	done
}

end_process() {
	local pid=$1 tries=100
	kill "$pid" 2>/dev/null || return 0
	while ((tries-- > 0)) && kill -0 "$pid" 2>/dev/null; do
		sleep 0.1
	done
	kill -9 "$pid" 2>/dev/null || true
	wait "$pid" 2>/dev/null || true
}

# stay leaves everything running until Ctrl-C.
stay() {
	step "It stays until Ctrl-C. From another terminal:"
	note "export PATH=$WORK/bin:\$PATH"
	note "kubectl get nodes,nc"
	note "on ${MACHINES[0]} cat /etc/motd     # any command; bash for a shell"
	note "logs: $WORK/log"
	trap 'exit 0' INT
	while alive; do sleep 1; done
	die "something has ended by itself; the logs are in $WORK/log"
}
