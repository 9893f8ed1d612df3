# Prints the demo for its viewers.

STEP= # the last one announced

# step TEXT announces the next step.
step() {
	STEP=$*
	printf '\n\033[1m== %s\033[0m\n' "$*" | plain
}

# note TEXT explains the previous output.
note() { printf '   %s\n' "$*"; }

# die TEXT ends the demo with an error and its fix.
die() {
	printf 'demo: %s\n' "$*" >&2
	exit 1
}

# plain removes escape sequences unless stdout is a terminal.
plain() { if [ -t 1 ]; then cat; else sed 's/\x1b\[[0-9;]*m//g'; fi; }

# command_line WORD... prints a command as it would be typed.
command_line() {
	local word line=
	for word; do
		case $word in
		*[!A-Za-z0-9_./:=,@%+-]* | '') word="'${word//\'/\'\\\'\'}'" ;;
		esac
		line+=" $word"
	done
	printf '%s' "${line# }"
}

# show COMMAND... prints a command, then runs it.
show() {
	printf '\n$ %s\n' "$(command_line "$@")"
	"$@"
}

# busy TEXT COMMAND... runs a long command, and prints its output only if it fails;
# on a terminal it shows the elapsed seconds. The command runs in a subshell: variables
# that it sets are lost, and it must not start background processes.
busy() {
	local text=$1 start=$SECONDS status=0 pid
	shift
	"$@" >"$WORK/log/busy.log" 2>&1 &
	pid=$!
	while [ -t 1 ] && kill -0 "$pid" 2>/dev/null; do
		printf '\r   %s ... %d s' "$text" $((SECONDS - start))
		sleep 0.5
	done
	wait "$pid" || status=$?
	[ ! -t 1 ] || printf '\r\033[K'
	[ "$status" = 0 ] || {
		cat "$WORK/log/busy.log" >&2
		die "could not finish: $text"
	}
	note "$text: $((SECONDS - start)) s"
}

# until_true TEXT COMMAND... waits until a command succeeds.
until_true() {
	local text=$1 start=$SECONDS
	shift
	until "$@" >/dev/null 2>&1; do
		((SECONDS - start < PATIENCE)) || die "waited $PATIENCE s for $text"
		alive || die "a process exited while waiting for $text"
		[ ! -t 1 ] || printf '\r   waiting for %s ... %d s' "$text" $((SECONDS - start))
		sleep 0.2
	done
	[ ! -t 1 ] || printf '\r\033[K'
}
