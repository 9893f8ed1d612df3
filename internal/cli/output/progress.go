package output

import (
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/internal/text"
)

// barWidth is the number of characters of a bar.
const barWidth = 30

// Bar is a bar that shows which part of a total is done, and a space; "" if the total is 0.
func Bar(done, total int) string {
	if total <= 0 {
		return ""
	}
	full := max(0, min(int(int64(done)*barWidth/int64(total)), barWidth))
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", barWidth-full) + "] "
}

// Sequences of terminals. A line that continued in the next row could not be erased.
const (
	eraseLine   = "\r\x1b[K"
	cutOffLines = "\x1b[?7l"
	wrapLines   = "\x1b[?7h"
)

// ShowProgress shows a line that the next output replaces, if Err is a terminal. Otherwise, it does nothing.
func (p *Printer) ShowProgress(line string) {
	if !p.ErrProgress {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if line != p.progress {
		_, _ = fmt.Fprint(p.Err, eraseLine, cutOffLines, text.Line(line), wrapLines)
		p.progress = line
	}
}

// ShowLine shows a line after a bar as progress if Err is a terminal. Otherwise, the line is one of Out, without the bar.
func (p *Printer) ShowLine(bar, line string) {
	if !p.ErrProgress {
		p.Print("%s", line)
	}
	p.ShowProgress(bar + line)
}

// EndProgress removes the line of progress.
func (p *Printer) EndProgress() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clearProgress()
}

// clearProgress needs mu.
func (p *Printer) clearProgress() {
	if p.progress != "" {
		_, _ = fmt.Fprint(p.Err, eraseLine)
		p.progress = ""
	}
}
