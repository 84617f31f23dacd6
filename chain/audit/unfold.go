package audit

import (
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// unfold returns the texts that a line holds in another form: words in pieces, escaped or reversed characters,
// numbers of characters, base64 and hexadecimal digits. Nothing is executed: only what stands in sight is read.
func unfold(line string) (all []string) {
	for range 3 { // a text within a text
		more := unfoldOnce(line)
		if len(more) == 0 {
			break
		}
		all = append(all, more...)
		line = strings.Join(more, " ")
	}
	return all
}

var (
	glued    = &pattern{text: `["'` + "`" + `]\s*(\+|\.\.|\.)\s*["'` + "`" + `]`}
	ticked   = &pattern{text: "([A-Za-z])`([A-Za-z])"}
	escaped  = &pattern{text: `(\\x[0-9a-fA-F]{2}|\\u00[0-9a-fA-F]{2}|\\u\{[0-9a-fA-F]{2}\}|%[0-9a-fA-F]{2}){3,}`}
	numbers  = &pattern{text: `(?:(?:0x[0-9a-fA-F]{2}|\d{2,3})\s*,\s*){5,}(?:0x[0-9a-fA-F]{2}|\d{2,3})`}
	sixty    = &pattern{text: `[A-Za-z0-9+/_-]{16,}={0,2}`}
	digits   = &pattern{text: `\b(?:[0-9a-fA-F]{2}){12,}\b`}
	literalQ = &pattern{text: `"([^"\\]{6,200})"|'([^'\\]{6,200})'`}
	escapes  = &pattern{text: `(?i)\\x([0-9a-f]{2})|\\u00([0-9a-f]{2})|\\u\{([0-9a-f]{2})\}|%([0-9a-f]{2})`}
)

func unfoldOnce(line string) (all []string) {
	add := func(text string) {
		if text != "" && text != line {
			all = append(all, strings.ReplaceAll(text, "\n", " ; "))
		}
	}
	if joined := glued.get().ReplaceAllString(line, ""); joined != line {
		add(joined)
	}
	if strings.Contains(line, "`") {
		add(ticked.get().ReplaceAllString(line, "$1$2"))
	}
	if strings.Contains(line, `\x`) || strings.Contains(line, `\u`) || strings.Contains(line, "%") {
		if escaped.get().MatchString(line) {
			add(escapes.get().ReplaceAllStringFunc(line, func(m string) string {
				m = strings.TrimSuffix(m, "}")
				n, _ := strconv.ParseUint(m[len(m)-2:], 16, 8)
				if n < 0x20 || n >= 0x7f {
					return " "
				}
				return string(rune(n))
			}))
		}
	}
	for _, m := range numbers.get().FindAllString(line, 8) {
		add(ofNumbers(m))
	}
	for _, m := range sixty.get().FindAllString(line, 16) {
		add(ofBase64(m))
	}
	for _, m := range digits.get().FindAllString(line, 8) {
		if raw, err := hex.DecodeString(m); err == nil {
			add(readable(raw))
		}
	}
	if strings.Contains(line, "-1]") || strings.Contains(line, "everse") || strings.Contains(line, "-1..-") || strings.Contains(line, "rev") {
		for _, m := range literalQ.get().FindAllString(line, 8) {
			add(reversed(m))
		}
	}
	return all
}

func ofNumbers(list string) string {
	var b []byte
	for _, w := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
		n, err := strconv.ParseUint(w, 0, 8)
		if err != nil {
			return ""
		}
		b = append(b, byte(n))
	}
	return readable(b)
}

// ofBase64 returns the text that base64 stands for, also as UTF-16, which PowerShell wants.
func ofBase64(text string) string {
	text = strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(text), "=")
	if len(text)%4 == 1 {
		text = text[:len(text)-1]
	}
	raw, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return ""
	}
	if t := readable(raw); t != "" {
		return t
	}
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = uint16(raw[2*i]) | uint16(raw[2*i+1])<<8
	}
	return readable([]byte(string(utf16.Decode(units))))
}

// readable returns bytes that are printable text, and "" for all others.
func readable(raw []byte) string {
	if len(raw) < 6 || !utf8.Valid(raw) {
		return ""
	}
	odd := 0
	for _, r := range string(raw) {
		if r != '\n' && r != '\t' && r != '\r' && (r < ' ' || r >= 0x7f) {
			odd++
		}
	}
	if odd*16 > len(raw) {
		return ""
	}
	return string(raw)
}

func reversed(text string) string {
	r := []rune(text)
	for i, j := 0, len(r)-1; i < j; i, j = i+1, j-1 {
		r[i], r[j] = r[j], r[i]
	}
	return string(r)
}
