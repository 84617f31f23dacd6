// Package clients says how MCP clients are told of a server: in which files they look, what
// an entry looks like there, and how it comes into the text of such a file without changing
// anything else of it. It is pure: bytes as they are and an entry become the bytes as they
// shall be. Package files, below it, finds and writes them.
//
// A file is changed as text, so that every byte outside of the entry stays, comments and
// layout too. It is read by a parser before and after: what does not parse is refused
// (fault.Malformed), and so is a change after which the rest would not mean the same.
package clients
