package policy

import (
	"path"
	"slices"
	"strings"
)

// base is a program's name without directory: /bin/rm is rm.
func base(word string) string { return path.Base(strings.TrimSpace(word)) }

// wrappers run the rest of their words as a command. The text names the options
// that take a value of their own.
var wrappers = map[string]string{
	"sudo": "ugpCThDRU", "doas": "uC", "env": "uCS", "nohup": "", "nice": "n", "ionice": "cnp", "time": "fo", "timeout": "ks",
	"xargs": "IiEdnPLsa", "exec": "a", "command": "", "builtin": "", "stdbuf": "ioe", "setsid": "", "busybox": "", "watch": "n",
	"chroot": "", "unshare": "", "nsenter": "t", "strace": "eop", "ltrace": "eo", "parallel": "j", "caffeinate": "", "toybox": "",
	"entr": "", "flock": "wE", "script": "", "su": "", "runuser": "", "ssh": "ilpoFJ", "chrt": "", "taskset": "",
}

// operands are how many words of its own a wrapper takes before the command.
var operands = map[string]int{"timeout": 1, "chroot": 1, "flock": 1, "ssh": 1, "su": 9, "runuser": 9, "chrt": 1, "taskset": 1}

var shells = map[string]bool{"sh": true, "bash": true, "zsh": true, "dash": true, "ksh": true, "ash": true, "fish": true, "mksh": true, "csh": true, "tcsh": true, "rbash": true}

// interpreters run what they read when no file is named.
var interpreters = map[string]bool{"python": true, "python2": true, "python3": true, "perl": true, "ruby": true, "node": true, "nodejs": true,
	"php": true, "lua": true, "deno": true, "bun": true, "pwsh": true, "osascript": true, "tclsh": true, "psql": false, "source": true, ".": true, "eval": true}

var fetchers = map[string]bool{"curl": true, "wget": true, "fetch": true, "aria2c": true, "http": true, "https": true, "xh": true, "lynx": true,
	"w3m": true, "nc": true, "ncat": true, "netcat": true, "socat": true, "ftp": true, "tftp": true, "scp": true, "GET": true, "axel": true, "telnet": true}

// command judges one command given as words.
func (a *analysis) command(words []string, depth int) {
	for range 16 {
		if len(words) == 0 {
			return
		}
		name := base(words[0])
		opts, isWrapper := wrappers[name]
		if !isWrapper {
			break
		}
		if rest := commandText(name, words); rest != "" {
			a.script(rest, depth+1)
		}
		words = unwrap(name, opts, words[1:])
	}
	if len(words) == 0 {
		return
	}
	name, args := base(words[0]), words[1:]
	all := strings.Join(words, " ")
	// A word that holds spaces was hidden in quotes: "rm -rf" as one name.
	if strings.ContainsAny(strings.TrimSpace(words[0]), " \t") {
		a.script(all, depth+1)
		return
	}
	if shells[name] || interpreters[name] {
		a.interpreter(name, args, all, depth)
	}
	for _, j := range judges {
		if slices.Contains(j.names, name) || j.prefix != "" && strings.HasPrefix(name, j.prefix) {
			if tier, label := j.judge(args); label != "" {
				a.add(label, tier, all)
			}
		}
	}
	if name == "find" || name == "fd" {
		a.find(args, depth)
	}
}

// commandText is the script in su -c '...' and ssh host '...'.
func commandText(name string, words []string) string {
	switch name {
	case "su", "runuser", "script", "flock":
		if i := slices.Index(words, "-c"); i > 0 && i+1 < len(words) {
			return words[i+1]
		}
	case "ssh", "watch":
		if len(words) > 1 && strings.ContainsAny(words[len(words)-1], " \t") {
			return words[len(words)-1]
		}
	case "env":
		if i := slices.Index(words, "-S"); i > 0 && i+1 < len(words) {
			return words[i+1]
		}
	}
	return ""
}

// unwrap drops a wrapper's own options, assignments and operands.
func unwrap(name, valued string, words []string) []string {
	skip := operands[name]
	for len(words) > 0 {
		w := words[0]
		switch {
		case w == "--":
			words = words[1:]
			if skip == 0 {
				return words
			}
			continue
		case len(w) > 1 && w[0] == '-':
			words = words[1:]
			if len(w) == 2 && strings.ContainsRune(valued, rune(w[1])) && len(words) > 0 {
				words = words[1:]
			}
			continue
		case name == "env" && strings.Contains(w, "="), name == "sudo" && strings.Contains(w, "="):
			words = words[1:]
			continue
		case skip > 0:
			skip--
			words = words[1:]
			continue
		}
		return words
	}
	return nil
}

// interpreter judges bash -c '...', eval ..., bash <(curl ...).
func (a *analysis) interpreter(name string, args []string, all string, depth int) {
	if strings.Contains(all, fetchedMark) {
		a.add("pipe to shell", T4, strings.ReplaceAll(all, fetchedMark, ""))
		return
	}
	if name == "eval" {
		a.script(strings.Join(args, " "), depth+1)
		return
	}
	for i, w := range args {
		if shells[name] && len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.HasSuffix(w, "c") && i+1 < len(args) {
			a.script(args[i+1], depth+1)
			return
		}
		if !shells[name] && (w == "-c" || w == "-e" || w == "-r" || w == "-E") && i+1 < len(args) {
			a.code(args[i+1], depth)
			return
		}
	}
}

// code judges a line of another language by the calls that delete or run.
func (a *analysis) code(src string, depth int) {
	for _, s := range []string{"shutil.rmtree", "rmSync(", "rm_rf", "rm_r(", "remove_tree", "rimraf", "File::Path", "FileUtils.rm"} {
		if strings.Contains(src, s) {
			a.add("recursive delete", T3, src)
		}
	}
	// What it hands to a shell stands in quotes.
	if strings.Contains(src, "system") || strings.Contains(src, "exec") || strings.Contains(src, "popen") || strings.Contains(src, "subprocess") || strings.Contains(src, "`") {
		for _, q := range []string{`"`, `'`, "`"} {
			parts := strings.Split(src, q)
			for i := 1; i < len(parts); i += 2 {
				a.script(parts[i], depth+1)
			}
			var words []string
			for i := 1; i < len(parts); i += 2 {
				words = append(words, parts[i])
			}
			if len(words) > 1 {
				a.command(words, depth+1)
			}
		}
	}
}

// find judges the commands that find runs, and its own delete.
func (a *analysis) find(args []string, depth int) {
	for i, w := range args {
		switch w {
		case "-delete":
			a.add("recursive delete", T3, "find "+strings.Join(args, " "))
		case "-exec", "-execdir", "-ok", "-okdir", "-x", "-X":
			rest := args[i+1:]
			if len(rest) > 0 && slices.Contains([]string{"rm", "unlink", "shred"}, base(rest[0])) {
				a.add("recursive delete", T3, "find "+strings.Join(args, " "))
			}
			a.command(rest, depth+1)
		}
	}
}

// judge is one dangerous program.
type judge struct {
	names  []string
	prefix string
	judge  func(args []string) (Tier, string)
}

var judges = []judge{
	{names: []string{"rm"}, judge: func(args []string) (Tier, string) {
		if !option(args, "rR", "--recursive") {
			return 0, ""
		}
		return deletion(args), "recursive delete"
	}},
	{names: []string{"shred", "wipe", "srm"}, judge: func(args []string) (Tier, string) {
		if len(args) == 0 {
			return 0, ""
		}
		return T3, "recursive delete"
	}},
	{names: []string{"git"}, judge: git},
	{names: []string{"chmod"}, judge: chmod},
	{names: []string{"setfacl"}, judge: func(args []string) (Tier, string) {
		for _, w := range args {
			if strings.Contains(w, "o::rwx") || strings.Contains(w, "other::rwx") {
				return T3, "wide-open permissions"
			}
		}
		return 0, ""
	}},
	{prefix: "mkfs", judge: formats},
	{names: []string{"mke2fs", "newfs", "wipefs", "mkswap", "mkntfs", "mkdosfs", "sgdisk", "blkdiscard", "cryptsetup"}, judge: formats},
	{names: []string{"dd"}, judge: func(args []string) (Tier, string) {
		for _, w := range args {
			if to, ok := strings.CutPrefix(w, "of="); ok && device(to) {
				return T4, "raw disk write"
			}
		}
		return 0, ""
	}},
	{names: []string{"cp", "tee", "install", "cat", "truncate", "pv", "ddrescue", "mv"}, judge: func(args []string) (Tier, string) {
		if len(args) > 0 && device(args[len(args)-1]) && !slices.Contains(args, "--help") {
			return T4, "write to device"
		}
		return 0, ""
	}},
	{names: []string{"DROP", "drop", "Drop"}, judge: func(args []string) (Tier, string) {
		if len(args) > 1 && slices.Contains([]string{"table", "database", "schema"}, strings.ToLower(args[0])) {
			return T3, "SQL drop"
		}
		return 0, ""
	}},
	{names: []string{"dropdb"}, judge: func(args []string) (Tier, string) { return T3, "SQL drop" }},
	{names: []string{"rsync"}, judge: func(args []string) (Tier, string) {
		for _, w := range args {
			if strings.HasPrefix(w, "--delete") {
				return T2, "recursive delete"
			}
		}
		return 0, ""
	}},
}

// option reports whether a short option is among args, alone or bundled, or the
// long one, abbreviated as getopt allows. Words after "--" are no options.
func option(args []string, short, long string) bool {
	for _, w := range args {
		switch {
		case w == "--":
			return false
		case strings.HasPrefix(w, "--"):
			if name, _, _ := strings.Cut(w, "="); len(name) > 4 && strings.HasPrefix(long, name) {
				return true
			}
		case len(w) > 1 && w[0] == '-' && strings.ContainsAny(w[1:], short):
			return true
		}
	}
	return false
}

// deletion is critical when it begins at the top of a system, a home or everything here.
func deletion(args []string) Tier {
	for _, w := range args {
		if strings.HasPrefix(w, "-") && w != "--no-preserve-root" {
			continue
		}
		switch clean := path.Clean(strings.TrimSuffix(w, "*")); {
		case w == "--no-preserve-root", w == "", w == "*", w == "~", w == "~/", clean == "/", clean == "..", clean == "~",
			clean == ".ai", clean == ".git", clean == ".",
			slices.Contains([]string{"/etc", "/usr", "/var", "/home", "/root", "/boot", "/bin", "/lib", "/opt"}, clean):
			return T4
		}
	}
	return T3
}

func formats(args []string) (Tier, string) {
	for _, w := range args {
		if !strings.HasPrefix(w, "-") {
			return T4, "format filesystem"
		}
	}
	return 0, ""
}

// git judges by subcommand, which may stand behind options.
func git(args []string) (Tier, string) {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		if args[0] == "-C" || args[0] == "-c" || args[0] == "--git-dir" || args[0] == "--work-tree" {
			args = args[1:]
		}
		if len(args) > 0 {
			args = args[1:]
		}
	}
	if len(args) == 0 {
		return 0, ""
	}
	rest := args[1:]
	switch args[0] {
	case "push":
		for _, w := range rest {
			if w == "--mirror" || strings.HasPrefix(w, "--force") || len(w) > 1 && w[0] == '+' || len(w) > 4 && strings.HasPrefix("--force", w) {
				return T3, "force push"
			}
		}
		if option(rest, "f", "--force") {
			return T3, "force push"
		}
	case "reset":
		for _, w := range rest {
			if len(w) > 3 && strings.HasPrefix("--hard", w) {
				return T3, "hard reset"
			}
		}
	case "clean":
		if option(rest, "f", "--force") && option(rest, "dxX", "--directories") {
			return T3, "recursive delete"
		}
	}
	return 0, ""
}

// chmod judges the mode, which is the first word that is no option.
func chmod(args []string) (Tier, string) {
	for _, w := range args {
		if w == "" || w[0] == '-' && strings.Trim(w, "-RHLPcfv") == "" || strings.HasPrefix(w, "--") {
			continue
		}
		digits := strings.TrimLeft(w, "0")
		if len(digits) >= 3 && len(digits) <= 4 && strings.Trim(digits, "01234567") == "" && strings.HasSuffix(digits, "7") && digits[len(digits)-2] == '7' && digits[len(digits)-3] == '7' {
			return T3, "wide-open permissions"
		}
		for _, clause := range strings.Split(w, ",") {
			who, what, ok := strings.Cut(clause, "+")
			if !ok {
				who, what, ok = strings.Cut(clause, "=")
			}
			if ok && strings.Trim(who, "ugoa") == "" && strings.ContainsAny(who, "oa") && strings.Contains(what, "w") && strings.Trim(what, "rwxXst") == "" {
				return T3, "wide-open permissions"
			}
		}
		break
	}
	return 0, ""
}

// harmlessDevices may be written by anybody at any time.
var harmlessDevices = []string{"null", "zero", "full", "stdout", "stderr", "stdin", "tty", "random", "urandom", "ptmx", "console"}

func device(p string) bool {
	rest, ok := strings.CutPrefix(path.Clean(p), "/dev/")
	if !ok {
		return false
	}
	for _, dir := range []string{"fd/", "shm/", "pts/", "tcp/", "udp/"} {
		if strings.HasPrefix(rest, dir) {
			return false
		}
	}
	return !slices.Contains(harmlessDevices, rest)
}
