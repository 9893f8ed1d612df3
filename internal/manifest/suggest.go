package manifest

import (
	"slices"
	"strings"
)

// maxWord is the length of the longest name of a field or kind that somebody may have misspelled, in bytes.
const maxWord = 100

// nearest returns the name that is most similar to a misspelled one; "" if none is.
func nearest[V any](misspelled string, names map[string]V) string {
	if len(misspelled) > maxWord {
		return ""
	}
	best, distance := "", 1+max(1, len(misspelled)/3)
	for name := range names {
		d := edits(plain(misspelled), plain(name))
		if d < distance || d == distance && best != "" && name < best {
			best, distance = name, d
		}
	}
	return best
}

// plain removes differences in style: validate_cmd, ValidateCMD.
func plain(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// edits is the Levenshtein distance between two words.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal, row[j+1] = row[j+1], slices.Min([]int{row[j] + 1, row[j+1] + 1, cost})
		}
	}
	return row[len(b)]
}
