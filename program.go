package rye

// ToolOfBundle is the Kind of a BundleProgram that is a tool, with metadata of its own.
const ToolOfBundle = "tool"

// BundleProgram is a file of a bundle that a person, a shell, an interpreter or another program can
// run.
type BundleProgram struct {
	Path   string `json:"path"`             // below the bundle
	Kind   string `json:"kind"`             // elf, pe, mach-o, wasm, bytecode, script, build, shortcut, macro, archive, executable; tool for an item
	Why    string `json:"why"`              // the sign by which rye knows it: "line 1 names bash"
	Change string `json:"change,omitempty"` // "new" or "changed", compared with the last signed manifest
	Run    string `json:"run,omitempty"`    // its name for rye run; "" where rye cannot run it
}
