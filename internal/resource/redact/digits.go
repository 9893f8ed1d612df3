package redact

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
)

const bitsOfByte = 8

// Digits are those of base64 or of hexadecimal numbers.
type digits struct {
	bits  int              // of a digit
	value func(c byte) int // -1 if it is no digit
	// gap returns how many bytes of a text may be between two digits.
	gap func(text string) int
}

func allDigits() []digits {
	return []digits{
		{bits: 6, value: base64Value, gap: base64Gap},
		{bits: 4, value: hexValue, gap: hexGap},
	}
}

func base64Value(c byte) int {
	switch c {
	case '-':
		c = '+'
	case '_':
		c = '/'
	}
	return base64Values[c]
}

// base64Values and hexValues have the value of each digit, and -1 for all else. They are never changed.
var (
	base64Values = valuesOf("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
	hexValues    = valuesOf("0123456789abcdef")
)

func valuesOf(digits string) (all [256]int) {
	for i := range all {
		all[i] = strings.IndexByte(digits, byte(i))
	}
	return all
}

// base64Gap allows line ends, at which encoders wrap, and the quotes around the lines.
func base64Gap(text string) int {
	rest := strings.TrimLeft(text, " \t\r\n'\"")
	if n := len(text) - len(rest); strings.Contains(text[:n], "\n") {
		return n
	}
	return 0
}

func hexValue(c byte) int { return hexValues[lower(c)] }

// hexGap allows separators between bytes.
func hexGap(text string) int {
	const longest = 3
	rest := strings.TrimLeft(text, " :,-;|=\n")
	rest = strings.TrimPrefix(strings.TrimPrefix(rest, "0x"), "0X")
	if n := len(text) - len(rest); n <= longest+1 {
		return n
	}
	return 0
}

// runs returns the places of the digits of each run in a text.
func (d digits) runs(text string) [][]int {
	var all [][]int
	for i := 0; i < len(text); i++ {
		var run []int
		for i < len(text) && d.value(text[i]) >= 0 {
			run = append(run, i)
			i++
			if i < len(text) && d.value(text[i]) < 0 {
				if n := d.gap(text[i:]); i+n < len(text) && d.value(text[i+n]) >= 0 {
					i += n
				}
			}
		}
		if len(run)*d.bits >= bitsOfByte {
			all = append(all, run)
		}
	}
	return all
}

// alignments is how many digits of a run can come before the first whole byte.
func (d digits) alignments() int {
	if bitsOfByte%d.bits == 0 {
		return bitsOfByte / d.bits
	}
	return 4
}

// bytes returns what runs encode from a digit on, as lines.
func (d digits) bytes(v view, runs [][]int, first int) view {
	w := newWriter(v)
	for n, run := range runs {
		if n > 0 {
			w.writeByte('\n', run[0], run[0]+1)
		}
		buffer, bits, since := 0, 0, first
		for i := first; i < len(run); i++ {
			if bits == 0 {
				since = i
			}
			buffer, bits = buffer<<d.bits|d.value(v.text[run[i]]), bits+d.bits
			if bits < bitsOfByte {
				continue
			}
			bits -= bitsOfByte
			w.writeByte(byte(buffer>>bits), run[since], run[i]+1)
			buffer &= 1<<bits - 1
			since = i
		}
	}
	return w.view()
}

// fromUTF16 decodes UTF-16 in little-endian order from a byte on, as PowerShell encodes commands.
func fromUTF16(v view, first int) view {
	w := newWriter(v)
	for i := first; i+1 < len(v.text); i += 2 {
		r, end := rune(v.text[i])|rune(v.text[i+1])<<8, i+2
		if utf16.IsSurrogate(r) && end+1 < len(v.text) {
			r, end = utf16.DecodeRune(r, rune(v.text[end])|rune(v.text[end+1])<<8), end+2
		}
		w.write(string(r), i, end)
		i = end - 2
	}
	return w.view()
}

// numberList matches bytes as lists of numbers, decimal or octal. It is never changed.
var numberList = regexp.MustCompile(`[0-9]{1,3}([\s,]+[0-9]{1,3}){3,}`)

// fromNumbers decodes lists of the bytes' numbers.
func fromNumbers(v view, base int) view {
	w := newWriter(v)
	for _, list := range numberList.FindAllStringIndex(v.text, -1) {
		for i := list[0]; i < list[1]; {
			end := i
			for end < list[1] && v.text[end] >= '0' && v.text[end] <= '9' {
				end++
			}
			if value, err := strconv.ParseUint(v.text[i:end], base, 8); err == nil {
				w.writeByte(byte(value), i, end)
			}
			i = max(end, i+1)
		}
	}
	return w.view()
}
