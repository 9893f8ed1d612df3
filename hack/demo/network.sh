# The demo's own network: a namespace with a bridge, connected to nothing.

make_network() {
	ip netns add "$NETNS"
	inside ip link set lo up
	inside ip link add "$BRIDGE" type bridge
	inside ip address add "$NETWORK.1/24" dev "$BRIDGE"
	inside ip link set "$BRIDGE" up
}

# inside COMMAND... runs a command in the network. Not "ip netns exec", which would
# hide the cgroups that a machine needs.
inside() { nsenter --net="/run/netns/$NETNS" "$@"; }
