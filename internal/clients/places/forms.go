package places

import (
	"encoding/json"
	"path"
	"strings"

	"github.com/rye-os/rye/fault"
)

// Text is a command or a rule, without a client's form.
type Text struct {
	Name        string // slash path without extension: "ops/deploy"
	Description string
	Body        string
	Globs       string // of a rule: the files that it is about, "" for none
	Always      bool   // of a rule: it always applies
	Source      string // of a command or rule that came in a client's form: "markdown", "mdc"; "" otherwise
	Raw         []byte // its bytes in that form
}

// Command writes a command in a client's form. The path is below the client's directory.
func Command(t Text, form Form) (name string, data []byte, err error) {
	switch form {
	case Markdown:
		if t.Source == string(Markdown) {
			return t.Name + ".md", t.Raw, nil
		}
		return t.Name + ".md", []byte(head("description", t.Description) + "\n" + t.Body), nil
	case TOML:
		body := strings.ReplaceAll(t.Body, "$ARGUMENTS", "{{args}}")
		return t.Name + ".toml", []byte("description = " + quoted(t.Description) + "\nprompt = " + quoted(body) + "\n"), nil
	case Plain:
		return flat(t.Name) + ".md", []byte(t.Body), nil
	case Skill:
		name := SkillName(flat(t.Name))
		if name == "" {
			return "", nil, fault.New(fault.Malformed, "command %q: no name of a skill can be made from it", t.Name)
		}
		return name + "/SKILL.md", []byte("---\nname: " + name + "\ndescription: " + quoted(t.Description) + "\n---\n\n" + t.Body), nil
	}
	return "", nil, fault.New(fault.Usage, "command %q: the client reads none", t.Name)
}

// Rule writes a rule in a client's form.
func Rule(t Text, form Form) (name string, data []byte, err error) {
	text := func(ext, head string) (string, []byte, error) {
		if head != "" {
			head += "\n"
		}
		return flat(t.Name) + ext, []byte(head + t.Body), nil
	}
	switch form {
	case MDC:
		if t.Source == string(MDC) {
			return flat(t.Name) + ".mdc", t.Raw, nil
		}
		always := "false"
		if t.Always || t.Globs == "" {
			always = "true"
		}
		return text(".mdc", "---\ndescription: "+quoted(t.Description)+"\nglobs: "+t.Globs+"\nalwaysApply: "+always+"\n---\n")
	case Paths:
		if t.Globs == "" {
			return text(".md", "")
		}
		return text(".md", head("paths", t.Globs))
	case Instructions:
		globs := t.Globs
		if globs == "" {
			globs = "**"
		}
		return text(".instructions.md", "---\ndescription: "+quoted(t.Description)+"\napplyTo: "+quoted(globs)+"\n---\n")
	case Steering:
		if t.Globs == "" {
			return text(".md", "---\ninclusion: always\n---\n")
		}
		return text(".md", "---\ninclusion: fileMatch\nfileMatchPattern: "+quoted(t.Globs)+"\n---\n")
	case Plain:
		return text(".md", "")
	}
	return "", nil, fault.New(fault.Usage, "rule %q: the client reads none", t.Name)
}

// flat joins the parts of a name by hyphens, for clients without folders.
func flat(name string) string { return strings.ReplaceAll(path.Clean(name), "/", "-") }

func head(field, value string) string {
	if value == "" {
		return ""
	}
	return "---\n" + field + ": " + quoted(value) + "\n---\n"
}

// quoted writes a text as a string that YAML, JSON and TOML read.
func quoted(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string never fails
	return strings.TrimSuffix(b.String(), "\n")
}

// SkillName returns a name that every client takes for a skill: 1 to 64 lower-case letters, digits
// and single hyphens between them. It returns "" when nothing of the name remains.
func SkillName(s string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(s) {
		switch {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			b.WriteRune(c)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() == 64 {
			break
		}
	}
	return strings.Trim(b.String(), "-")
}

// ValidSkill reports whether every client takes a name for a skill.
func ValidSkill(s string) bool { return s != "" && SkillName(s) == s }
