# Sourced by scripts that build programs once for all checkouts, and print the folder with them. The
# cache is keyed by the inputs of a build, so an existing folder is up to date, and the cache can be
# deleted at any time. Progress goes to stderr.

say() { printf '%s: %s\n' "$cache" "$*" >&2; }

# open_cache NAME sets out to a new folder for the build whose inputs are on stdin. If it is complete
# already, the script prints the folder and ends. Only one build runs at a time, because parallel
# builds take longer: background processes must not inherit file 9.
open_cache() {
	local dir=${FETTLE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fettle}/$1
	cache=$1
	out=$dir/$({ cat - "${BASH_SOURCE[0]}"; go env GOVERSION GOOS GOARCH; } | sha256sum | cut -c1-16)
	[ ! -e "$out/.complete" ] || print_cache
	mkdir -p "$dir"
	exec 9>"$dir/lock"
	flock -n 9 || { say "another build is running, waiting for it"; flock 9; }
	[ ! -e "$out/.complete" ] || print_cache
	rm -rf "$out"
	mkdir "$out"
	say "downloading modules"
}

close_cache() {
	touch "$out/.complete"
	print_cache
}

print_cache() {
	echo "$out"
	exit
}
