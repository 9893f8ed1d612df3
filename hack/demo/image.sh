# Prepares the disks of the machines: the Debian base of the tests, with a
# layer for a package repository, because the machines have no access to other networks.

# layer PACKAGE... prints the folder of a layer that offers these packages and what they
# depend on. Layers are cached by content, so a second demo needs no network.
layer() {
	printf '%s/demo/layer-%s' "$CACHE" "$(printf '%s\n' "$(base)" "$@" | cat - hack/demo/image.sh | sha256sum | cut -c1-16)"
}

base() { cat "$WORK/base"; }

# make_layer PACKAGE... creates that layer if it is missing.
make_layer() (
	layer=$(layer "$@")
	exec 9>"$CACHE/demo/layers"
	flock 9
	[ ! -e "$layer" ] || exit 0
	rm -rf "$layer.building"
	mkdir -p "$layer.building"
	# In a mount namespace of its own nothing stays mounted, whatever happens.
	unshare --mount --propagation private bash -euo pipefail -c "$(declare -f fill_layer); fill_layer \"\$@\"" \
		bash "$(base)" "$layer.building" "$@"
	mv "$layer.building" "$layer"
)

# fill_layer BASE LAYER PACKAGE... downloads into a throw-away copy of the base.
fill_layer() {
	local base=$1 layer=$2 root=$2/srv/throw-away
	shift 2
	mkdir -p "$layer/srv/repository" "$layer/etc/apt/sources.list.d" "$root"
	mount -t tmpfs tmpfs "$root"
	mkdir "$root"/{upper,work,root}
	mount -t overlay overlay -o "lowerdir=$base,upperdir=$root/upper,workdir=$root/work" "$root/root"
	mount -t proc proc "$root/root/proc"
	mount --bind /dev "$root/root/dev"
	cp "$base.sources" "$root/root/etc/apt/sources.list"
	cat /etc/resolv.conf >"$root/root/etc/resolv.conf"
	chroot "$root/root" apt-get --quiet update
	chroot "$root/root" apt-get --quiet --yes --no-install-recommends --download-only install "$@"
	cp "$root"/root/var/cache/apt/archives/*.deb "$layer/srv/repository"
	umount --recursive "$root"
	rmdir "$root"
	(cd "$layer/srv/repository" && dpkg-scanpackages . >Packages 2>/dev/null)
	echo 'deb [trusted=yes] file:/srv/repository ./' >"$layer/etc/apt/sources.list.d/demo.list"
}
