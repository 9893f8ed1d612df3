package purge

// Setting returns a number from a file like login.defs.
func Setting(text, name string, otherwise int64) int64 { return setting(text, name, otherwise) }
