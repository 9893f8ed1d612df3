package output

import "regexp"

// sum is a checksum, of which people compare the first digits.
var sum = regexp.MustCompile(`(\{(?:md5|sha1|sha224|sha256|sha384|sha512)\}[0-9a-f]{8})[0-9a-f]{9,}`)

// forTerminal shortens the sums in a text if it is for a terminal. Other programs get it as it is.
func forTerminal(terminal bool, text string) string {
	if !terminal {
		return text
	}
	return sum.ReplaceAllString(text, "$1...")
}
