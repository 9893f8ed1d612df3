#!/bin/sh
# Manages files below /var/lib/PLURAL. It reads requests from stdin, one JSON object in a line, and writes answers.
set -u
directory=/var/lib/PLURAL

# answer REQUEST NAME [JQ-FIELDS]: writes one answer.
answer() { jq -cn --arg answer "$1" --arg name "$2" "{answer: \$answer, name: \$name} + ${3:-{\}}"; }

# state NAME: writes the attributes of a file as JSON, null if it does not exist.
state() {
	if [ -f "$directory/$1" ]; then
		jq -cn --arg name "$1" --rawfile content "$directory/$1" --arg mode "0$(stat -c %a "$directory/$1")" '$ARGS.named'
	else
		echo null
	fi
}

# change JSON: creates, updates or removes a file. The file is written as a whole: an interrupted write leaves the old
# one. It gets its mode before others could read the content.
change() {
	name=$(printf %s "$1" | jq -r .name)
	if [ "$(printf %s "$1" | jq -r '.should.ensure // "absent"')" = absent ]; then
		rm -f -- "$directory/$name"
		return
	fi
	mkdir -p "$directory" &&
		: >"$directory/.$name" &&
		chmod "$(printf %s "$1" | jq -r '.should.mode // .is.mode // "0644"')" "$directory/.$name" &&
		printf %s "$1" | jq -j .should.content >"$directory/.$name" &&
		mv -- "$directory/.$name" "$directory/$name"
}

while IFS= read -r line; do
	request=$(printf %s "$line" | jq -er .request) || exit 1
	case $request in
	hello) echo '{"answer":"hello","protocol":"Fettle/1"}' ;;
	list)
		for file in "$directory"/*; do
			if [ -f "$file" ]; then answer list "${file##*/}" "{state: $(state "${file##*/}")}"; fi
		done
		;;
	*)
		printf %s "$line" | jq -c '.resources // [] | .[]' | while IFS= read -r resource; do
			name=$(printf %s "$resource" | jq -r .name)
			case $request in
			get) answer get "$name" "{state: $(state "$name")}" ;;
			set)
				if message=$(change "$resource" 2>&1 >/dev/null); then
					answer set "$name"
				else
					answer set "$name" "{error: $(printf %s "$message" | jq -Rs .)}"
				fi
				;;
			*) answer "$request" "$name" '{error: "unknown request"}' ;;
			esac
		done
		;;
	esac
done
