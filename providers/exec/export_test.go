package exec

import "github.com/fettle-dev/fettle/internal/host"

// Words are the argv that a command line comes to.
func Words(line string) ([]string, error) { return words(line, Attributes{}) }

// Output is what is told of what a command wrote.
func Output(res host.Result, a Attributes) string { return output(res, a) }
