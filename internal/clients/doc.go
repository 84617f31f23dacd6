// Package clients says how MCP clients learn of a server: the files that they read, the
// form of an entry, and the edit that puts it into the text of such a file without
// changing anything else. It is pure: bytes and an entry become new bytes. Package files,
// below it, finds and writes them.
//
// A file is changed as text, so that every byte outside of the entry stays, comments and
// layout too. A parser reads it before and after. A file that does not parse is refused
// (fault.Malformed), and so is a change after which the rest would not mean the same.
//
// # Reasons
//
// A parser and a printer would be shorter and would lose comments, order, indentation and
// long numbers that people wrote by hand. A failed edit is refused and never tried another
// way, so the editors may be simple. JSON with comments needs no library: comments and
// last commas are blanked out, and encoding/json reads the rest in place. TOML has four
// kinds of strings, dates and tables, so go-toml reads it and reports positions. A YAML
// file with anchors is refused, because a new line could feed other places.
//
// An entry is amended, not replaced: people add variables, limits and permissions to it.
//
// The old state is kept in the state directory. Text cannot tell `{}` from no file, and a
// .bak beside the file would be one more copy of logins, perhaps committed.
//
// A client in a terminal gets no directory: it starts servers where the person works, and
// a directory would make one project answer in all others.
package clients
