package scaffold

import (
	"path"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// Path returns the path of an item's file below .ai: there if the file exists, otherwise by the
// given extension or the one that its text shows.
func Path(ref objects.Ref, there, ext, text string) (string, error) {
	if ext != "" && !strings.HasPrefix(ext, ".") {
		ext = "." + ext
	}
	switch {
	case there != "" && (ext == "" || path.Ext(there) == ext):
		return there, nil
	case there != "":
		return "", fault.New(fault.Conflict, "%s: .ai/%s exists already, and two files cannot be one item", ref, there).
			Advise("leave the extension out, to replace that file")
	case ext == "":
		ext = extensionOf(ref, text)
	}
	p := ref.Path(ext)
	if ext == "" {
		return "", fault.New(fault.Usage, "%s: the type of the file is not clear from its text", ref).
			Advise("begin it with a line such as #!/usr/bin/env bash, or give its extension, such as .sh, .py or .yaml")
	}
	return p, objects.CheckExtension(p)
}

// interpreters maps programs in a #! line to extensions.
var interpreters = map[string]string{"bash": ".sh", "zsh": ".sh", "sh": ".sh", "python": ".py", "node": ".js", "deno": ".ts"}

// extensionOf returns the extension of an item by its kind, or of a tool by its text; "" if
// unknown.
func extensionOf(ref objects.Ref, text string) string {
	switch ref.Kind {
	case objects.Directive, objects.Knowledge:
		return ".md"
	case objects.Config:
		return ".yaml"
	}
	if program, _ := objects.Interpreter([]byte(text)); program != "" {
		return interpreters[program]
	}
	if it, err := objects.Parse(ref.Path(".yaml"), []byte(text)); err == nil && len(it.Meta.Fields) > 0 {
		return ".yaml"
	}
	return ""
}
