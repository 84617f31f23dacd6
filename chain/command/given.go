package command

import (
	"slices"
	"strings"
)

// toldToRun analyses the commands that a program is given to execute.
func (c *call) toldToRun() {
	for _, g := range givenTable {
		if !g.programs.has(c.name) {
			continue
		}
		for _, v := range valueOf(c.args, g.options) {
			if g.options == "-wrapper" {
				v.text = strings.ReplaceAll(v.text, ",", " ")
			}
			if strings.HasPrefix(v.text, "exec=") || !slices.Contains(texts(c.args), "--checkpoint-action="+v.text) {
				c.ordered(value{strings.TrimPrefix(v.text, "exec="), v.from}, c.name, c.all, g.strange)
			}
		}
	}
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
			c.foreignCode("awk", ops[0].text)
		}
	case "docker", "podman", "nerdctl", "kubectl", "oc", "lxc", "docker-compose":
		if ops := operands(c.args, "-a -m -c"); len(ops) > 2 && ops[0].text == "commit" {
			c.vars["committed "+ops[len(ops)-1].text] = ops[:1]
		}
		c.judgeContainer()
	case "git":
		c.judgeGit()
	case "at", "batch":
		c.runsText(c.in, "sh", c.all, value{})
	case "tmux", "screen":
		c.judgeTerminal()
	case "salt", "pdsh", "pssh", "parallel-ssh", "clush", "dsh", "bolt", "adb", "multipass", "vagrant", "gcloud", "fly", "flyctl", "heroku", "cf", "minikube", "ansible":
		c.judgeRemote()
	case "aws", "az":
		c.judgeCloudCommand()
	case "ip":
		if i := c.find([]string{"exec"}, 0); i > 0 && i+2 < len(c.args) {
			c.startedBy("ip", func() { c.command(c.args[i+2:], value{}) })
		}
	case "Start-Process", "start", "open", "xdg-open":
		if ops := operands(c.args, "-ArgumentList -WindowStyle -a -b"); len(ops) > 0 && c.files.read(ops[0].text).is(fetched) {
			c.runsFile(ops[0].text, "sh", c.all)
		}
	case "dc":
		for _, v := range append(valueOf(c.args, "-e --expression"), c.in) {
			if text, ok := strings.CutPrefix(v.text, "!"); ok {
				c.ordered(value{text, v.from}, "dc", c.all, true)
			}
		}
	case "rpm":
		for _, v := range valueOf(c.args, "--eval -E --pipe") {
			if text, ok := strings.CutPrefix(v.text, "%("); ok {
				v.text = strings.TrimSuffix(text, ")")
			}
			if strings.HasPrefix(v.text, "%{") {
				c.foreignCode("lua", v.text)
			} else {
				c.ordered(v, "rpm", c.all, true)
			}
		}
	case "puppet":
		for _, v := range valueOf(c.args, "-e --execute") {
			for _, q := range stringsOf(v.text) {
				c.ordered(value{text: q}, "puppet", c.all, true)
			}
		}
	case "scp", "sftp":
		c.judgeSSHOptions()
	case "cmd":
		for i, v := range c.args {
			if strings.EqualFold(v.text, "/c") || strings.EqualFold(v.text, "/k") {
				c.runsText(merged(c.args[i+1:]), "sh", c.all, value{})
				break
			}
		}
	}
	if c.is(runsSQL) {
		c.judgeStatements()
	}
	if c.is(editsText) {
		c.judgeEditor()
	}
	if c.is(builds) {
		c.judgeMake()
	}
	if c.is(buildsImages) {
		c.judgeImage()
	}
	if c.is(compiles) {
		c.judgeSource()
	}
}

// judgeRemote analyses the text that a program runs on other machines: its last word with blanks.
func (c *call) judgeRemote() {
	for _, v := range operands(c.args, "-i -w -H -h -l -u -P -t") {
		if strings.ContainsAny(v.text, " \t") {
			defer c.goElsewhere()()
			c.runsText(v, "sh", c.all, value{})
			return
		}
	}
	if i := slices.Index(texts(c.args), "shell"); c.name == "adb" && i >= 0 {
		c.command(c.args[i+1:], value{})
	}
}

// judgeCloudCommand analyses the commands that a cloud runs in its machines.
func (c *call) judgeCloudCommand() {
	if c.find([]string{"send-command", "run-command", "create-association"}, 0) < 0 {
		return
	}
	for _, v := range valueOf(c.args, "--parameters --scripts --cli-input-json") {
		_, text, ok := strings.Cut(v.text, "commands=")
		if !ok {
			text = v.text
		}
		list := stringsOf(text)
		if len(list) == 0 {
			list = []string{strings.Trim(text, "[]")}
		}
		for _, q := range list {
			c.script(q, value{})
		}
	}
}

// dockerRun begins a step of a Dockerfile that runs a command.
var dockerRun = lazy(`(?mi)^\s*(?:ONBUILD\s+)?RUN\s+(?:--\S+\s+)*(.+)$`)

// judgeImage analyses the steps of an image: in a known Dockerfile, or on the input.
func (c *call) judgeImage() {
	if c.find([]string{"build", "bud", "buildx"}, 0) < 0 {
		return
	}
	all := []value{c.in}
	for _, p := range append(valueOf(c.args, "-f --file"), value{text: "Dockerfile"}) {
		if v, ok := c.files.known(p.text); ok {
			all = append(all, v)
		}
	}
	for _, v := range all {
		if v.is(fetched) {
			c.happens("run", nil, v, c.all)
		}
		for _, f := range dockerRun().FindAllStringSubmatch(strings.ReplaceAll(v.text, "\\\n", " "), 64) {
			c.script(f[1], value{})
		}
	}
}

// judgeSource analyses the source text that a program compiles: known files, or the input.
func (c *call) judgeSource() {
	for _, v := range operands(c.args, "-o -x -l -L -I") {
		if f, ok := c.files.known(v.text); ok {
			if f.is(fetched) {
				c.happens("run", nil, f, c.all)
			}
			c.foreignCode("source", f.text)
		}
	}
	if c.in.text != "" {
		c.foreignCode("source", c.in.text)
	}
}

// ordered analyses a command that a program is given to run. If it is unusual for that place,
// that alone is a finding.
func (m *machine) ordered(v value, name, all string, strange bool) {
	text := strings.TrimLeft(strings.TrimPrefix(strings.TrimSpace(v.text), "spawn "), "|-")
	if text == "" {
		return
	}
	m.startedBy(name, func() { m.runsText(value{text, v.from}, "sh", all, value{}) })
	if f := strings.Fields(text); strange && !tame.has(base(strings.Trim(f[0], `"'`))) {
		m.flag("told-to-run", name+": "+text)
	}
}

// noteVariable compares an assignment with the rules, and analyses a variable that is a command.
func (m *machine) noteVariable(name string, v value) {
	m.happens(name+"=", []value{v}, value{}, name+"="+v.text)
	if runners.has(name) {
		m.ordered(v, name, name+"="+v.text, name != "PROMPT_COMMAND")
	}
}

// judgeFind analyses the commands that find runs, and its own -delete.
func (c *call) judgeFind() {
	t := texts(c.args)
	name := value{text: found(t)}
	for i, w := range t {
		switch w {
		case "-delete":
			if slices.Contains(t, "-empty") {
				continue
			}
			c.happens("find-delete", []value{name}, value{}, c.all)
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
			if names("rm unlink shred").has(base(rest[0].text)) {
				c.happens("find-delete", []value{name}, value{}, c.all)
			} else {
				c.startedBy(c.name, func() { c.command(rest, value{}) })
			}
		}
	}
}

var (
	sedExec = lazy(`(?m)(?:^|[;{}])\s*(?:\d+|\$|/[^/]*/)?\s*e\s+(\S.*)$`)
	sedFlag = lazy(`(?m)^[\d,$ ]*s(?:/((?:[^/\\]|\\.)*)/((?:[^/\\]|\\.)*)/|\|([^|]*)\|([^|]*)\||#([^#]*)#([^#]*)#)[gpiIM0-9]*e[gpiIM0-9]*\s*(?:;|$)`)
)

// judgeSed analyses the e command and the e flag, which execute.
func (c *call) judgeSed() {
	scripts := valueOf(c.args, "-e --expression")
	if len(scripts) == 0 {
		if ops := operands(c.args, "-f --file -l"); len(ops) > 0 {
			scripts = ops[:1]
		}
	}
	for _, s := range scripts {
		if s.is(fetched|unseen|encoded|built) && strings.Contains(s.text, "e ") {
			c.becomes(value{from: s.from}, value{}, "sh", c.all, true)
		}
		for _, e := range sedExec().FindAllStringSubmatch(s.text, 16) {
			c.ordered(value{text: e[1]}, "sed", c.all, true)
		}
		for _, e := range sedFlag().FindAllStringSubmatch(s.text, 16) {
			c.ordered(value{text: strings.ReplaceAll(e[2]+e[4]+e[6], `\/`, "/")}, "sed", c.all, true)
		}
	}
}

// judgeMake analyses the recipes in known files, as lines of a shell.
func (c *call) judgeMake() {
	files := valueOf(c.args, "-f --file --makefile")
	if len(files) == 0 {
		files = []value{{text: "Makefile"}, {text: "makefile"}, {text: "GNUmakefile"}}
	}
	for _, f := range files {
		v, ok := c.files.known(f.text)
		if f.text == "-" || f.text == "/dev/stdin" {
			v, ok = c.in, true
		}
		if !ok {
			continue
		}
		text := strings.NewReplacer("\n\t@", "\n\t", "\n\t-", "\n\t", "$(shell ", "$(", "$$", "$").Replace(v.text)
		c.becomes(value{text, v.from}, value{}, "sh", c.all, true)
	}
}

// flagsOfRun are the options of docker run and exec without a value.
const flagsOfRun names = "-d -i -t -it -ti -dit -itd -di -id -P -q -T --rm --detach --interactive --tty --privileged --init --read-only --publish-all --no-healthcheck --quiet --oom-kill-disable --sig-proxy --no-deps --service-ports --build --no-TTY"

// judgeContainer analyses the command that docker run, docker exec or kubectl exec runs in a
// container.
func (c *call) judgeContainer() {
	t := texts(c.args)
	if i := slices.Index(t, "--"); i >= 0 {
		c.command(c.args[i+1:], c.in)
		return
	}
	i := slices.IndexFunc(t, func(w string) bool { return w == "run" || w == "exec" })
	if i < 0 {
		return
	}
	for i++; i < len(t); i++ {
		switch w := t[i]; {
		case flagsOfRun.has(w), strings.HasPrefix(w, "--") && strings.Contains(w, "="):
		case strings.HasPrefix(w, "-") && len(w) > 2 && w[1] != '-':
		case strings.HasPrefix(w, "-"):
			i++
		default: // the image or container
			c.command(c.args[i+1:], c.in)
			return
		}
	}
}

var escapeToShell = lazy(`^[\s:]*(?:silent!?\s+|exec(?:ute)?\s+["']?)?(?:r(?:ead)?\s*)?!\s*(.+)$|^\s*:?(?:shell|pi|platform shell|ter(?:m|mi|min|mina|minal)?)\s+(?:\+\+\S+\s+)*(.+)$|^\s*:?(?:set?\s+shell=)\S+(?:\s*\|\s*:?sh(?:ell)?)?()$`)
var editorCode = lazy(`system\(|os\.execute|shell-command|:?py.*import|\((ansi-term|term|shell|eshell|vterm|make-term|start-process|call-process)\b|pty\.spawn|os\.(exec|system|popen)|subprocess|jobstart|termopen|^source\s.*\|["\s]*$`)

// judgeEditor analyses commands of editors, pagers and debuggers that start a shell.
func (c *call) judgeEditor() {
	list := valueOf(c.args, "-c --cmd -ex -eval -o --eval --batch --command -e -b -eval-command --one-line -O")
	for _, v := range c.args {
		if text, ok := strings.CutPrefix(v.text, "+"); ok {
			list = append(list, value{text, v.from})
		}
	}
	for l := range strings.Lines(c.in.text) {
		list = append(list, value{strings.TrimRight(l, "\n"), c.in.from})
	}
	for _, v := range list {
		if f := escapeToShell().FindStringSubmatch(v.text); f != nil {
			c.ordered(value{text: f[1] + f[2] + f[3]}, "editor", c.all, true)
		} else if names("shell sh terminal term").has(strings.Trim(v.text, ": ")) {
			c.flag("told-to-run", c.all)
		} else if editorCode().MatchString(v.text) {
			for _, q := range stringsOf(v.text) {
				c.script(q, value{})
			}
			c.flag("told-to-run", c.all)
		}
	}
}

// judgeTerminal analyses commands typed into another terminal.
func (c *call) judgeTerminal() {
	for i, v := range c.args {
		if strings.ContainsAny(v.text, " \t") {
			c.runsText(v, "sh", c.all, value{})
		} else if len(c.args)-i > 2 && names("-dm -dmS -S -X -s -t new-session send-keys").has(v.text) {
			c.command(c.args[i+2:], value{})
		}
	}
}

// judgeGit analyses the commands that git runs by configuration, options and subcommands.
func (c *call) judgeGit() {
	for _, v := range valueOf(c.args, "-c --config --config-env") {
		if key, text, ok := strings.Cut(v.text, "="); ok {
			c.judgeGitSetting(key, value{text, v.from})
		}
	}
	for _, v := range c.args {
		if text, ok := strings.CutPrefix(v.text, "ext::"); ok {
			c.ordered(value{text: strings.ReplaceAll(text, "% ", " ")}, "git", c.all, true)
		}
	}
	at := c.subcommand()
	if at < 0 || at+1 >= len(c.args) {
		return
	}
	rest := c.args[at+1:]
	switch c.args[at].text {
	case "grep":
		for _, v := range valueOf(rest, "-O") {
			c.ordered(v, "git", c.all, true)
		}
	case "config":
		ops := operands(rest, "")
		if len(ops) > 0 && ops[0].text == "set" {
			ops = ops[1:]
		}
		if len(ops) > 1 {
			c.judgeGitSetting(ops[0].text, ops[1])
		}
	case "remote":
		if ops := operands(rest, "-t -m"); len(ops) > 2 && (ops[0].text == "add" || ops[0].text == "set-url") {
			c.vars["remote "+ops[1].text] = []value{ops[2]}
		}
	case "push":
		c.judgePush(operands(rest, "-o --push-option --receive-pack"))
	case "rebase":
		for _, v := range valueOf(rest, "-x --exec") {
			c.runsText(v, "sh", c.all, value{})
		}
	case "bisect":
		if rest[0].text == "run" {
			c.command(rest[1:], value{})
		}
	case "submodule":
		if rest[0].text == "foreach" {
			words := rest[1:]
			for len(words) > 0 && strings.HasPrefix(words[0].text, "-") {
				words = words[1:]
			}
			c.runsText(merged(words), "sh", c.all, value{})
		}
	}
}

// judgePush compares the address of a remote that the text has added with the rules.
func (c *call) judgePush(ops []value) {
	if len(ops) == 0 {
		return
	}
	if url, ok := c.vars["remote "+ops[0].text]; ok {
		args := append([]value{url[0]}, c.args...)
		event := "push-to-new"
		if ops[0].text == "origin" || ops[0].text == "upstream" {
			event = "push-to-usual"
		}
		c.happens(event, args, value{}, c.all)
	}
}

// judgeGitSetting analyses a setting whose value git executes.
func (c *call) judgeGitSetting(key string, v value) {
	key = strings.ToLower(key)
	text, bang := strings.CutPrefix(v.text, "!")
	runs := settings.has(key) || strings.HasPrefix(key, "pager.") || strings.HasPrefix(key, "filter.") && !strings.HasSuffix(key, ".required") ||
		strings.HasSuffix(key, ".textconv") || strings.HasSuffix(key, ".driver") || strings.HasSuffix(key, "tool.cmd")
	switch {
	case bang:
		c.ordered(value{text, v.from}, "git", c.all, true)
	case key == "core.fsmonitor" && (v.text == "true" || v.text == "false"), !runs:
	case key == "credential.helper" && !strings.ContainsAny(v.text, " /"):
	default:
		c.ordered(v, "git", c.all, true)
	}
}

func (c *call) judgeSSHOptions() {
	for _, v := range valueOf(c.args, "-o") {
		i := strings.IndexAny(v.text, "= ")
		if i > 0 && names("proxycommand localcommand knownhostscommand").has(strings.ToLower(strings.TrimSpace(v.text[:i]))) {
			c.ordered(value{v.text[i+1:], v.from}, "ssh", c.all, true)
		}
	}
}

var (
	sqlShell   = lazy(`(?m)(^|;|\s)\s*(\\!|system\s|\.shell\s|\.system\s)\s*(\S.*)$|(?i)\b(?:FROM|TO)\s+PROGRAM\s+'([^']+)'`)
	sqlComment = lazy(`(?m)--.*$|(?s:/\*.*?\*/)`)
)

// judgeStatements analyses the statements of a database client: in its options, words, files or
// input.
func (c *call) judgeStatements() {
	all := []value{c.in}
	for i, v := range c.args {
		if i > 0 && (c.args[i-1].text == "-f" || c.args[i-1].text == "--file") {
			all = append(all, c.files.read(v.text))
		} else if strings.ContainsAny(v.text, " \t\n.") {
			all = append(all, v)
		}
	}
	// The database is a word without blanks; statements have some.
	where := slices.DeleteFunc(slices.Clone(c.args), func(v value) bool { return strings.ContainsAny(v.text, " \t\n") })
	for _, v := range all {
		c.spend(2 * len(v.text))
		text := sqlComment().ReplaceAllString(v.text, "")
		c.happens("sql", where, value{text: text}, c.all)
		for _, f := range sqlShell().FindAllStringSubmatch(text, 8) {
			c.ordered(value{text: f[3] + f[4]}, "sql", text, true)
		}
	}
}
