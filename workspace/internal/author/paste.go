package author

import (
	"path"

	"github.com/rye-os/rye/objects"
)

// blockToPaste is the metadata that a file without any could begin with, in
// comments of its language; "" where metadata has another form.
func blockToPaste(it *objects.Item) string {
	switch path.Ext(it.Path) {
	case ".py", ".yaml", ".yml", ".md":
		return ""
	}
	if it.Ref.Kind != objects.Tool || len(it.Meta.Fields) > 0 {
		return ""
	}
	text, _ := objects.CommentBlock(it.Path,
		"version: 0.1.0\nexecutor_id: "+runtimeFor(it.Path)+"\ndescription: Say in one sentence what this does.")
	return text
}

// runtimeFor is the runtime that fits a file of this name.
func runtimeFor(p string) string {
	switch path.Ext(p) {
	case ".sh", ".bash":
		return "rye/core/runtimes/bash_runtime"
	case ".js", ".mjs", ".cjs":
		return "rye/core/runtimes/node_runtime"
	case ".ts", ".mts", ".cts":
		return "rye/core/runtimes/typescript_runtime"
	}
	return "<id of a runtime>"
}
