package main_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rye-os/rye/internal/testkit"
)

// skillRule is a rule of skills-ref, with a skill that keeps it and one that breaks it. Tool is what
// skills-ref says about the latter, rye what rye add says; "" is nothing.
type skillRule struct {
	rule          string
	keeps, breaks oneSkill
	tool, rye     string
}

// oneSkill is a folder with one text. File is "" for SKILL.md.
type oneSkill struct{ folder, file, text string }

// writtenSkill is a skill of a name with further lines in its front matter.
func writtenSkill(folder, name string, lines ...string) oneSkill {
	if len(lines) == 0 || !strings.HasPrefix(lines[0], "description") && lines[0] != "" {
		lines = append([]string{"description: Works out tides."}, lines...)
	}
	return oneSkill{folder, "", "---\nname: " + name + "\n" + strings.TrimLeft(strings.Join(lines, "\n"), "\n") + "\n---\nText.\n"}
}

var (
	fine        = writtenSkill("ok", "ok")
	long        = strings.Repeat("a", 64)
	unspecified = "outside the specification: "
	badLetters  = unspecified + `name ".*": want lower-case letters, digits and hyphens`
)

// skillRules are the rules of skills-ref 0.1.5 (npm) and of skills-ref 0.1.0 in
// agentskills/agentskills, which differ as the last rows say.
var skillRules = []skillRule{
	{"there is a SKILL.md", fine, oneSkill{"ok", "README.md", "Text.\n"}, "Missing required file: SKILL.md", "1 file without a skill"},
	{"its name may be in lower case", oneSkill{"ok", "skill.md", fine.text}, oneSkill{"ok", "SKILLS.md", fine.text}, "Missing required file: SKILL.md", "1 file without a skill"},
	{"it begins with ---", fine, oneSkill{"ok", "", "# Tides\n"}, "must start with YAML frontmatter", "begins with front matter"},
	{"nothing stands before", fine, oneSkill{"ok", "", "\n" + fine.text}, "must start with YAML frontmatter", "begins with front matter"},
	{"the front matter ends", fine, oneSkill{"ok", "", "---\nname: ok\ndescription: x\n"}, "not properly closed", "never ends"},
	{"it is YAML", fine, writtenSkill("ok", "ok", "license: [a"), "Invalid YAML", "did not find expected"},
	{"no key is given twice", fine, writtenSkill("ok", "ok", "name: ok"), "duplicated mapping key", "given twice"},
	{"it is a mapping", fine, oneSkill{"ok", "", "---\n- a\n- b\n---\n"}, "must be a YAML mapping", "not a mapping"},
	{"there is a name", fine, oneSkill{"ok", "", "---\ndescription: Works out tides.\n---\n"}, "Missing required field in frontmatter: name", unspecified + `name "": want 1 to 64 characters`},
	{"it is not empty", fine, writtenSkill("ok", `""`), "'name' must be a non-empty string", unspecified + `name "": want 1 to 64 characters`},
	{"it has at most 64 characters", writtenSkill(long, long), writtenSkill(long+"a", long+"a"), "exceeds 64 character limit", "name has more than 64 characters"},
	{"it is in lower case", fine, writtenSkill("Ok", "Ok"), "must be lowercase", badLetters},
	{"no hyphen is first", writtenSkill("o-k", "o-k"), writtenSkill("-ok", `"-ok"`), "cannot start or end with a hyphen", unspecified + `name "-ok": want a hyphen only between`},
	{"no hyphen is last", writtenSkill("o-k", "o-k"), writtenSkill("ok-", "ok-"), "cannot start or end with a hyphen", unspecified + `name "ok-": want a hyphen only between`},
	{"no two hyphens meet", writtenSkill("o-k-1", "o-k-1"), writtenSkill("o--k", "o--k"), "cannot contain consecutive hyphens", unspecified + `name "o--k": want a hyphen only between`},
	{"it has no underscore", writtenSkill("123", "123"), writtenSkill("o_k", "o_k"), "contains invalid characters", badLetters},
	{"it has no dot", writtenSkill("größe", "größe"), writtenSkill("o.k", "o.k"), "contains invalid characters", badLetters},
	{"it has no space", writtenSkill("潮", "潮"), writtenSkill("o k", "o k"), "contains invalid characters", badLetters},
	{"it is that of the folder", fine, writtenSkill("other", "ok"), "Directory name 'other' must match", unspecified + `name "ok": its folder is called "other"`},
	{"there is a description", fine, writtenSkill("ok", "ok", ""), "Missing required field in frontmatter: description", "missing: description"},
	{"it is not blank", fine, writtenSkill("ok", "ok", `description: "  "`), "'description' must be a non-empty string", "missing: description"},
	{"it has at most 1024 characters", writtenSkill("ok", "ok", "description: "+strings.Repeat("d", 1024)), writtenSkill("ok", "ok", "description: "+strings.Repeat("d", 1025)), "exceeds 1024 character limit", "description has more than 1024 characters"},
	{"compatibility has at most 500", writtenSkill("ok", "ok", "compatibility: "+strings.Repeat("d", 500)), writtenSkill("ok", "ok", "compatibility: "+strings.Repeat("d", 501)), "exceeds 500 character limit", unspecified + "compatibility has 501 characters, the limit is 500"},
	{"compatibility is a text", fine, writtenSkill("ok", "ok", "compatibility: [any]"), "'compatibility' must be a string", "want text, have a list"},
	{"there are six fields", writtenSkill("ok", "ok", "license: MIT", "compatibility: any", "metadata:\n  author: a", "allowed-tools: Read"), writtenSkill("ok", "ok", "model: opus"), "Unexpected fields in frontmatter: model", ""}, // the bytes stay; clients have fields of their own
	// rye mends what clients mend when they read.
	{"a value with a colon is quoted", writtenSkill("ok", "ok", `description: "Use: tides"`), writtenSkill("ok", "ok", "description: Use: tides"), "Invalid YAML", ""},
	{"no mark of byte order", fine, oneSkill{"ok", "", "\ufeff" + fine.text}, "must start with YAML frontmatter", ""},
}

// add asks rye to take the folder in, as --dry-run, and returns what it says about the skill.
func (f oneSkill) add(t *testing.T, h *home) string {
	t.Helper()
	cmd := h.command("add", f.write(t), "--dry-run", "--json")
	out, err := cmd.CombinedOutput()
	if said := saysOfSkill.FindAllString(string(out), -1); said != nil || err == nil {
		return strings.NewReplacer(`\"`, `"`).Replace(strings.Join(said, "\n"))
	}
	return string(out)
}

var saysOfSkill = regexp.MustCompile(`"(why|lost|message)":("(\\"|[^"])*"|\[[^\]]*\])`)

// write makes a tree with the skill and returns its directory.
func (f oneSkill) write(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "src")
	file := f.file
	if file == "" {
		file = "SKILL.md"
	}
	testkit.WriteFile(t, filepath.Join(dir, "skills", f.folder, file), f.text, 0o644)
	return dir
}

// TestSkillRules: what rye says about skills that keep and that break each rule of skills-ref. What
// skills-ref itself says, make peers compares.
func TestSkillRules(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for _, r := range skillRules {
		kept := strings.ReplaceAll(r.keeps.add(t, h), "allowed-tools grants nothing here", "")
		if strings.Contains(kept, unspecified) || strings.Contains(kept, `"why"`) || strings.Contains(kept, `"message"`) {
			t.Errorf("%s: rye says of a skill that keeps it: %s", r.rule, kept)
		}
		said := r.breaks.add(t, h)
		if r.rye == "" && said != "" || !regexp.MustCompile(r.rye).MatchString(said) {
			t.Errorf("%s: rye says %q, want %q", r.rule, said, r.rye)
		}
	}
}
