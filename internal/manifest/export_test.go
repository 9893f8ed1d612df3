package manifest

// Plain is to say what a parser of all YAML says, or nothing.
func Plain(doc []byte) (raw []byte, ok bool) {
	raw, _, ok = plain(doc)
	return raw, ok
}
