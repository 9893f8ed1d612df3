package manifest

// Split splits a file into documents.
func Split(text []byte) (docs [][]byte, err error) {
	parts, err := split("in", text)
	for _, p := range parts {
		docs = append(docs, p.text)
	}
	return docs, err
}

// SetVersion changes the program version of the cache.
func (c *Cache) SetVersion(version []byte) { c.version = version }
