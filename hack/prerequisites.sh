#!/usr/bin/env bash
# Installs what the tests and the demo need from the distribution: quick and silent
# when nothing is missing. It installs only on Debian and Ubuntu and only as root;
# elsewhere it names what is missing and how to get it.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

# One line for each need: a command or an absolute path, the Debian package that
# brings it, and what it is for.
needs() {
	cat <<-'EOF'
		git                            git                     the version that binaries are stamped with
		flock                          util-linux              one control plane build at a time
		ip                             iproute2                networks of test machines
		debootstrap                    debootstrap             disposable Debian roots
		/usr/share/keyrings/debian-archive-keyring.gpg debian-archive-keyring  trust in what debootstrap fetches
		systemd-nspawn                 systemd-container       test machines with a real systemd
		dpkg-scanpackages              dpkg-dev                local package repositories
		openssl                        openssl                 keys of the demo's control plane
		/etc/ssl/certs/ca-certificates.crt ca-certificates     downloads of Go modules and packages
	EOF
}

say() { printf 'prerequisites: %s\n' "$*" >&2; }

# have NEED reports whether a command is on root's PATH, or a file is there.
have() {
	case $1 in
	/*) [ -e "$1" ] ;;
	*) PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin command -v "$1" >/dev/null ;;
	esac
}

# check_go refuses a missing or too old Go with the official way to a new one. A Go
# of 1.21 or later with GOTOOLCHAIN=auto fetches what go.mod asks for by itself.
check_go() {
	local want got
	want=$(awk '$1 == "go" { print $2; exit }' go.mod)
	if ! command -v go >/dev/null; then
		say "Go $want or later is missing: install it as https://go.dev/doc/install says and put its bin folder on PATH"
		return 1
	fi
	got=$(go env GOVERSION 2>/dev/null || go version | awk '{ print $3 }')
	got=${got#go}
	if [ "$(printf '%s\n' "$want" "$got" | sort -V | head -n 1)" != "$want" ]; then
		say "Go $want or later is needed, this is Go $got (GOTOOLCHAIN=${GOTOOLCHAIN:-}): install a newer one as https://go.dev/doc/install says"
		return 1
	fi
}

# missing prints the needs that this machine does not meet.
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

# report names each unmet need on stdin, what it is for, and what to do.
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
