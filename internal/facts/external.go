package facts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/internal/aliases"
	"github.com/fettle-dev/fettle/internal/host"
)

// externalDir is the directory of external facts, which a host's administrator adds.
const externalDir = "/etc/fettle/facts.d"

// Bounds of external facts.
const (
	maxExternal     = 100             // files
	maxExternalSize = 256 << 10       // bytes of one of them
	maxExternalAll  = 1 << 20         // bytes of all of them
	executableLimit = 5 * time.Second // of one of them
	externalLimit   = 20 * time.Second
)

// external gathers external facts. They override the others, and those of a later file override
// those of an earlier one. A file that fails is only an error.
func (g *gatherer) external() map[string]any {
	all := map[string]any{}
	dir, err := trusted(g, externalDir)
	if g.failed(err, "take facts from "+externalDir) {
		return all
	}
	names, err := g.ReadDir(dir)
	if g.failed(err, "list "+externalDir) {
		return all
	}
	if len(names) > maxExternal {
		g.errs = append(g.errs, fmt.Errorf("%s has %d files, only the first %d are read: merge some of them", externalDir, len(names), maxExternal))
		names = names[:maxExternal]
	}
	ctx, cancel := context.WithTimeout(g.ctx, externalLimit)
	defer cancel()
	left := budget{ctx, externalLimit, maxExternalAll}
	for _, name := range names {
		file := externalDir + "/" + name
		facts, err := g.externalFile(file, &left)
		if g.failed(err, "take facts from "+file) {
			continue
		}
		maps.Copy(all, facts)
	}
	return all
}

// A budget is the time and size that is left for further files.
type budget struct {
	ctx   context.Context // ends with the time of all executables
	time  time.Duration   // minus the limits of those that were stopped
	bytes int
}

// take subtracts the size of a text.
func (b *budget) take(text []byte) error {
	if b.bytes -= len(text); b.bytes < 0 {
		return fmt.Errorf("all files together exceed %d bytes: remove facts", maxExternalAll)
	}
	return nil
}

// externalFile reads or runs one file. A file that is neither facts nor executable, such as a
// README, has no facts.
func (g *gatherer) externalFile(file string, left *budget) (map[string]any, error) {
	if strings.HasPrefix(path.Base(file), ".") {
		return nil, nil
	}
	real, err := trusted(g, file)
	if err != nil {
		return nil, err
	}
	info, err := g.Stat(real)
	if err != nil || !info.IsRegular() {
		return nil, err
	}
	return g.trustedFile(real, info, left)
}

// trustedFile is externalFile for a regular file that only root can change.
func (g *gatherer) trustedFile(real string, info host.FileInfo, left *budget) (map[string]any, error) {
	decode, static := map[string]func([]byte) (map[string]any, error){
		".json": decodeJSON, ".yaml": decodeYAML, ".yml": decodeYAML, ".txt": decodeLines,
	}[path.Ext(real)]
	switch {
	case static && info.Size > maxExternalSize:
		return nil, fmt.Errorf("it has %d bytes, more than %d", info.Size, maxExternalSize)
	case static:
		text, err := g.ReadFile(real)
		if err == nil {
			err = left.take(text)
		}
		if err != nil {
			return nil, err
		}
		return decode(text)
	case info.Mode&0o111 == 0:
		return nil, nil
	}
	return g.run(real, left)
}

// run runs an executable that prints JSON, lines or YAML. It is killed after its time limit; the executables after it
// share the rest.
func (g *gatherer) run(file string, left *budget) (map[string]any, error) {
	limit := min(executableLimit, left.time)
	if limit <= 0 || left.ctx.Err() != nil {
		return nil, fmt.Errorf("the executables before it used up the limit of %s", externalLimit)
	}
	res, err := g.Query(left.ctx, host.Cmd{Args: []string{file}, Timeout: limit, MaxOutput: maxExternalSize})
	if err != nil {
		left.time -= limit // killing it may have taken a while
		return nil, err
	}
	switch {
	case res.ExitCode != 0:
		return nil, fmt.Errorf("it exited with %d", res.ExitCode)
	case res.Truncated:
		return nil, fmt.Errorf("it wrote more than %d bytes", maxExternalSize)
	}
	if err := left.take(res.Stdout); err != nil {
		return nil, err
	}
	return decodeAny(res.Stdout)
}

// decodeAny detects the format: JSON begins with a brace, and lines all have an equals sign.
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
	if err := aliases.Check(text); err != nil {
		return nil, err
	}
	var facts map[string]any
	err := yaml.Unmarshal(text, &facts)
	return facts, err
}

// decodeLines reads lines of name=value. It skips empty lines and comments.
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
