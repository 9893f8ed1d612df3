package exec

import "github.com/fettle-dev/fettle/internal/host"

// Words returns the argv of a command line.
func Words(line string) ([]string, error) { return words(line, Attributes{}) }

// Output returns the reported part of a command's output.
func Output(res host.Result, a Attributes) string { return output(res, a) }
