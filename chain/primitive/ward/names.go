package ward

import (
	"path"
	"strings"
	"sync"
	"unicode"
)

// Kinds that the code uses.
const (
	ryeItems     = "rye"
	gitDirectory = "git directory"
	gitConfig    = "git configuration"
	python       = "Python"
)

// environment is the file that makes a directory a virtual environment of Python. A tool that may
// write it may write the other names of this kind in that directory.
const environment = "pyvenv.cfg"

// ruled is the table of files that programs execute or obey by themselves. The user only entered,
// opened, committed in or pushed the directory, and did not name the file. Files that a person
// starts by name are not here: a Makefile, the scripts of package.json, tests, build files. They
// are ordinary source that a tool must be able to change (see the package comment).
//
// A name may have one directory before it, and may begin or end with a star. Case is ignored, as
// many file systems ignore it, unless exact is set: a page agents.md below docs may well exist.
var ruled = []struct {
	kind   string
	names  string
	top    bool // only where a repository begins: at the project's top, and beside a .git
	exact  bool
	always bool // inside installed packages too
}{
	{kind: ryeItems, names: ".ai", always: true},
	{kind: gitDirectory, names: ".git", always: true},
	{kind: "another version control's hooks", names: ".hg .jj .pijul .sl .bzr _darcs/prefs .fslckout _FOSSIL_ .p4config CVS/Checkin.prog CVS/Update.prog"},

	// Shells, when a directory is entered. Not .env: nearly all its readers treat it as data, and
	// tools write it every day. Not .nvmrc and similar files: they choose among installed
	// versions, while .tool-versions, mise and rustup accept paths of programs.
	{kind: "direnv", names: ".envrc .envrc.* .direnv .shadowenv.d .autoenv .autoenv.zsh .autoenv_leave.zsh"},
	{kind: "a shell", top: true, names: ".profile .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .zshrc .zprofile .zshenv .zlogin .zlogout " +
		".kshrc .cshrc .tcshrc .login"}, // in a home directory

	{kind: "versions of programs", names: ".tool-versions mise.toml mise.*.toml .mise.toml .mise.*.toml .mise " +
		".config/mise .config/mise.toml .rtx.toml .prototools .rvmrc .rbenv-vars rust-toolchain rust-toolchain.toml .cargo/config .cargo/config.toml"},

	// Editors, when the directory is opened.
	{kind: "VS Code", names: ".vscode *.code-workspace .devcontainer .devcontainer.json .theia"},
	{kind: "Sublime Text", names: "*.sublime-project *.sublime-workspace"},
	{kind: "JetBrains", names: ".idea .fleet"},
	{kind: "Visual Studio", names: ".vs"},
	{kind: "Vim", names: ".exrc .vimrc _vimrc .gvimrc .nvimrc .nvim.lua .lvimrc .vimrc.local .local.vimrc .vim .ycm_extra_conf.py .neoconf.json"},
	{kind: "Emacs", names: ".dir-locals.el .dir-locals-2.el"},
	{kind: "another editor", names: ".zed .helix .nova .gitpod.yml .replit .idx .stackblitzrc .codesandbox .externalToolBuilders " +
		".settings/language.settings.xml .kateproject .lite_project.lua"},
	{kind: "a language server", names: ".bsp .bloop .lsp .merlin .solargraph.yml rust-analyzer.toml .rust-analyzer.toml"},

	// Agents: the programs that they start, and their instructions.
	{kind: "MCP servers", names: ".mcp.json"},
	{kind: "Claude Code", names: ".claude .claude.json"},
	{kind: "Codex", names: ".codex .agents"},
	{kind: "Cursor", names: ".cursor .cursorrules .cursorignore"},
	{kind: "Gemini", names: ".gemini"},
	{kind: "OpenCode", names: ".opencode opencode.json opencode.jsonc"},
	{kind: "another agent", names: ".aider.conf.yml .windsurf .windsurfrules .clinerules .cline .roo .roomodes .roorules .kiro " +
		".continue .continuerc.json .amazonq .junie .goosehints .goose .augment .augment-guidelines .trae .qwen .crush " +
		".crush.json crush.json .factory .agent .ryvos .amp .devin .kilocode .kilocodemodes .pi .openhands .qoder .codebuddy .zencoder .warp " +
		".iflow .neovate .pochi .rovodev .tabnine .vibe .lingma"},
	{kind: "agents' instructions", names: "AGENTS.md AGENTS.override.md CLAUDE.md CLAUDE.local.md GEMINI.md QWEN.md " +
		"AGENT.md AGENTS.local.md CRUSH.md WARP.md IFLOW.md", exact: true},
	{kind: "agents' instructions", names: ".kilocoderules .openhands_instructions .rules"},
	{kind: "agents' instructions", names: ".github/copilot-instructions.md .github/instructions .github/agents " +
		".github/prompts .github/chatmodes .github/skills .github/hooks"},

	// Hooks and CI, at a commit or a push.
	{kind: "git hooks", names: ".husky .githooks .huskyrc .huskyrc.*"},
	{kind: "git hooks", top: true, names: ".pre-commit-config.yaml .pre-commit-config.yml .overcommit.yml " +
		"lefthook.* .lefthook.* lefthook-local.* .lefthook-local.* " +
		".lintstagedrc .lintstagedrc.* lint-staged.config.* captainhook.json grumphp.yml .arcconfig"},
	{kind: "continuous integration", top: true, names: ".github/workflows .github/actions .forgejo/workflows .gitea/workflows " +
		".gitlab-ci.yml .circleci .travis.yml azure-pipelines.yml bitbucket-pipelines.yml .drone.yml .woodpecker .woodpecker.yml " +
		".tekton .teamcity .woodpecker.yaml .drone.yaml .drone.star .cirrus.yaml .azure-pipelines .azure-pipelines.yml buildspec.yml " +
		"cloudbuild.yaml cloudbuild.yml .zuul.yaml .zuul.d zuul.yaml zuul.d .readthedocs.yaml .readthedocs.yml netlify.toml bitrise.yml codemagic.yaml .harness " +
		".buildkite appveyor.yml .appveyor.yml .cirrus.yml .cirrus.star .semaphore .builds .build.yml Jenkinsfile"},

	// Package managers and interpreters, which load these before the user's program.
	{kind: "npm", names: ".npmrc"},
	{kind: "Yarn", names: ".yarnrc .yarnrc.yml .yarnrc.yaml .yarn/releases .yarn/plugins .yarn/sdks"},
	{kind: "pnpm", names: ".pnpmfile.cjs .pnpmfile.mjs"},
	{kind: "Bun", names: "bunfig.toml"},
	{kind: "Maven", names: ".mvn"},
	{kind: "sbt", names: ".sbtopts .jvmopts"},
	{kind: python, names: environment + " bin/activate bin/activate.* bin/Activate.ps1 Scripts/activate Scripts/activate.* sitecustomize.py usercustomize.py"},
	{kind: python, names: "site-packages/*.pth site-packages/sitecustomize.py site-packages/usercustomize.py dist-packages/*.pth", always: true},
	{kind: "Jupyter", names: "jupyter_config.py jupyter_config.json jupyter_server_config.* jupyter_notebook_config.* jupyter_lab_config.*"},
	{kind: "R", names: ".Rprofile .Renviron .RData"},
	{kind: "an interpreter", names: ".ghci .irbrc .pryrc .iex.exs .octaverc .ocamlinit .erlang"},
	{kind: "a debugger", names: ".gdbinit .lldbinit .pdbrc .pdbrc.py .perldb"},
	{kind: "latexmk", names: ".latexmkrc latexmkrc"},
}

// A rule is one name of the table.
type rule struct {
	kind   string
	name   string // as in the table, with the directory before it
	top    bool
	exact  bool
	always bool // inside packages too
}

// dependencies are directories of installed packages. Users do not open them in an editor. Many
// packages contain such files, and installing them must stay possible. Git directories are
// protected even there.
var dependencies = map[string]bool{"node_modules": true, "bower_components": true, "site-packages": true, "dist-packages": true, "vendor": true}

// last are directories that are searched after all others: there are many, they are deep, and
// programs make them.
var last = map[string]bool{
	"node_modules": true, "bower_components": true, "site-packages": true, "dist-packages": true, "vendor": true, "pods": true,
	"__pycache__": true, ".venv": true, "venv": true, ".tox": true, ".nox": true, ".cache": true, ".gradle": true, ".next": true,
	"target": true, "build": true, "dist": true, "out": true, "coverage": true,
}

// ruleSet finds the rule for a name: whole names by the folded name, names below a directory by
// "dir/name", and names with a star by the part before or after it.
type ruleSet struct {
	whole   map[string]*rule
	above   map[string]bool
	starred []*rule
	first   [256]bool // first bytes of names, folded
	sum     uint64    // of the whole table, FNV-1a
}

// rules are made from the table at their first use, not at every start.
var rules = sync.OnceValue(func() *ruleSet {
	r := &ruleSet{whole: make(map[string]*rule, 256), above: map[string]bool{}, sum: 14695981039346656037}
	for _, row := range ruled {
		for name := range strings.FieldsSeq(row.names) {
			r.add(&rule{kind: row.kind, name: name, top: row.top, exact: row.exact, always: row.always})
		}
	}
	return r
})

func (r *ruleSet) add(one *rule) {
	dir, base := split(one.name)
	if dir != "" {
		r.above[fold(dir)] = true
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

// ruleFor returns the rule for a name directly below a directory, or nil. above is the folded
// name of that directory if the table has names below it, else "".
func ruleFor(above, name string) *rule {
	f, rules := fold(name), rules()
	if f != "" && rules.first[f[0]] {
		r := rules.whole[f]
		if above != "" { // the longer name may hold inside packages, too
			if in := rules.whole[above+"/"+f]; in != nil {
				r = in
			}
		}
		if r != nil {
			if r.exact && path.Base(r.name) != name {
				return nil
			}
			return r
		}
	}
	for _, r := range rules.starred {
		dir, base := split(r.name)
		before, behind, _ := strings.Cut(base, "*")
		if (dir == "" || fold(dir) == above) && len(f) > len(before)+len(behind) && strings.HasPrefix(f, before) && strings.HasSuffix(f, behind) {
			return r
		}
	}
	return nil
}

// fold makes names equal that a file system may treat as equal. It changes them to lower case and
// removes the characters that some file systems ignore (".g\u200cit" is .git on two).
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
