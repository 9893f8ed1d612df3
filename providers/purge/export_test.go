package purge

// Setting is a number of a file like login.defs.
func Setting(text, name string, otherwise int64) int64 { return setting(text, name, otherwise) }
