package command

import (
	"slices"
	"strings"
)

// toldToRun analyses the commands that a program is given to execute.
func (c *call) toldToRun() {
	switch c.name {
	case "eval":
		c.runsText(merged(c.args), "sh", c.all, value{})
	case "source", ".":
		if len(c.args) > 0 {
			if p := c.args[0].text; p == "/dev/stdin" || p == "-" {
				c.becomes(c.in, value{}, "sh", c.all, true)
			} else {
				c.runsFile(p, "sh", c.all)
			}
		}
	case "trap":
		if ops := operands(c.args, ""); len(ops) > 1 {
			c.runsText(ops[0], "sh", c.all, value{})
		}
	case "find", "fd", "fdfind":
		c.judgeFind()
	case "sed", "gsed":
		c.judgeSed()
	case "awk", "gawk", "mawk", "nawk":
		if ops := operands(c.args, "-F -v -f -i"); len(ops) > 0 {
			c.judgeAwk(ops[0].text, c.all)
		}
	case "make", "gmake":
		c.judgeMake()
	case "docker", "podman", "nerdctl", "kubectl", "oc", "lxc", "docker-compose":
		c.judgeContainer()
	case "git":
		c.judgeGit()
	case "at", "batch", "crontab":
		c.judgeSchedule()
	case "dpkg", "rpm", "apt", "apt-get", "dnf", "yum", "pip", "pip3", "npm", "gem", "installer", "msiexec", "snap", "brew", "go", "dotnet", "java":
		for _, v := range operands(c.args, "") {
			if f, ok := c.files.known(v.text); ok && f.is(fetched) {
				c.add("downloaded and run", T3, c.all)
			}
		}
	case "vim", "vi", "nvim", "ex", "view", "gdb", "lldb", "emacs", "less", "more", "ftp", "ed":
		c.judgeEditor()
	case "tmux", "screen":
		c.judgeTerminal()
	}
	if sqlClients.has(c.name) {
		c.judgeSQLClient()
	}
	for _, v := range valueOf(c.args, commandOptions(c.name)) {
		c.ordered(v, c.name, c.all, strangers.has(c.name))
	}
	for _, v := range valueOf(c.args, "--checkpoint-action") {
		if text, ok := strings.CutPrefix(v.text, "exec="); ok {
			c.ordered(value{text, v.from}, c.name, c.all, true)
		}
	}
	if c.name == "scp" || c.name == "sftp" {
		c.judgeSSHOptions()
	}
}

// commandOptions are the options of a program whose value is a shell command.
func commandOptions(name string) names {
	switch name {
	case "sg", "vagrant", "npm", "npx", "nix-shell", "gcloud", "nix":
		return "-c --command --run --call"
	case "ansible":
		return "-a --args"
	case "expect":
		return "-c"
	case "rsync":
		return "-e --rsh --rsync-path"
	case "tcpdump":
		return "-z"
	case "man":
		return "-P --pager"
	case "tar", "gtar", "bsdtar":
		return "--to-command -I --use-compress-program -F --info-script --new-volume-script --rsh-command"
	case "zip":
		return "-TT --unzip-command"
	case "split":
		return "--filter"
	case "sort":
		return "--compress-program"
	case "inotifywait", "nodemon", "watchexec", "entr":
		return "--exec -x"
	case "docker", "podman":
		return "--entrypoint"
	case "hexdump", "openvpn":
		return "--up --down --route-up"
	}
	return ""
}

// strangers are programs that rarely need a command from their caller.
const strangers names = "rsync tcpdump man tar gtar bsdtar zip sort openvpn"

// ordered analyses a command that a program is given to run. If it is unusual for that place,
// that alone is a finding.
func (m *machine) ordered(v value, name, all string, strange bool) {
	text := strings.TrimLeft(strings.TrimPrefix(strings.TrimSpace(v.text), "spawn "), "|-")
	if text == "" {
		return
	}
	m.runsText(value{text, v.from}, "sh", all, value{})
	if f := strings.Fields(text); strange && !tame.has(base(strings.Trim(f[0], `"'`))) {
		m.add("told to run", T3, name+": "+text)
	}
}

// noteVariable analyses a variable that names programs to run or to load.
func (m *machine) noteVariable(name string, v value) {
	switch {
	case names("PAGER GIT_PAGER MANPAGER EDITOR VISUAL SUDO_EDITOR GIT_EDITOR GIT_SSH_COMMAND GIT_SSH GIT_EXTERNAL_DIFF GIT_ASKPASS SSH_ASKPASS GIT_PROXY_COMMAND LESSOPEN PROMPT_COMMAND RSYNC_RSH MANOPT").has(name):
		m.ordered(v, name, name+"="+v.text, name != "PROMPT_COMMAND")
	case names("LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES BASH_ENV PYTHONSTARTUP PERL5OPT RUBYOPT").has(name) && v.text != "":
		if f, known := m.files.known(v.text); strings.HasPrefix(v.text, "/tmp/") || strings.HasPrefix(v.text, "/dev/shm/") || strings.HasPrefix(v.text, "/var/tmp/") || strings.HasPrefix(v.text, ".") || strings.HasPrefix(v.text, "$PWD") || known && f.is(fetched) {
			m.add("told to run", T3, name+"="+v.text)
		}
	case name == "HISTFILE" && (v.text == "/dev/null" || v.text == "" && !v.is(partial)):
		m.add("traces removed", T3, name+"="+v.text)
	}
}

// judgeFind analyses the commands that find runs, and its own -delete. It allows names that the
// next build makes again.
func (c *call) judgeFind() {
	t := texts(c.args)
	name := value{text: found(t)}
	again := regrowable(name.text)
	for i, w := range t {
		switch w {
		case "-delete":
			if !again {
				c.add("recursive delete", T3, c.all)
			}
		case "-exec", "-execdir", "-ok", "-okdir", "-x", "-X":
			rest := slices.Clone(c.args[i+1:])
			for j, v := range rest {
				if v.text == ";" || v.text == "+" {
					rest = rest[:j]
					break
				}
				rest[j].text = c.replaced(v.text, "{}", name.text, -1)
			}
			if len(rest) == 0 {
				continue
			}
			if names("rm unlink shred").has(base(rest[0].text)) && !again {
				c.add("recursive delete", T3, c.all)
			} else if !again || base(rest[0].text) != "rm" {
				c.command(rest, value{})
			}
		}
	}
}

var sedExec = lazy(`(?m)(?:^|[;{}])\s*(?:\d+|\$|/[^/]*/)?\s*e\s+(\S.*)$`)

// judgeSed analyses the e command and the e flag, which execute.
func (c *call) judgeSed() {
	scripts := valueOf(c.args, "-e --expression")
	if len(scripts) == 0 {
		if ops := operands(c.args, "-f --file -l"); len(ops) > 0 {
			scripts = ops[:1]
		}
	}
	for _, s := range scripts {
		for _, e := range sedExec().FindAllStringSubmatch(s.text, 16) {
			c.ordered(value{text: e[1]}, "sed", c.all, true)
		}
		for _, part := range strings.Split(s.text, "\n") {
			if _, with, flags, ok := substitution(strings.TrimLeft(part, "0123456789,$ ")); ok {
				if flags, _, _ = strings.Cut(flags, ";"); strings.Contains(flags, "e") && strings.Trim(strings.TrimSpace(flags), "gpiIeM0123456789") == "" {
					c.ordered(value{text: with}, "sed", c.all, true)
				}
			}
		}
	}
}

var (
	awkSystem = lazy(`\bsystem\s*\(`)
	awkPipe   = lazy(`"((?:[^"\\]|\\.)*)"\s*\|&?\s*getline|\|&?\s*"((?:[^"\\]|\\.)*)"`)
)

// judgeAwk analyses system(), getline from a command and print into one.
func (m *machine) judgeAwk(src, all string) {
	m.spend(len(src))
	for _, at := range awkSystem().FindAllStringIndex(src, 16) {
		call := argument(src[at[1]:])
		if q := quoted(call); len(q) > 0 {
			m.runsText(value{text: strings.Join(q, " ")}, "sh", all, value{})
		} else if strings.TrimSpace(call) != "" {
			m.add("told to run", T3, "awk: system("+call+")")
		}
	}
	for _, p := range awkPipe().FindAllStringSubmatch(src, 16) {
		text := escapes(p[1] + p[2])
		if shells.has(base(text)) {
			m.add("told to run", T3, "awk: print | "+text)
		}
		m.runsText(value{text: text}, "sh", all, value{})
	}
	if strings.Contains(src, "/inet/tcp/") {
		m.add("reverse shell", T3, "awk "+src)
	}
}

// judgeMake analyses the recipes in known files and options.
func (c *call) judgeMake() {
	texts := valueOf(c.args, "--eval -E")
	files := valueOf(c.args, "-f --file --makefile")
	if len(files) == 0 {
		files = []value{{text: "Makefile"}, {text: "makefile"}, {text: "GNUmakefile"}}
	}
	for _, f := range files {
		if f.text == "-" || f.text == "/dev/stdin" {
			texts = append(texts, c.in)
		} else if v, ok := c.files.known(f.text); ok {
			texts = append(texts, v)
		}
	}
	for _, v := range texts {
		if v.is(fetched | unseen) {
			c.becomes(value{from: v.from}, value{}, "make", c.all, true)
		}
		for _, l := range strings.Split(v.text, "\n") {
			if recipe, ok := strings.CutPrefix(l, "\t"); ok {
				c.script(strings.ReplaceAll(strings.TrimLeft(recipe, "@-+ "), "$$", "$"), value{})
			} else if _, recipe, ok := strings.Cut(l, ";"); ok {
				c.script(recipe, value{})
			}
			if _, call, ok := strings.Cut(l, "$(shell "); ok {
				c.script(strings.TrimSuffix(call, ")"), value{})
			}
		}
	}
}

// flagsOfRun are the options of docker run and exec without a value.
const flagsOfRun names = "-d -i -t -it -ti -dit -itd -di -id -P -q -T --rm --detach --interactive --tty --privileged --init --read-only --publish-all --no-healthcheck --quiet --oom-kill-disable --sig-proxy --no-deps --service-ports --build --no-TTY"

// judgeContainer analyses the command that docker run, docker exec or kubectl exec runs in a
// container.
func (c *call) judgeContainer() {
	for i, v := range c.args {
		if v.text == "--" {
			c.command(c.args[i+1:], c.in)
			return
		}
		if v.text != "run" && v.text != "exec" {
			continue
		}
		for i++; i < len(c.args); i++ {
			switch t := c.args[i].text; {
			case flagsOfRun.has(t), strings.HasPrefix(t, "--") && strings.Contains(t, "="):
			case strings.HasPrefix(t, "-") && len(t) > 2 && t[1] != '-':
			case strings.HasPrefix(t, "-"):
				i++
			default: // the image or container
				if slices.ContainsFunc(c.args[i:], func(v value) bool { return v.text == "--" }) {
					i = len(c.args) // kubectl: the command comes after it
				} else if i+1 < len(c.args) {
					c.command(c.args[i+1:], c.in)
					return
				}
			}
			if i < len(c.args) && c.args[i].text == "--" {
				break
			}
		}
		for j, v := range c.args {
			if v.text == "--" {
				c.command(c.args[j+1:], c.in)
				return
			}
		}
		return
	}
}

// judgeSchedule analyses jobs for later.
func (c *call) judgeSchedule() {
	t := texts(c.args)
	if c.name != "crontab" {
		if !slices.Contains(t, "-l") && len(c.in.text)+int(c.in.from) > 0 {
			c.add("autostart changed", T3, c.all)
			c.runsText(c.in, "sh", c.all, value{})
		}
		return
	}
	switch {
	case slices.Contains(t, "-r"):
		c.add("recursive delete", T3, c.all)
	case slices.Contains(t, "-l"), slices.Contains(t, "-e"), len(t) == 0 && c.in == value{}:
	case len(t) <= 3 && (slices.Contains(t, "-") || len(t) == 0 || strings.ContainsAny(t[len(t)-1], "./") || c.in != value{}):
		c.add("autostart changed", T3, c.all)
	}
}

var escapeToShell = lazy(`^[\s:]*(?:silent!?\s+|exec(?:ute)?\s+["']?)?(?:r(?:ead)?\s*)?!\s*(.+)$|^\s*(?:shell|pi|platform shell)\s+(.+)$`)

// judgeEditor analyses commands of editors, pagers and debuggers that start a shell.
func (c *call) judgeEditor() {
	list := valueOf(c.args, "-c --cmd -ex -eval -o --eval --batch")
	for _, v := range c.args {
		if text, ok := strings.CutPrefix(v.text, "+"); ok {
			list = append(list, value{text, v.from})
		}
	}
	for _, l := range strings.Split(c.in.text, "\n") {
		list = append(list, value{l, c.in.from})
	}
	for _, v := range list {
		if f := escapeToShell().FindStringSubmatch(v.text); f != nil {
			c.ordered(value{text: f[1] + f[2]}, "editor", c.all, true)
		} else if strings.Contains(v.text, "system(") || strings.Contains(v.text, "os.execute") || strings.Contains(v.text, "shell-command") || strings.Contains(v.text, ":py") && strings.Contains(v.text, "import") {
			for _, q := range quoted(v.text) {
				c.script(q, value{})
			}
			c.add("told to run", T3, c.all)
		}
	}
}

// judgeTerminal analyses commands typed into another terminal.
func (c *call) judgeTerminal() {
	for i, v := range c.args {
		if strings.ContainsAny(v.text, " \t") {
			c.runsText(v, "sh", c.all, value{})
		} else if i+1 < len(c.args) && names("-dm -dmS -S -X -s -t new-session send-keys").has(v.text) && len(c.args)-i > 2 {
			c.command(c.args[i+2:], value{})
		}
	}
}

// judgeGit analyses the commands that git runs by configuration, options and subcommands.
func (c *call) judgeGit() {
	for _, v := range valueOf(c.args, "-c --config --config-env") {
		if key, text, ok := strings.Cut(v.text, "="); ok {
			c.judgeGitSetting(key, value{text, v.from}, c.all)
		}
	}
	ops := operands(c.args, "-c -C --git-dir --work-tree -b -m --message --author --depth -n --grep")
	for _, v := range c.args {
		if strings.HasPrefix(v.text, "ext::") {
			c.ordered(value{text: strings.ReplaceAll(strings.TrimPrefix(v.text, "ext::"), "% ", " ")}, "git", c.all, true)
		}
	}
	for _, v := range valueOf(c.args, "--upload-pack --receive-pack --extcmd --open-files-in-pager") {
		c.ordered(v, "git", c.all, true)
	}
	if len(ops) < 2 {
		return
	}
	rest := ops[1:]
	switch ops[0].text {
	case "grep":
		for _, v := range valueOf(c.args, "-O") {
			c.ordered(v, "git", c.all, true)
		}
	case "config":
		if rest[0].text == "set" {
			rest = rest[1:]
		}
		if len(rest) > 1 {
			if key := strings.ToLower(rest[0].text); key == "core.hookspath" {
				c.add("autostart changed", T3, c.all)
			}
			c.judgeGitSetting(rest[0].text, rest[1], c.all)
		}
	case "rebase":
		for _, v := range valueOf(c.args, "-x --exec") {
			c.runsText(v, "sh", c.all, value{})
		}
	case "bisect":
		if rest[0].text == "run" {
			c.command(c.args[slices.Index(texts(c.args), "run")+1:], value{})
		}
	case "submodule":
		if i := slices.Index(texts(c.args), "foreach"); i >= 0 {
			c.runsText(merged(operands(c.args[i+1:], "")), "sh", c.all, value{})
		}
	case "filter-branch":
		for _, v := range valueOf(c.args, "--tree-filter --index-filter --msg-filter --env-filter --commit-filter --parent-filter") {
			c.runsText(v, "sh", c.all, value{})
		}
	}
}

// judgeGitSetting analyses a setting whose value git executes.
func (m *machine) judgeGitSetting(key string, v value, all string) {
	key = strings.ToLower(key)
	text, bang := strings.CutPrefix(v.text, "!")
	runs := names("core.pager core.editor core.sshcommand core.fsmonitor core.askpass core.gitproxy diff.external sequence.editor gpg.program credential.helper").has(key) ||
		strings.HasPrefix(key, "pager.") || strings.HasPrefix(key, "filter.") && !strings.HasSuffix(key, ".required") || strings.HasSuffix(key, ".textconv") || strings.HasSuffix(key, ".driver") || strings.HasSuffix(key, "tool.cmd")
	switch {
	case bang:
		m.ordered(value{text, v.from}, "git", all, true)
	case key == "core.fsmonitor" && (v.text == "true" || v.text == "false"), !runs:
	case key == "credential.helper" && !strings.ContainsAny(v.text, " /"):
	default:
		m.ordered(v, "git", all, true)
	}
}

func (c *call) judgeSSHOptions() {
	for _, v := range valueOf(c.args, "-o") {
		key, text, ok := strings.Cut(v.text, "=")
		if !ok {
			key, text, _ = strings.Cut(v.text, " ")
		}
		switch strings.ToLower(strings.TrimSpace(key)) {
		case "proxycommand", "localcommand", "knownhostscommand":
			c.ordered(value{text, v.from}, "ssh", c.all, true)
		}
	}
}
