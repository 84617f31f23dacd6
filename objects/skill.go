package objects

import (
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rye-os/rye/internal/words"
)

// Bounds of the fields of a skill, from the Agent Skills specification (agentskills.io). Clients
// refuse a skill beyond the first two.
const (
	MaxSkillName        = 64   // characters
	MaxSkillDescription = 1024 // characters
	maxSkillCompat      = 500
)

var skillFields = names("name description license compatibility metadata allowed-tools")

// IsSkill reports whether a slash path below .ai is the entry of a bundle that is an Agent
// Skill. It keeps the form of the specification, because rye exports its bytes unchanged. It
// needs no field of rye's own, and its name may differ from its id.
func IsSkill(p string) bool {
	return path.Base(p) == SkillFile && strings.HasPrefix(p, BundlesDir+"/") && strings.Count(p, "/") == 3
}

// skillMeta reads the fields that only skills have. The field "name" becomes the title; the
// version may be in "metadata".
func (p *parser) skillMeta(m *Meta) error {
	var err error
	if m.Title, err = p.text("name"); err != nil {
		return err
	}
	m.Name, m.EntryType = p.ref.ID.Name(), "skill"
	if _, err := p.text("compatibility"); err != nil {
		return err
	}
	more, err := p.mapping("metadata")
	if v, ok := more["version"].(string); ok && m.Version == "" {
		if _, ok := parseVersion(v); ok {
			m.Version = v
		}
	}
	return err
}

// checkSkill checks the fields that clients need: without a name they take that of the directory.
// SkillFaults reports other violations of the
// specification to the author, and refuses nothing.
func (v *validator) checkSkill() {
	v.need("description", strings.TrimSpace(v.it.Meta.Description), "its purpose, and when to use it")
	v.apparent()
}

// SkillFaults returns how a skill from a folder breaks the specification.
func SkillFaults(it *Item, folder string) []string {
	var all []string
	name := it.Meta.Title
	if why := skillName(name); why != "" {
		all = append(all, fmt.Sprintf("name %q: %s", words.Brief(name), why))
	} else if name != folder {
		all = append(all, fmt.Sprintf("name %q: its folder is called %q", name, words.Brief(folder)))
	}
	if n := utf8.RuneCountInString(it.Meta.Description); n > MaxSkillDescription {
		all = append(all, fmt.Sprintf("description has %d characters, the limit is %d", n, MaxSkillDescription))
	}
	compat, _ := it.Meta.Fields["compatibility"].(string)
	if n := utf8.RuneCountInString(compat); n > maxSkillCompat {
		all = append(all, fmt.Sprintf("compatibility has %d characters, the limit is %d", n, maxSkillCompat))
	}
	return all
}

func skillName(name string) string {
	switch {
	case name == "" || utf8.RuneCountInString(name) > MaxSkillName:
		return fmt.Sprintf("want 1 to %d characters", MaxSkillName)
	case strings.HasPrefix(name, "-") || strings.HasSuffix(name, "-") || strings.Contains(name, "--"):
		return "want a hyphen only between two other characters"
	}
	for _, r := range name {
		if r != '-' && (unicode.ToLower(r) != r || !unicode.IsLetter(r) && !unicode.IsDigit(r)) {
			return "want lower-case letters, digits and hyphens"
		}
	}
	return ""
}
