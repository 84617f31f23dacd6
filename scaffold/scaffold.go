// Package scaffold writes the first version of an item, ready to edit and to sign.
package scaffold

import (
	"embed"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// Text returns the extension and the text of a new item. lang is for tools only; "" is python. An
// empty description leaves a sentence to fill in.
func Text(ref objects.Ref, lang, description string) (ext, text string, err error) {
	name := string(ref.Kind)
	ext = ".md"
	switch ref.Kind {
	case objects.Config:
		ext = ".yaml"
	case objects.Tool:
		if name, ext, err = language(lang); err != nil {
			return "", "", err
		}
	}
	if ref.Kind != objects.Tool && lang != "" {
		return "", "", fault.New(fault.Usage, "--lang is for tools, and %s is a %s", ref, ref.Kind)
	}
	about := description
	if about == "" {
		about = "Say in one sentence what this does."
	}
	if strings.ContainsFunc(about, func(c rune) bool {
		return unicode.IsControl(c) || strings.ContainsRune("\"\\<&`", c) || !utf8.ValidString(about)
	}) {
		return "", "", fault.New(fault.Usage, "description %q: want one line without quotes, backquotes, backslashes, < and &", about)
	}
	raw, err := templates.ReadFile(name)
	if err != nil {
		return "", "", err
	}
	return ext, strings.NewReplacer(
		"@about@", about,
		"@category@", ref.ID.Category(),
		"@name@", ref.ID.Name(),
		"@NAME@", strings.ToUpper(strings.ReplaceAll(ref.ID.Name(), "-", "_")),
	).Replace(string(raw)), nil
}

// language returns the template and the extension of a tool's language.
func language(lang string) (name, ext string, err error) {
	switch lang {
	case "":
		lang = "python"
	case "js", "javascript":
		lang = "node"
	case "ts":
		lang = "typescript"
	}
	for _, l := range languages {
		if l.name == lang {
			return l.name, l.ext, nil
		}
	}
	var known []string
	for _, l := range languages {
		known = append(known, l.name)
	}
	return "", "", fault.New(fault.Usage, "language %q: want %s", lang, strings.Join(known, ", ")).
		Advise("rye new tool <id> --lang runtime, for a language of your own")
}

// languages lists the languages with a template. A runtime is a tool that runs another language.
var languages = []struct{ name, ext string }{
	{"python", ".py"}, {"python-script", ".py"}, {"bash", ".sh"}, {"sh", ".sh"}, {"node", ".js"}, {"typescript", ".ts"}, {"yaml", ".yaml"}, {"http", ".yaml"}, {"native", ".yaml"}, {"runtime", ".yaml"},
}

// templates hold @about@, @category@, @name@ and @NAME@ as placeholders for the item's own words.
//
//go:embed bash config directive http knowledge native node python python-script runtime sh typescript yaml
var templates embed.FS
