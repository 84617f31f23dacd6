package audit

import (
	"bytes"
	"path"
	"strings"
)

// Form is how a text is read.
type Form int

// The forms. The zero Form is Prose, in which commands stand between fences and in backticks.
const (
	Prose  Form = iota
	Shell       // all of it is commands
	Code        // another language, in whose strings commands may stand
	binary      // an image, an archive: nobody reads it
)

// FormOf says how a file is read, by its name and its first bytes. What is no text by its name
// alone is read as one: a name is the author's to choose.
func FormOf(name string, head []byte) Form {
	ext := strings.ToLower(path.Ext(name))
	for _, m := range pictures[ext] {
		if bytes.HasPrefix(head, []byte(m)) {
			return binary
		}
	}
	switch ext {
	case ".sh", ".bash", ".zsh", ".ksh":
		return Shell
	case ".md", ".markdown", ".txt", ".rst", "":
		if bytes.HasPrefix(head, []byte("#!")) && bytes.Contains(head[:min(len(head), 64)], []byte("sh")) {
			return Shell
		}
		return Prose
	}
	return Code
}

// pictures are files that no interpreter runs, by name and by their first bytes.
var pictures = map[string][]string{
	".png": {"\x89PNG\r\n"}, ".jpg": {"\xff\xd8\xff"}, ".jpeg": {"\xff\xd8\xff"}, ".gif": {"GIF87a", "GIF89a"},
	".webp": {"RIFF"}, ".woff": {"wOFF"}, ".woff2": {"wOF2"}, ".ico": {"\x00\x00\x01\x00"},
}
