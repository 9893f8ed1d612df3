#!/usr/bin/env bash
# Fails if docs, comments, messages or names of tests have one of the habits that hack/prose.txt lists, and prints a better
# wording. `hack/verify-prose.sh FILE...` checks only these files.
set -euo pipefail

if [ $# = 0 ]; then
	cd "$(dirname "${BASH_SOURCE[0]}")/.."
	mapfile -d '' -t files < <(find . \( -name .git -o -name testdata -o -path ./bin -o -path ./cover -o -path ./dist -o -path ./config/crd \) -prune -o \
		-type f \( -name '*.go' -o -name '*.md' -o -name '*.sh' -o -name '*.tmpl' -o -name '*.yaml' -o -name '*.yml' -o -name Makefile \) -print0)
	set -- "${files[@]#./}"
	rules=hack/prose.txt
else
	rules=$(dirname "${BASH_SOURCE[0]}")/prose.txt
fi
RULES=$rules exec perl -0777 -ne '
	BEGIN {
		open(my $rules, "<", $ENV{RULES}) or die "$ENV{RULES}: $!\n";
		for (split /\n/, <$rules>) {
			next if /^\s*(#|$)/;
			my ($pattern, $advice) = /^(.+?) => (.+)$/ or die "rule \"$_\" has no advice: write PATTERN => ADVICE\n";
			$pattern =~ s/ /\\s+/g;
			push @rules, [qr/$pattern/i, $advice];
		}
	}
	s/^([ \t]*)(?:\/\/|#|>) ?/$1/mg;                               # a sentence goes on in the next line of a comment
	s/`[^`\n]*`/CODE/g;                                             # quotes the habits of others
	s/\bfunc Test(\w+)/"func Test" . ($1 =~ s{(?=[A-Z])}{ }gr)/ge; # TestAFileIsWritten is a sentence
	for my $rule (@rules) {
		my ($pattern, $advice) = @$rule;
		while (/$pattern/g) {
			my $line = 1 + (substr($_, 0, $-[0]) =~ tr/\n//);
			print "$ARGV:$line: \"" . ($& =~ s/\s+/ /gr) . "\": $advice\n";
			$found = 1;
		}
	}
	END {
		if ($found) {
			print STDERR "reword these, or correct $ENV{RULES} where it is wrong\n";
			$? = 1;
		}
	}
' "$@"
