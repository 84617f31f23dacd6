package mcp

import "bytes"

// htmlEscapes lists the escapes that encoding/json writes for HTML, which mcp-go leaves on. They
// make a directive with tags a third longer.
var htmlEscapes = map[string]byte{`u003c`: '<', `u003e`: '>', `u0026`: '&'}

// plain returns a JSON document without these escapes. It may write into raw.
func plain(raw []byte) []byte {
	at := bytes.Index(raw, []byte(`\u00`))
	if at < 0 {
		return raw
	}
	out := raw[:0]
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' || i+1 == len(raw) {
			out = append(out, raw[i])
			continue
		}
		if i+6 <= len(raw) {
			if c, ok := htmlEscapes[string(raw[i+1:i+6])]; ok {
				out, i = append(out, c), i+5
				continue
			}
		}
		out, i = append(out, raw[i], raw[i+1]), i+1 // the second of two backslashes begins no escape
	}
	return out
}
