#!/usr/bin/env bash
# Installs the prerequisites of the tests and the demo, including Go, from the distribution. Quick and silent
# if nothing is missing. It installs only on Debian and Ubuntu and only as root;
# otherwise it lists the missing ones and how to get them.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
cache=${FETTLE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fettle}
want_go=$(awk '$1 == "go" { print $2; exit }' go.mod)

# One line per prerequisite: a command or an absolute path, its Debian package,
# and its purpose.
needs() {
	cat <<-'EOF'
		git                            git                     the version that binaries are stamped with
		flock                          util-linux              one control plane build at a time
		ip                             iproute2                networks of test machines
		debootstrap                    debootstrap             disposable Debian roots
		/usr/share/keyrings/debian-archive-keyring.gpg debian-archive-keyring  trust in what debootstrap fetches
		systemd-nspawn                 systemd-container       test machines with a real systemd
		dpkg-scanpackages              dpkg-dev                local package repositories
		gcc                            gcc                     runc of test clusters
		/usr/include/stdlib.h          libc6-dev               runc of test clusters
		pkg-config                     pkg-config              runc of test clusters
		python3                        python3                 programs of external types
		jq                             jq                      programs of external types
		openssl                        openssl                 keys of the demo's control plane
		/etc/ssl/certs/ca-certificates.crt ca-certificates     downloads of Go modules and packages
	EOF
}

say() { printf 'prerequisites: %s\n' "$*" >&2; }

# have NEED reports whether a command is on root's PATH, or a file exists.
have() {
	case $1 in
	/*) [ -e "$1" ] ;;
	*) PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin command -v "$1" >/dev/null ;;
	esac
}

# enough_go reports whether the Go on PATH builds this module. One of 1.21 or later
# with GOTOOLCHAIN=auto downloads the required toolchain itself.
enough_go() {
	local got
	command -v go >/dev/null || return 1
	got=$(go env GOVERSION 2>/dev/null || go version | awk '{ print $3 }')
	[ "$(printf '%s\n' "$want_go" "${got#go}" | sort -V | head -n 1)" = "$want_go" ]
}

# install_go installs the distribution's Go and, if it is too old, the toolchain
# that go.mod requires. The old Go downloads it as a module, like newer Go
# commands do, so its checksum is verified. The Makefile uses it from the cache.
install_go() {
	local scratch dir
	command -v go >/dev/null || install_packages golang-go
	! enough_go || return 0
	say "Go on this machine is older than $want_go; fetching that"
	mkdir -p "$cache"
	scratch=$(mktemp -d "$cache/go.XXXXXX")
	# In a folder without a go.mod: an old Go can't read ours.
	dir=$(cd "$scratch" && go mod download -json "golang.org/toolchain@v0.0.1-go$want_go.linux-$(go env GOARCH)" |
		sed -n 's/^.*"Dir": "\(.*\)".*$/\1/p')
	cp -R "$dir" "$scratch/go"
	# A module's files are not executable.
	chmod -R u+w,+x "$scratch/go/bin" "$scratch/go/pkg/tool"
	rm -rf "$cache/go"
	mv "$scratch/go" "$cache/go"
	rm -rf "$scratch"
}

# check_go checks for a suitable Go, or prints what to do.
check_go() {
	! enough_go || return 0
	if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
		install_go && enough_go && return 0
	fi
	say "Go $want_go or later is missing: install it as https://go.dev/doc/install says and put its bin folder on PATH"
	return 1
}

# missing prints the prerequisites that this machine lacks.
missing() {
	local need package purpose
	while read -r need package purpose; do
		have "$need" || printf '%s %s %s\n' "$need" "$package" "$purpose"
	done < <(needs)
}

install_packages() {
	export DEBIAN_FRONTEND=noninteractive
	say "installing $*"
	apt-get -qq update >&2 &&
		apt-get -qq install --yes --no-install-recommends "$@" >/dev/null
}

# report prints each missing prerequisite on stdin, its purpose, and what to do.
report() {
	local need package purpose
	while read -r need package purpose; do
		say "$need is missing ($purpose): $1 $package"
	done
}

check_go
unmet=$(missing)
[ -n "$unmet" ] || exit 0

if ! command -v apt-get >/dev/null; then
	report "this is neither Debian nor Ubuntu; install what your distribution calls" <<<"$unmet"
	exit 1
fi
if [ "$(id -u)" != 0 ]; then
	report "not root, so run: apt-get install" <<<"$unmet"
	exit 1
fi

mapfile -t packages < <(awk '{ print $2 }' <<<"$unmet" | sort -u)
install_packages "${packages[@]}" || say "apt-get failed; see above"
unmet=$(missing)
[ -n "$unmet" ] || exit 0
report "apt-get could not install it; check the network and /etc/apt/sources.list, then try: apt-get install" <<<"$unmet"
exit 1
