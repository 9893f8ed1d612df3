package hostrun

import "github.com/fettle-dev/fettle/internal/shellwords"

// Command splits the line of [Options].Before or After, which no shell runs. An empty line is no command, nil.
func Command(line string) ([]string, error) {
	if line == "" {
		return nil, nil
	}
	return shellwords.Split(line, "run it with sh -c '...'")
}
