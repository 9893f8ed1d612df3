// Package debian makes disposable Debian roots and booted systemd machines for tests.
//
// A test asks for what it needs and gets it for itself alone; everything goes away with the test:
//
//	root := debian.Root(t)                          // a Debian directory tree to chroot into
//	debian.Repository(t, root, debian.Deb{...})     // what apt in that tree can install, with no network
//	debian.UpdateIndex(t, root)                     // apt-get update; leave it out to test a stale index
//	out := debian.Chroot(t, root, "dpkg", "-l")     // look at the tree with its own tools
//
//	machine := debian.Boot(t)                       // a booted machine: systemd, D-Bus, cron
//	out, err := machine.Run(ctx, "systemctl", "is-active", "cron")
//	machine.Root(), machine.PID()                   // its tree, and its systemd in our PID namespace
//
// A root takes milliseconds and a machine seconds. Both are overlays on one base that the first test ever to need it
// builds with debootstrap in the user's cache, which takes a minute or two and needs the network; nothing else does.
//
// All of it needs root. Without it a test is skipped, or fails where the environment variable CI is set.
// Tests of a package that share one machine boot it in one test and use it from subtests.
package debian
