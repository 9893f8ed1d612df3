// Package browser tests the page about the fleet in headless Chromium, against a real API server with 5,000 nodes.
package browser
