package program

import (
	"bytes"
	"encoding/binary"
)

// machine judges code for a processor, or for the machine of a language, by its first bytes. A text
// never comes here: each of these formats has bytes that no text has.
func machine(data []byte) (Kind, string) {
	for _, m := range machines {
		if bytes.HasPrefix(data, []byte(m.magic)) && (m.more == nil || m.more(data)) {
			return m.kind, m.why
		}
	}
	return "", ""
}

var machines = []struct {
	magic string
	more  func([]byte) bool // what else has to hold; nil is nothing
	kind  Kind
	why   string
}{
	{"\x7fELF", nil, ELF, "an ELF program or library, as on Linux"},
	{"MZ", isMZ, PE, "a Windows or DOS program or library"},
	{"ZM", isMZ, PE, "a DOS program"},
	{"\xfe\xed\xfa\xce", nil, MachO, thin},
	{"\xfe\xed\xfa\xcf", nil, MachO, thin},
	{"\xce\xfa\xed\xfe", nil, MachO, thin},
	{"\xcf\xfa\xed\xfe", nil, MachO, thin},
	{"\xca\xfe\xba\xbe", isClass, Bytecode, "compiled Java"},
	{"\xca\xfe\xba\xbe", nil, MachO, fat},
	{"\xca\xfe\xba\xbf", nil, MachO, fat},
	{"\xbe\xba\xfe\xca", nil, MachO, fat},
	{"\xbf\xba\xfe\xca", nil, MachO, fat},
	{"\x00asm", nil, Wasm, "a WebAssembly module"},
	{"dex\n", nil, Bytecode, "compiled code for Android"},
	{"\x1bLua", nil, Bytecode, "compiled Lua"},
	{"\x1bLJ", nil, Bytecode, "compiled Lua"},
	{"BC\xc0\xde", nil, Bytecode, "LLVM bitcode"},
	{"FOR1", isBeam, Bytecode, "compiled Erlang"},
	{"RITE", nil, Bytecode, "compiled Ruby"},
	{"", isPython, Bytecode, "compiled Python"},
	{"\x80", isPickle, Bytecode, "a pickle, which runs code as it is read"},
}

const (
	thin = "a macOS program or library"
	fat  = "a macOS program or library for several processors"
)

// isMZ tells the header of a DOS program, which is full of zeros, from a text that begins with MZ.
func isMZ(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), 1024)], 0) >= 0
}

// isClass tells a class of Java, whose version is at least 45, from a macOS program for at most that
// many processors: both begin with the same four bytes.
func isClass(data []byte) bool {
	return len(data) >= 8 && binary.BigEndian.Uint32(data[4:]) >= 45
}

func isBeam(data []byte) bool { return len(data) >= 12 && string(data[8:12]) == "BEAM" }

// isPython recognises the magic number of CPython: a version, which is about 3000 for Python 3 and
// 50000 to 62218 for Python 2, and CR LF.
func isPython(data []byte) bool {
	if len(data) < 16 || data[2] != '\r' || data[3] != '\n' || bytes.IndexByte(data[4:min(len(data), 32)], 0) < 0 {
		return false
	}
	version := binary.LittleEndian.Uint16(data)
	return version >= 3000 && version < 4200 || version >= 50000 && version <= 62300
}

// isPickle recognises protocols 2 to 5: the version, and the full stop that ends each pickle.
func isPickle(data []byte) bool {
	return len(data) >= 4 && data[1] >= 2 && data[1] <= 5 && data[len(data)-1] == '.'
}
