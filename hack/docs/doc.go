// Package docs renders docs/ as a site with Hugo, which go.mod pins: `make docs`.
//
// Hugo is one static binary that go builds from the module proxy, so the site needs no other language on the machine.
// The theme is our own: a few layouts and a style sheet. Nothing is requested from elsewhere when a page is viewed.
//
// go test does not see that a page changed, because pages are outside of this module: run it with -count=1.
package docs
