package transport

// SaidOf gathers the words of a host that come in pieces of so many bytes.
func SaidOf(raw []byte, piece int) string {
	var w hostWords
	for piece = max(1, piece&1023); len(raw) > 0; {
		n := min(piece, len(raw))
		w.add(string(raw[:n]))
		raw = raw[n:]
	}
	return w.said()
}

// Silent reports whether git need not be asked what it was told.
func Silent(o Options) bool { return o.silent() }
