package manifest

// Split takes a file apart: its documents.
func Split(text []byte) (docs [][]byte, err error) {
	parts, err := split("in", text)
	for _, p := range parts {
		docs = append(docs, p.text)
	}
	return docs, err
}

// SetVersion makes the cache that of another program.
func (c *Cache) SetVersion(version []byte) { c.version = version }
