package manifest

// Plain is to say what a parser of all YAML says, or nothing.
func Plain(doc []byte) (raw []byte, ok bool) {
	raw, _, ok = plain(doc, nil)
	return raw, ok
}

// Split takes a file apart: its documents.
func Split(text []byte) (docs [][]byte, err error) {
	parts, err := split("in", text)
	for _, p := range parts {
		docs = append(docs, p.text)
	}
	return docs, err
}
