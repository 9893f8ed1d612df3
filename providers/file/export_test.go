package file

// ApplyMode is the bits that a mode comes to where these are.
func ApplyMode(mode string, bits uint32, dir bool) (uint32, error) {
	if err := checkMode(mode); err != nil {
		return 0, err
	}
	p, err := parseMode(mode)
	return p.apply(bits, dir), err
}
