// Package files finds the files of MCP clients on this machine and writes rye's entry into
// them: one process of rye at a time, as a whole, and only over the bytes that were read.
package files
