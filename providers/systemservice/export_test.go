package systemservice

// DefaultStart are the runlevels that the header of an init script asks for.
func DefaultStart(text string) string { return defaultStart(text) }

// ParseUnitFiles are the services in the output of systemctl list-unit-files.
func ParseUnitFiles(output string) []string { return parseUnitFiles(output) }

// QuoteJournal is the end of a journal as it goes behind an error.
func QuoteJournal(text string) string { return quoteJournal(text) }
