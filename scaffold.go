package rye

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// New writes the first version of an item into the project, ready to edit and to
// sign. An id of one segment gets the project's namespace. It never overwrites.
func (r *Rye) New(ctx context.Context, q NewRequest) (*NewReport, error) {
	s, err := r.openProject()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	kind, err := objects.ParseKind(q.Kind)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(q.ID, "/") {
		q.ID = s.project.Namespace + "/" + q.ID
	}
	id, err := objects.ParseID(q.ID)
	if err != nil {
		return nil, err
	}
	ref := objects.Ref{Kind: kind, ID: id}
	ext, text, err := scaffold(ref, q)
	if err != nil {
		return nil, err
	}
	if it, err := s.stack.Project.Draft(ref); err == nil {
		return nil, fault.New(fault.Conflict, "%s: .ai/%s is already there", ref, it.Path)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	p := ref.Path(ext)
	if err := s.stack.Project.Write(p, []byte(text), true); err != nil {
		return nil, err
	}
	return &NewReport{Ref: ref.String(), Path: ".ai/" + p, Next: fault.Command("rye sign %s", ref)}, nil
}

// scaffold returns the extension and the text of a new item.
func scaffold(ref objects.Ref, q NewRequest) (ext, text string, err error) {
	name := string(ref.Kind)
	ext = ".md"
	switch ref.Kind {
	case objects.Config:
		ext = ".yaml"
	case objects.Tool:
		if name, ext, err = language(q.Lang); err != nil {
			return "", "", err
		}
	}
	if ref.Kind != objects.Tool && q.Lang != "" {
		return "", "", fault.New(fault.Usage, "--lang is for tools, and %s is a %s", ref, ref.Kind)
	}
	about := q.Description
	if about == "" {
		about = "Say in one sentence what this does."
	}
	if strings.ContainsFunc(about, func(c rune) bool {
		return unicode.IsControl(c) || strings.ContainsRune("\"\\<&`", c) || !utf8.ValidString(about)
	}) {
		return "", "", fault.New(fault.Usage, "description %q: want one line without quotes, backquotes, backslashes, < and &", about)
	}
	raw, err := templates.ReadFile("scaffold/" + name)
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

// languages that there is a template for. A runtime is the tool that runs another
// language.
var languages = []struct{ name, ext string }{
	{"python", ".py"}, {"python-script", ".py"}, {"bash", ".sh"}, {"sh", ".sh"}, {"node", ".js"}, {"typescript", ".ts"}, {"yaml", ".yaml"}, {"runtime", ".yaml"},
}

// templates hold @about@, @category@, @name@ and @NAME@ where the item's own words go.
//
//go:embed scaffold
var templates embed.FS
