package main

import (
	"fmt"
	"strings"
	"time"
)

// An aim is the upper bound for runs of one size.
type aim struct {
	files   int
	what    string
	most    float64
	measure func(t table) float64
}

func aims() []aim {
	wallRatio := func(samples map[string][]sample, of, to string) float64 {
		return quotient(median(samples[of], wall), median(samples[to], wall))
	}
	toFloor := func(t table) float64 { return wallRatio(t.inSync, "fettle", "floor") }
	return []aim{
		{1000, "in sync, times the floor", 3, toFloor},
		{10000, "in sync, times the floor", 2, toFloor},
		{1000, "in sync, of Puppet's time", 1. / 150, func(t table) float64 { return wallRatio(t.inSync, "fettle", "puppet") }},
		{1000, "in sync, peak memory in MB", 38, func(t table) float64 { return float64(median(t.inSync["fettle"], peak)) / 1024 }},
		{1000, "first run, times its floor", 1.5, func(t table) float64 { return wallRatio(t.first, "fettle", "floor") }},
	}
}

// quotient is 0 where there is nothing to divide by.
func quotient(a, b time.Duration) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

func aimsSection(b *strings.Builder, tables []table) {
	b.WriteString("\n### Targets\n\n| files | | target | measured |\n|--:|---|--:|--:|\n")
	for _, a := range aims() {
		for _, t := range tables {
			if t.files == a.files {
				fmt.Fprintf(b, "| %d | %s | %.3g | %.3g |\n", a.files, a.what, a.most, a.measure(t))
			}
		}
	}
}
