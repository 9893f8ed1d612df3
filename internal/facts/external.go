package facts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/internal/host"
)

// externalDir holds facts that a host's owner adds.
const externalDir = "/etc/fettle/facts.d"

// Bounds of what the owner may add.
const (
	maxExternal     = 100             // files
	maxExternalSize = 256 << 10       // bytes of one of them
	executableLimit = 5 * time.Second // of one of them
	externalLimit   = 20 * time.Second
)

// external gathers the facts that the host's owner adds. They come over the others, and
// a later file's over an earlier one's. A file that fails is an error and no more.
func (g *gatherer) external() map[string]any {
	all := map[string]any{}
	names, err := g.ReadDir(externalDir)
	if g.failed(err, "list "+externalDir) {
		return all
	}
	if len(names) > maxExternal {
		g.errs = append(g.errs, fmt.Errorf("%s has %d files, only the first %d are read: put facts together", externalDir, len(names), maxExternal))
		names = names[:maxExternal]
	}
	budget := externalLimit
	for _, name := range names {
		file := externalDir + "/" + name
		facts, err := g.externalFile(file, &budget)
		if g.failed(err, "take facts from "+file) {
			continue
		}
		maps.Copy(all, facts)
	}
	return all
}

// externalFile reads or runs one file. What is neither facts nor executable, such as a
// README, has none.
func (g *gatherer) externalFile(file string, budget *time.Duration) (map[string]any, error) {
	info, err := g.Stat(file)
	if err != nil || !info.IsRegular() || strings.HasPrefix(path.Base(file), ".") {
		return nil, err
	}
	decode, static := map[string]func([]byte) (map[string]any, error){
		".json": decodeJSON, ".yaml": decodeYAML, ".yml": decodeYAML, ".txt": decodeLines,
	}[path.Ext(file)]
	switch {
	case static && info.Size > maxExternalSize:
		return nil, fmt.Errorf("it has %d bytes, more than %d", info.Size, maxExternalSize)
	case static:
		text, err := g.ReadFile(file)
		if err != nil {
			return nil, err
		}
		return decode(text)
	case info.Mode&0o111 == 0:
		return nil, nil
	case info.Mode&0o022 != 0:
		return nil, fmt.Errorf("it has mode %04o and would run as root: let nobody but its owner write it", info.Mode)
	}
	return g.run(file, budget)
}

// run runs an executable, which writes JSON, lines or YAML. It is stopped at the end of
// its time; those that follow share what is left.
func (g *gatherer) run(file string, budget *time.Duration) (map[string]any, error) {
	if *budget <= 0 {
		return nil, fmt.Errorf("the executables before it took all of %s", externalLimit)
	}
	limit := min(executableLimit, *budget)
	res, err := g.Query(g.ctx, host.Cmd{Args: []string{file}, Timeout: limit, MaxOutput: maxExternalSize})
	if err != nil {
		// What it took is not known without a clock: all that it had.
		*budget -= limit
		return nil, err
	}
	switch {
	case res.ExitCode != 0:
		return nil, fmt.Errorf("it ended with exit code %d", res.ExitCode)
	case res.Truncated:
		return nil, fmt.Errorf("it wrote more than %d bytes", maxExternalSize)
	}
	return decodeAny(res.Stdout)
}

// decodeAny tells the formats apart: JSON begins with a brace, and lines all have an
// equals sign.
func decodeAny(text []byte) (map[string]any, error) {
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		return decodeJSON(text)
	}
	if facts, err := decodeLines(text); err == nil {
		return facts, nil
	}
	return decodeYAML(text)
}

func decodeJSON(text []byte) (map[string]any, error) {
	var facts map[string]any
	err := json.Unmarshal(text, &facts)
	return facts, err
}

func decodeYAML(text []byte) (map[string]any, error) {
	var facts map[string]any
	err := yaml.Unmarshal(text, &facts)
	return facts, err
}

// decodeLines reads lines of name=value; empty ones and comments are skipped.
func decodeLines(text []byte) (map[string]any, error) {
	facts := map[string]any{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if name = strings.TrimSpace(name); !ok || name == "" || strings.ContainsAny(name, " \t:") {
			return nil, errors.New("a line is not name=value")
		}
		facts[name] = strings.TrimSpace(value)
	}
	return facts, nil
}
