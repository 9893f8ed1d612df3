# Boots systemd machines in containers.

# offer_packages makes a layer with a package repository, because the machines have no access to other
# networks. It is cached, so a second demo needs no network either.
offer_packages() { machine layer "${PACKAGES[@]}" >"$WORK/layer"; }

# boot_machines boots all machines in parallel and assigns their addresses.
boot_machines() {
	local i name
	cat >"$WORK/bin/on" <<-END
		#!/bin/sh
		# on MACHINE COMMAND... runs a command on a machine, as root.
		pid=\$(cat "$WORK/machines/\$1/pid") && shift && exec env -i TERM="\$TERM" HOME=/root LANG=C.UTF-8 \\
			PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin nsenter --target "\$pid" --all -- "\$@"
	END
	chmod +x "$WORK/bin/on"
	for name in "${MACHINES[@]}"; do
		mkdir -p "$WORK/machines/$name"
		start "$name" TERM nsenter --net="/run/netns/$NETNS" "$WORK/bin/machine" boot \
			-hostname "$name" -bridge "$BRIDGE" -layer "$(<"$WORK/layer")" -ready "$WORK/machines/$name"
	done
	for i in "${!MACHINES[@]}"; do
		name=${MACHINES[i]}
		until_true "the machine $name" test -e "$WORK/machines/$name/pid"
		on "$name" ip link set host0 up
		on "$name" ip address add "$(address "$i")/24" dev host0
	done
}

# address INDEX is the address of a machine.
address() { printf '%s.%d' "$NETWORK" $(($1 + 11)); }

# show_on MACHINE COMMAND prints a command line for a machine's shell, then runs it there.
show_on() {
	printf '\nroot@%s:~# %s\n' "$1" "$2"
	on "$1" sh -c "$2"
}

# nodes prints the machines as Node objects.
nodes() {
	local i
	for i in "${!MACHINES[@]}"; do
		cat <<-END
			---
			apiVersion: v1
			kind: Node
			metadata:
			  name: ${MACHINES[i]}
			  labels: {kubernetes.io/hostname: ${MACHINES[i]}, kubernetes.io/os: linux, role: web}
		END
	done
}
