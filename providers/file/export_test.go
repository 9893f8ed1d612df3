package file

// ApplyMode is the bits that a mode comes to where these are.
func ApplyMode(mode string, bits uint32, dir bool) (uint32, error) {
	p, err := parseMode(mode)
	if err != nil {
		return 0, err
	}
	return p.apply(bits, dir), nil
}
