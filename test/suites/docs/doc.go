// Package docs tests that the pages in docs/ and the README say what is true: links lead somewhere, manifests are valid
// on a real API server, and commands run and print what the page shows.
//
// Each code block has a language, which says how it is tested:
//
//   - yaml is decoded strictly, validated by `fettle validate`, and applied to a real API server as a dry run, unless it is a kustomization for commands
//   - sh is run by bash, and has to succeed
//   - console is run command by command, after the prompts "$ " and "root@web-1:~# ", and the output is compared
//   - text, cel, gotemplate and puppet are not run
//
// The blocks of a page run in order, in a Debian root that is at the same time the host of the Node web-1 and has
// kubectl, with a manager and an agent that are real. Comments in the source before a block change this:
//
//	<!-- file: motd.yaml -->            saves the block for the commands of later blocks
//	<!-- with: config/samples/a.yaml --> is validated together with these files
//	<!-- nodes: web-2 web-3 -->         adds Nodes with agents, on whose hosts commands run after "root@web-2:~# "
//	<!-- packages: pdns-server -->      runs the page on a machine with systemd, which can install these packages
//	<!-- not run: REASON -->            is not tested, for this reason
//
// In expected output, "..." stands for any text, and alone for that of a command that succeeds. Columns may have other widths. Durations, times, checksums and
// short names of revisions may have other values, and one node may stand for another.
package docs
