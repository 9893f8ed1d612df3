// Package chart computes the positions of what the page draws, in the units of its SVG images.
package chart
