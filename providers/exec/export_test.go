package exec

import "github.com/fettle-dev/fettle/internal/host"

// Output returns the reported part of a command's output.
func Output(res host.Result, a Attributes) string { return output(res, a) }
