package scaffold

import (
	"path"
	"strings"

	"github.com/rye-os/rye/objects"
)

// interpreters names the extensions of what begins with #! and one of these programs.
var interpreters = []struct{ program, ext string }{
	{"bash", ".sh"}, {"zsh", ".sh"}, {"sh", ".sh"}, {"python", ".py"}, {"node", ".js"}, {"deno", ".ts"},
}

// Extension is the extension of an item by its kind, or for a tool by its text; "" when
// that does not tell.
func Extension(ref objects.Ref, text string) string {
	switch ref.Kind {
	case objects.Directive, objects.Knowledge:
		return ".md"
	case objects.Config:
		return ".yaml"
	}
	first, _, _ := strings.Cut(text, "\n")
	if line, ok := strings.CutPrefix(first, "#!"); ok {
		for _, word := range strings.Fields(line) {
			name := path.Base(word)
			for _, in := range interpreters {
				if name == in.program || in.program == "python" && strings.HasPrefix(name, "python") {
					return in.ext
				}
			}
		}
		return ""
	}
	if it, err := objects.Parse(ref.Path(".yaml"), []byte(text)); err == nil && len(it.Meta.Fields) > 0 {
		return ".yaml"
	}
	return ""
}
