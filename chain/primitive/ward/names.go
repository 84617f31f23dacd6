package ward

import (
	"path"
	"strings"
	"sync"
	"unicode"
)

// Kinds that the code knows too.
const (
	ryeItems     = "rye"
	gitDirectory = "git directory"
)

// table is what programs execute, or obey, by themselves: because a directory was entered,
// opened, committed in or pushed, and nobody named the file. What a person starts by name
// is not here: a Makefile, the scripts of package.json, tests, build files. They are the
// ordinary source that a tool has to be able to change (docs/rationale.md).
//
// A name may stand below one directory, and may begin or end with a star. Upper and lower
// case are the same, since on many file systems they are, but where exact is set: there
// may well be a page docs/agents.md.
var ruled = []struct {
	kind  string
	names string
	top   bool // counts only where a repository begins: the project's top, and beside a .git
	exact bool
}{
	{kind: ryeItems, names: ".ai"},
	{kind: gitDirectory, names: ".git"},
	{kind: "another version control's hooks", names: ".hg .jj .pijul"},

	// Shells, when a directory is entered. Not .env: to nearly all its readers it is data,
	// and tools write it every day. Not .nvmrc and its like: they choose among what is
	// installed, while .tool-versions, mise and rustup take paths of programs.
	{kind: "direnv", names: ".envrc .envrc.* .direnv .shadowenv.d .autoenv .autoenv.zsh"},
	{kind: "versions of programs", names: ".tool-versions mise.toml mise.*.toml .mise.toml .mise.*.toml .mise " +
		".config/mise .config/mise.toml rust-toolchain rust-toolchain.toml .cargo/config .cargo/config.toml"},

	// Editors, when it is opened.
	{kind: "VS Code", names: ".vscode *.code-workspace .devcontainer .devcontainer.json .theia"},
	{kind: "JetBrains", names: ".idea .fleet"},
	{kind: "Visual Studio", names: ".vs"},
	{kind: "Vim", names: ".exrc .vimrc _vimrc .gvimrc .nvimrc .nvim.lua .lvimrc"},
	{kind: "Emacs", names: ".dir-locals.el .dir-locals-2.el"},
	{kind: "another editor", names: ".zed .helix .gitpod.yml .externalToolBuilders"},

	// Agents: what they start, and what they obey.
	{kind: "MCP servers", names: ".mcp.json"},
	{kind: "Claude Code", names: ".claude .claude.json"},
	{kind: "Codex", names: ".codex .agents"},
	{kind: "Cursor", names: ".cursor .cursorrules .cursorignore"},
	{kind: "Gemini", names: ".gemini"},
	{kind: "OpenCode", names: ".opencode opencode.json opencode.jsonc"},
	{kind: "another agent", names: ".aider.conf.yml .windsurf .windsurfrules .clinerules .cline .roo .roomodes .roorules .kiro " +
		".continue .continuerc.json .amazonq .junie .goosehints .goose .augment .augment-guidelines .trae .qwen .crush " +
		".crush.json crush.json .factory .agent .ryvos"},
	{kind: "agents' instructions", names: "AGENTS.md AGENTS.override.md CLAUDE.md CLAUDE.local.md GEMINI.md QWEN.md", exact: true},
	{kind: "agents' instructions", names: ".github/copilot-instructions.md .github/instructions .github/agents " +
		".github/prompts .github/chatmodes .github/skills .github/hooks"},

	// Hooks and machines, when it is committed or pushed.
	{kind: "git hooks", names: ".husky .githooks"},
	{kind: "git hooks", top: true, names: ".pre-commit-config.yaml .pre-commit-config.yml .overcommit.yml " +
		"lefthook.* .lefthook.* lefthook-local.* .lefthook-local.*"},
	{kind: "continuous integration", top: true, names: ".github/workflows .github/actions .forgejo/workflows .gitea/workflows " +
		".gitlab-ci.yml .circleci .travis.yml azure-pipelines.yml bitbucket-pipelines.yml .drone.yml .woodpecker .woodpecker.yml " +
		".buildkite appveyor.yml .appveyor.yml .cirrus.yml .cirrus.star .semaphore .builds .build.yml Jenkinsfile"},

	// Package managers and interpreters, which load these before what they were started for.
	{kind: "npm", names: ".npmrc"},
	{kind: "Yarn", names: ".yarnrc .yarnrc.yml .yarnrc.yaml"},
	{kind: "pnpm", names: ".pnpmfile.cjs .pnpmfile.mjs"},
	{kind: "Bun", names: "bunfig.toml"},
	{kind: "Maven", names: ".mvn"},
	{kind: "Python", names: "pyvenv.cfg"},
	{kind: "R", names: ".Rprofile .Renviron .RData"},
	{kind: "an interpreter", names: ".ghci .irbrc .pryrc .iex.exs .octaverc"},
	{kind: "a debugger", names: ".gdbinit .lldbinit"},
	{kind: "latexmk", names: ".latexmkrc latexmkrc"},
}

// A rule is one name of the table.
type rule struct {
	kind   string
	name   string // as the table spells it, with what it stands below
	top    bool
	exact  bool
	always bool // within packages too
}

// dependencies are directories of packages that were installed. Nobody opens those in an
// editor, and many packages bring such files along, which must not get into the way of
// installing them. Git directories count there too.
var dependencies = map[string]bool{"node_modules": true, "bower_components": true, "site-packages": true, "dist-packages": true, "vendor": true}

// last are directories that are looked into after all others: many, deep, and made by
// programs.
var last = map[string]bool{
	"node_modules": true, "bower_components": true, "site-packages": true, "dist-packages": true, "vendor": true, "pods": true,
	"__pycache__": true, ".venv": true, "venv": true, ".tox": true, ".nox": true, ".cache": true, ".gradle": true, ".next": true,
	"target": true, "build": true, "dist": true, "out": true, "coverage": true,
}

// ruleSet finds a name: whole ones by the folded name, those below a directory by "dir/name",
// and those with a star by the part before or behind it.
type ruleSet struct {
	whole   map[string]*rule
	above   map[string]bool
	starred []*rule
	first   [256]bool // bytes that a name begins with, folded
	sum     uint64    // of the whole table, FNV-1a
}

// rules are made of the table when they are needed, not at every start.
var rules = sync.OnceValue(func() *ruleSet {
	r := &ruleSet{whole: make(map[string]*rule, 256), above: map[string]bool{}, sum: 14695981039346656037}
	for _, row := range ruled {
		for name := range strings.FieldsSeq(row.names) {
			r.add(&rule{kind: row.kind, name: name, top: row.top, exact: row.exact, always: row.kind == gitDirectory || row.kind == ryeItems})
		}
	}
	return r
})

func (r *ruleSet) add(one *rule) {
	dir, base := split(one.name)
	if dir != "" {
		r.above[dir] = true
	}
	if strings.Contains(base, "*") {
		r.starred = append(r.starred, one)
	} else {
		f := fold(one.name)
		r.whole[f] = one
		r.first[f[len(f)-len(base)]] = true
	}
	for _, c := range []byte(one.name + " ") {
		r.sum = (r.sum ^ uint64(c)) * 1099511628211
	}
}

// ruleFor returns the rule for a name right below a directory, or nil. above is the folded
// name of that directory where something of the table stands below it, else "".
func ruleFor(above, name string) *rule {
	f, rules := fold(name), rules()
	if f != "" && rules.first[f[0]] {
		r := rules.whole[f]
		if r == nil && above != "" {
			r = rules.whole[above+"/"+f]
		}
		if r != nil {
			if r.exact && path.Base(r.name) != name {
				return nil
			}
			return r
		}
	}
	for _, r := range rules.starred {
		before, behind, _ := strings.Cut(r.name, "*")
		if len(f) > len(before)+len(behind) && strings.HasPrefix(f, before) && strings.HasSuffix(f, behind) {
			return r
		}
	}
	return nil
}

// fold makes names equal that a file system may take for the same: in lower case, and
// without the characters that some of them pass over (".g\u200cit" is .git on two).
func fold(name string) string {
	ascii, lower := true, true
	for i := range len(name) {
		ascii = ascii && name[i] < 0x80
		lower = lower && (name[i] < 'A' || name[i] > 'Z')
	}
	switch {
	case ascii && lower:
		return name
	case ascii:
		return strings.ToLower(name)
	}
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) {
			return -1
		}
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return unicode.ToLower(least)
	}, name)
}
