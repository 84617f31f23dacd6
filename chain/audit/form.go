package audit

import (
	"bytes"
	"path"
	"strings"
)

// Form decides how a text is read.
type Form int

// The forms. The zero Form is Prose, with commands in fences and in backticks.
const (
	Prose  Form = iota
	Shell       // commands only
	Code        // another language, with commands perhaps in its strings
	binary      // an image, an archive: it is not read
)

// FormOf chooses the form of a file by its name and its first bytes. A name alone never makes a
// file binary, because the author chooses the name.
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

// pictures are files that no interpreter runs, by the ending of their name and their first bytes.
var pictures = map[string][]string{
	".png": {"\x89PNG\r\n"}, ".jpg": {"\xff\xd8\xff"}, ".jpeg": {"\xff\xd8\xff"}, ".gif": {"GIF87a", "GIF89a"},
	".webp": {"RIFF"}, ".woff": {"wOFF"}, ".woff2": {"wOF2"}, ".ico": {"\x00\x00\x01\x00"},
}
