package systemservice

// DefaultStart returns the runlevels in the header of an init script.
func DefaultStart(text string) string { return defaultStart(text) }

// ParseUnitFiles returns the services in the output of systemctl list-unit-files.
func ParseUnitFiles(output string) []string { return parseUnitFiles(output) }

// QuoteJournal returns the end of a journal as it is appended to an error.
func QuoteJournal(text string) string { return quoteJournal(text) }
