package audit

import (
	"bytes"
	"path"
	"strings"

	"github.com/rye-os/rye/objects/program"
)

// Form decides how a text is read.
type Form int

// The forms. The zero Form is Prose, with commands in fences and in backticks.
const (
	Prose      Form = iota
	Shell           // commands only
	Code            // another language, with commands perhaps in its strings
	Python          // Code
	JavaScript      // Code; TypeScript too
	PowerShell      // Code; files of commands of Windows too
	binary          // a picture, a font, an archive: it is not read
	disguised       // no text, under the name of one
)

// formNames are the names of forms in rules.
var formNames = [...]string{Prose: "prose", Shell: "shell", Code: "code", Python: "python", JavaScript: "javascript", PowerShell: "powershell"}

// HeadSize is the number of bytes from the beginning of a file by which FormOf judges best.
const HeadSize = 64 << 10

// FormOf chooses the form of a file by its first bytes and its name. The bytes alone decide whether it is a
// text, because the author chooses the name.
func FormOf(name string, head []byte) Form {
	form, stated := formOfName(path.Base(name))
	if !program.Text(head) {
		if stated {
			return disguised
		}
		return binary
	}
	if line, _, _ := bytes.Cut(head[:min(len(head), 256)], []byte("\n")); bytes.HasPrefix(line, []byte("#!")) {
		for _, i := range interpreters {
			if bytes.Contains(line, []byte(i.word)) {
				return i.form
			}
		}
	}
	return form
}

// interpreters tell the language of a script by a word of its first line.
var interpreters = []struct {
	word string
	form Form
}{
	{"python", Python}, {"uv run", Python}, {"node", JavaScript}, {"deno", JavaScript}, {"bun", JavaScript}, {"pwsh", PowerShell},
	{"powershell", PowerShell}, {"sh", Shell},
}

// formOfName returns the form that a name promises, and whether readers of that form take a file by that name.
func formOfName(base string) (Form, bool) {
	base = strings.ToLower(base)
	switch path.Ext(base) {
	case ".sh", ".bash", ".zsh", ".ksh", ".command":
		return Shell, true
	case ".py", ".pyw":
		return Python, true
	case ".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".mts", ".cts":
		return JavaScript, true
	case ".ps1", ".psm1", ".psd1", ".bat", ".cmd":
		return PowerShell, true
	case ".md", ".markdown", ".mdc", ".txt", ".rst":
		return Prose, true
	case ".json", ".jsonc", ".yaml", ".yml", ".toml":
		return Code, true
	case "":
		return Prose, false
	}
	switch base {
	case ".cursorrules", ".windsurfrules", ".clinerules", ".goosehints", ".rules":
		return Prose, true
	}
	return Code, false
}

// code reports whether a form is that of a language that is no shell.
func (f Form) code() bool { return f == Code || f == Python || f == JavaScript || f == PowerShell }
