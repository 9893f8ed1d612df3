package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

const intro = `## Plans that come true

This chapter counts wrong plans. A pair is a random manifest of one to four resources and a host in a random state: accounts with the
numbers that others want, missing tools, files where directories are needed, symlinks, unknown owners, packages whose scripts
fail. Each is planned, applied, and planned again, in a Debian root of its own. A plan is wrong if the apply fails and the plan does not, or
the other way round, or for another reason; if the apply makes other changes; or if the next run would change something again. A plan
may say that only an apply can tell, which is counted as unknown. To reproduce it, run ` + "`make bench-promise`" + `.

`

const limits = `
A resource that the plan gets right and that a later command undoes counts as right, since the plan says that nobody knows what the command does.
`

const freshIntro = `
### Pairs that are new

The plans of seed %d were corrected until none was wrong. These are the pairs of seed %d. [Concepts](concepts.md#plans) says what plans don't foresee yet.

`

const peersIntro = `
### Compared with Puppet and Ansible

These pairs only have files, users, groups, keys and commands, which all three programs manage. Puppet's plan is
` + "`puppet apply --noop`" + `, Ansible's is ` + "`ansible-playbook --check`" + `, each followed by the real run and the simulation again. Of Ansible, only
"changed" and "failed" of each task are compared, not the changes, and its tasks go on after failures. Both are Debian's packages.

`

func page(o options, results []result) string {
	var b strings.Builder
	b.WriteString(intro)
	fmt.Fprintf(&b, "Seed %d.\n\n", o.seed)
	table(&b, results, []string{"fettle"})
	own := of(results, "fettle")
	reasons(&b, own)
	classes(&b, own)
	b.WriteString(limits)
	if fresh := of(results, "fettle-fresh"); len(fresh) > 0 {
		fmt.Fprintf(&b, freshIntro, o.seed, o.seed+1)
		table(&b, results, []string{"fettle-fresh"})
		classes(&b, fresh)
	}
	if len(of(results, "puppet")) == 0 {
		return b.String()
	}
	b.WriteString(peersIntro)
	all := []string{"fettle-common", "puppet", "ansible"}
	table(&b, results, all)
	for _, program := range all {
		fmt.Fprintf(&b, "\n#### %s\n", names()[program])
		classes(&b, of(results, program))
	}
	b.WriteString(explanations)
	return b.String()
}

func names() map[string]string {
	return map[string]string{"fettle": "Fettle", "fettle-fresh": "Fettle", "fettle-common": "Fettle", "puppet": "Puppet", "ansible": "Ansible"}
}

func of(results []result, program string) (own []result) {
	for _, r := range results {
		if r.Program == program {
			own = append(own, r)
		}
	}
	return own
}

func table(b *strings.Builder, results []result, programs []string) {
	b.WriteString("| program | pairs | resources | unknown | wrong | pairs with a wrong plan |\n|---|--:|--:|--:|--:|--:|\n")
	for _, program := range programs {
		own := of(results, program)
		resources, unknown, bad, badPairs := 0, 0, 0, 0
		for _, r := range own {
			resources += r.Resources
			unknown += total(r.Unknown)
			bad += total(r.Wrong)
			if total(r.Wrong) > 0 {
				badPairs++
			}
		}
		fmt.Fprintf(b, "| %s | %d | %d | %d (%s) | %d (%s) | %d |\n", names()[program], len(own), resources,
			unknown, percent(unknown, resources), bad, percent(bad, resources), badPairs)
	}
}

func percent(n, of int) string { return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(max(1, of))) }

func total(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// reasons lists why outcomes are unknown.
func reasons(b *strings.Builder, results []result) {
	all := map[string]int{}
	for _, r := range results {
		for reason, n := range r.Unknown {
			if strings.HasPrefix(reason, "the host chooses") {
				reason = "the host chooses a number"
			}
			all[reason] += n
		}
	}
	b.WriteString("\n| unknown, because it | resources |\n|---|--:|\n")
	list(b, all)
}

// classes lists how plans were wrong, with an example of each.
func classes(b *strings.Builder, results []result) {
	all, example := map[string]int{}, map[string]string{}
	for _, r := range results {
		for class, n := range r.Wrong {
			all[class] += n
			for _, line := range r.Told {
				if example[class] == "" && strings.Contains(line, class) {
					example[class] = line
				}
			}
		}
	}
	if len(all) == 0 {
		b.WriteString("\nNo plan was wrong.\n")
		return
	}
	b.WriteString("\n| wrong, because | resources |\n|---|--:|\n")
	list(b, all)
	b.WriteString("\n")
	for _, class := range slices.Sorted(maps.Keys(example)) {
		fmt.Fprintf(b, "- %s\n", strings.ReplaceAll(example[class], "\n", " "))
	}
}

func list(b *strings.Builder, counts map[string]int) {
	keys := slices.Collect(maps.Keys(counts))
	slices.SortFunc(keys, func(x, y string) int {
		if counts[x] != counts[y] {
			return counts[y] - counts[x]
		}
		return strings.Compare(x, y)
	})
	for _, k := range keys {
		fmt.Fprintf(b, "| %s | %d |\n", k, counts[k])
	}
}

const explanations = `
Puppet and Ansible don't say that an outcome is unknown. Most of their wrong plans are of one class: the apply fails and the plan does not.

- Puppet's noop mode compares properties, and what a provider needs to change them is looked at when it changes them: a shell, a group, a
  parent directory, a name that the tool accepts, the home of a key's user. It also says "changed" for each command that would run, whether it
  exists and succeeds or not.
- Ansible's check mode is a part of each module. The modules for users, groups and keys call no tool in it, so they fail in the real run
  only. The module for commands says that it would run, but not that it would change something, unless ` + "`creates`" + ` is set.
- For Fettle, commands are the largest part of the unknown outcomes. What depends on one is unknown, too.
`
