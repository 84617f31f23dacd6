package command

import (
	"path"
	"slices"
	"strings"
)

// home matches the start of any user's home directory.
const home = `(~[\w.-]*|/root|/home/[^/]+|/Users/[^/]+)`

var (
	secretFiles = lazy(`(^|/)\.env(\.(local|prod|production|staging|dev|development|test|live))?$|(^|/)\.(ssh|aws|gnupg|kube|azure|password-store)(/|$)|(^|/)id_(rsa|dsa|ecdsa|ed25519)$` +
		`|(^|/)\.(netrc|npmrc|pypirc|git-credentials|pgpass|my\.cnf|vault-token|boto|s3cfg)$|(^|/)\.docker/config\.json$|(^|/)\.config/(gcloud|gh|rclone|op|sops|hub|doctl|google-chrome|chromium)(/|$)` +
		`|^/etc/(passwd|shadow|gshadow|sudoers)|^/etc/(ssl/private|ssh/ssh_host|kubernetes)|\.(pem|key|p12|pfx|kdbx|keystore|jks|ppk|ovpn)$|(_|\.)history$` +
		`|(^|/)(cookies\.sqlite|Cookies|Login Data|logins\.json|key4\.db|wallet\.dat)$|/Keychains/|^/proc/[^/]+/environ$|^/(var/)?run/secrets/|(^|/)credentials(\.json|\.ya?ml)?$` +
		`|(^|/)secrets?\.(ya?ml|json|env|toml|txt)$|service[-_]account[^/]*\.json$|\.tfstate$|^` + home + `/?$|^/$|^/etc/?$|/\.mozilla/`)
	openFiles = lazy(`\.pub$|/known_hosts|/\.ssh/config$|\.env\.(example|sample|template|dist)$|localhost[^/]*\.pem$|cacert|ca-certificates|(^|/)ca[^/]*\.(pem|crt)$`)

	autostart = lazy(`(^|/)\.(bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|cshrc|tcshrc|kshrc|mkshrc|xinitrc|xprofile|xsession|xsessionrc|pam_environment|gitconfig)$` +
		`|\.config/fish/(config\.fish|conf\.d/)|\.ssh/(authorized_keys2?|rc)$|\.config/(autostart|environment\.d)(/|$)|\.config/plasma-workspace/|systemd/(system|user)(/|$)|^/etc/(profile|bash\.bashrc|bashrc|zshrc|zshenv|profile\.d/|cron|anacrontab|rc\.|init\.d/|ld\.so\.|zsh/|environment|xdg/autostart|update-motd\.d/|apt/apt\.conf\.d/|modules-load\.d/|udev/rules\.d/|inittab)` +
		`|^/var/spool/(cron|at)|Library/Launch(Agents|Daemons)(/|$)|(^|/)\.git/(hooks/|config$)|(sitecustomize|usercustomize)\.py$`)
	system = lazy(`^/etc/(passwd|shadow|group|gshadow|sudoers|pam\.d/|pam\.conf|ssh/sshd_config|hosts$|hosts\.(allow|deny)|fstab|crypttab|selinux/|resolv\.conf|nsswitch\.conf|securetty|security/|shells$|login\.defs|polkit-1/|sysctl)|^/boot/|^/proc/(sysrq-trigger|sys/kernel/core_pattern)|^/sys/firmware/|^/proc/kcore|^/var/log/(auth|secure|wtmp|btmp|lastlog|audit|syslog)|^/usr/s?bin/(sudo|su|login|sshd|passwd)$`)
	traces = lazy(`(^|/)\.[a-z]+_history$|^/var/log/(auth|secure|wtmp|btmp|lastlog|audit)`)
)

// secretHints are parts of the names of secrets. They exclude most words quickly.
const secretHints = ".env .ssh .aws .gnupg .kube .azure password-store id_ netrc npmrc pypirc git-cred pgpass my.cnf vault boto s3cfg .docker .config /etc .pem .key .p12 .pfx kdbx keystore .jks .ppk .ovpn " +
	"history ookies Login logins key4 wallet Keychains environ secret credential service tfstate mozilla ~ /root /home /Users"

func secretPath(p string) bool {
	p = strings.TrimPrefix(p, "file://")
	if p == "" || len(p) >= 4096 {
		return false
	}
	hinted := p == "/"
	for rest := secretHints; rest != "" && !hinted; {
		var hint string
		hint, rest, _ = strings.Cut(rest, " ")
		hinted = strings.Contains(p, hint)
	}
	return hinted && secretFiles().MatchString(p) && !openFiles().MatchString(p)
}

// writes records that a file gets a value, and checks which file it is.
func (m *machine) writes(p string, v value, more bool) {
	if device(p) {
		m.add("write to device", T4, "> "+p)
		return
	}
	if proc := m.open.reader(p); proc != nil {
		m.stmts(proc.Stmts, v)
		return
	}
	m.touches(p, v)
	if old, ok := m.files.known(p); ok && more {
		v = join(old, v)
	}
	if at := m.files.place(p); at != "" && at != "/dev/null" {
		m.files.put(p, v)
	}
}

// touches checks whether a written file starts programs or belongs to the system's configuration.
func (m *machine) touches(p string, v value) {
	p = m.files.spelled(p)
	switch {
	case p == "" || len(p) > 4096:
	case traces().MatchString(p):
		m.add("traces removed", T3, "> "+p)
	case m.remote && strings.HasSuffix(p, "authorized_keys"): // ssh-copy-id by hand
	case autostart().MatchString(p):
		m.add("autostart changed", T3, "> "+p)
	case p == "/etc/hosts" && (strings.HasPrefix(v.text, "127.") || strings.HasPrefix(v.text, "::1")): // a name for this machine
	case system().MatchString(p):
		m.add("system file changed", T3, "> "+p)
	}
}

// operands returns the words that are neither options nor values of the options in valued.
func operands(args []value, valued names) (out []value) {
	for i := 0; i < len(args); i++ {
		switch t := args[i].text; {
		case t == "--":
			return append(out, args[i+1:]...)
		case len(t) > 1 && t[0] == '-':
			if valued.has(t) {
				i++
			}
		default:
			out = append(out, args[i])
		}
	}
	return out
}

// valueOf returns the words after any of the options, also in the same word: -ofile,
// --output=file.
func valueOf(args []value, options names) (out []value) {
	for i, v := range args {
		name, text, glued := strings.Cut(v.text, "=")
		switch {
		case options.has(v.text) && i+1 < len(args):
			out = append(out, args[i+1])
		case glued && strings.HasPrefix(name, "--") && options.has(name):
			out = append(out, value{text, v.from})
		case len(v.text) > 2 && v.text[0] == '-' && v.text[1] != '-' && options.has(v.text[:2]):
			out = append(out, value{v.text[2:], v.from})
		}
	}
	return out
}

// noteFiles records the files that a program writes through its own options and operands.
func (c *call) noteFiles() {
	switch c.name {
	case "cp", "mv", "install", "ln", "rsync", "scp":
		c.noteCopies()
	case "tee", "sponge":
		for _, v := range operands(c.args, "") {
			c.writes(v.text, c.in, option(texts(c.args), "a", "--append"))
		}
	case "dd":
		for _, v := range c.args {
			if to, ok := strings.CutPrefix(v.text, "of="); ok && !device(to) {
				c.writes(to, c.in, false)
			}
		}
	case "sed", "gsed":
		c.judgeInPlace()
	case "truncate", "ed", "ex", "chattr":
		for _, v := range operands(c.args, "-s") {
			c.touches(v.text, value{})
		}
	case "tar", "bsdtar", "unzip", "7z", "7za":
		c.noteArchive()
	case "zip", "gpg", "openssl", "gzip", "base64", "age":
		c.notePacked()
	case "cd", "pushd":
		if len(c.args) > 0 && c.args[0].text != "" {
			c.files.enter(c.files.place(c.args[0].text))
		}
	case "read", "mapfile", "readarray":
		for _, v := range operands(c.args, "-p -d -n -t -u") {
			c.vars[v.text] = []value{{strings.TrimSpace(c.in.text), c.in.from}}
		}
	case "printf":
		if len(c.args) > 2 && c.args[0].text == "-v" {
			c.vars[c.args[1].text] = []value{printed(c.args[2:])}
		}
	case "set":
		if i := slices.Index(texts(c.args), "--"); i >= 0 {
			c.vars.arguments(c.args[i+1:])
		}
	case "alias":
		for _, v := range c.args {
			if n, text, ok := strings.Cut(v.text, "="); ok && n != "" {
				c.vars["alias "+n] = []value{{text: text}}
			}
		}
	case "unset":
		for _, v := range c.args {
			if v.text == "HISTFILE" {
				c.add("traces removed", T3, "unset HISTFILE")
			}
			delete(c.vars, v.text)
		}
	}
}

// judgeInPlace checks the files that sed -i and perl -i change.
func (c *call) judgeInPlace() {
	if option(texts(c.args), "i", "--in-place") {
		for _, v := range operands(c.args, "-f --file") {
			c.touches(v.text, value{})
		}
	}
}

func (c *call) noteCopies() {
	ops := operands(c.args, "-m -o -g -t -e -i -P --mode --owner --group --rsh --exclude --target-directory -S -F -l")
	if into := valueOf(c.args, "--target-directory"); len(into) > 0 {
		ops = append(ops, into[0])
	}
	if len(ops) < 2 || c.name == "install" && option(texts(c.args), "d", "--directory") {
		return
	}
	to := ops[len(ops)-1].text
	for _, v := range ops[:len(ops)-1] {
		content := c.files.read(v.text)
		if (c.name == "scp" || c.name == "rsync") && strings.Contains(v.text, ":") {
			content = value{from: fetched}
			c.writes(path.Join(to, base(v.text[strings.IndexByte(v.text, ':')+1:])), content, false)
		}
		if c.name == "mv" {
			c.touches(v.text, value{})
			c.files.remove(v.text)
			if to == "/dev/null" {
				c.add("recursive delete", T3, "mv "+v.text+" /dev/null")
			}
		}
		if to == "." || strings.HasSuffix(to, "/") {
			c.touches(to, content)
			c.writes(path.Join(to, base(v.text)), content, false)
			continue
		}
		if !strings.Contains(to, ":") && !device(to) {
			c.writes(to, content, false)
			if content.from != partial {
				c.files.put(path.Join(to, base(v.text)), content) // to may be a directory
			}
		}
	}
}

// noteArchive records the content of an archive: the secrets in a new one, and the fetched files
// from an extracted one.
func (c *call) noteArchive() {
	flags := ""
	if len(c.args) > 0 {
		flags = strings.TrimLeft(c.args[0].text, "-")
	}
	files := valueOf(c.args, "-f --file")
	if strings.Contains(flags, "f") && !strings.HasPrefix(c.args[0].text, "--") && len(c.args) > 1 {
		files = append(files, c.args[1])
	}
	if c.name == "unzip" || strings.HasPrefix(c.name, "7z") {
		files = operands(c.args, "-d -P -o")
	}
	all := texts(c.args)
	switch {
	case c.name == "unzip", strings.HasPrefix(flags, "x"), strings.Contains(flags, "x") && !strings.Contains(flags, "="), slices.Contains(all, "--extract"):
		from := c.in
		for _, f := range files {
			from = join(from, c.files.read(f.text))
		}
		if from.is(fetched) {
			dir := "."
			if d := valueOf(c.args, "-C -d --directory"); len(d) > 0 {
				dir = d[0].text
			}
			c.files.fetch(dir)
		}
	default:
		if v := c.files.contents(c.args); v.is(secret) {
			for _, f := range files {
				if f.text != "-" && !secretPath(f.text) {
					c.writes(f.text, value{from: secret}, false)
				}
			}
		}
	}
}

// notePacked records a secret that is written under another name.
func (c *call) notePacked() {
	v := join(c.files.contents(c.args), c.in)
	if !v.is(secret) {
		return
	}
	to := valueOf(c.args, "-o -out --output")
	if ops := operands(c.args, "-P"); c.name == "zip" && len(ops) > 0 {
		to = ops[:1]
	}
	for _, f := range to {
		c.writes(f.text, value{from: secret}, false)
	}
}

// judgeNetwork analyses the data that a program sends away, and records the data that it fetches.
func (c *call) judgeNetwork() {
	c.noteFetched()
	if names("nc ncat netcat").has(c.name) && (option(texts(c.args), "ec", "--exec") || option(texts(c.args), "c", "--sh-exec")) {
		c.add("reverse shell", T4, c.name+" "+line(c.args))
	}
	if c.name == "socat" {
		for _, v := range c.args {
			if up := strings.ToUpper(v.text); strings.HasPrefix(up, "EXEC:") || strings.HasPrefix(up, "SYSTEM:") || strings.HasPrefix(up, "SHELL:") {
				c.add("reverse shell", T4, "socat "+line(c.args))
			}
		}
	}
	sends, words := c.uploadsOf()
	if !sends || local(c.args) {
		return
	}
	if c.in.is(answers) && names("nc ncat netcat socat telnet openssl").has(c.name) {
		c.add("reverse shell", T4, "a shell | "+c.name+" "+line(c.args))
	}
	if c.in.is(secret) {
		c.add("secrets leave", T3, "... | "+c.name+" "+line(c.args))
		return
	}
	if names("ftp sftp lftp tftp").has(c.name) {
		for _, f := range strings.Fields(c.in.text) {
			words = append(words, value{text: f})
		}
	}
	for _, v := range words {
		if c.files.carries(v) {
			c.add("secrets leave", T3, c.name+" "+line(c.args))
			return
		}
	}
}

// identity are the options whose values identify the user, or name the destination of an answer.
const identity names = "-i -E -o -O --key --cert --cacert --capath --netrc-file --identity --private-key --output --output-document --ca-certificate --certificate -c --cookie-jar -K --config -e --rsh -S -F --proto --exclude --exclude-from --include"

// uploadsOf reports whether a program sends its data away, and returns the words that may hold or
// name the data.
func (c *call) uploadsOf() (bool, []value) {
	var first, second string
	if ops := operands(c.args, "--profile --region -n -m"); len(ops) > 1 {
		first, second = ops[0].text, ops[1].text
	}
	switch c.name {
	case "sftp":
		return true, nil
	case "scp", "rsync":
		ops := operands(c.args, identity)
		if len(ops) < 2 || !strings.Contains(ops[len(ops)-1].text, ":") {
			return false, nil
		}
		return true, ops[:len(ops)-1]
	case "aws", "gsutil", "gcloud", "rclone", "s3cmd", "mc", "az", "b2":
		ops := operands(c.args, "--profile --region --endpoint-url")
		if !slices.ContainsFunc(ops, func(v value) bool {
			return names("cp mv sync copy copyto put upload rsync upload-file mirror").has(v.text)
		}) {
			return false, nil
		}
		if c.name != "az" && !strings.Contains(ops[len(ops)-1].text, ":") && c.name != "mc" {
			return false, nil
		}
		return true, c.args
	case "gh":
		return first == "gist" && second == "create", c.args
	case "openssl":
		return len(c.args) > 0 && c.args[0].text == "s_client", nil
	case "git":
		return false, nil
	case "ssh":
		var held []value // the other words are about files on the other machine
		for _, v := range operands(c.args, "-i -F -o -l -p -L -R -D -J -S -E -c -m -b") {
			if v.is(secret) {
				held = append(held, v)
			}
		}
		return true, held
	}
	if !senders.has(c.name) {
		return false, nil
	}
	var out []value
	for i := 0; i < len(c.args); i++ {
		t := c.args[i].text
		if c.name == "curl" && t == "-F" {
			continue
		}
		if identity.has(t) {
			i++
			continue
		}
		if n, _, ok := strings.Cut(t, "="); ok && identity.has(n) {
			continue
		}
		if strings.HasPrefix(t, "Authorization: ") && c.args[i].is(secret) {
			continue
		}
		out = append(out, c.args[i])
	}
	return true, out
}

// local reports whether every address among some words is this machine.
func local(args []value) bool {
	found := false
	for _, v := range args {
		t := strings.TrimPrefix(strings.TrimPrefix(v.text, "http://"), "https://")
		host := t
		if i := strings.IndexAny(t, ":/"); i >= 0 {
			host = t[:i]
		}
		if host == "localhost" || host == "127.0.0.1" {
			found = true
		} else if strings.Contains(v.text, "://") {
			return false
		}
	}
	return found
}

// noteFetched records the files that a program fetches.
func (c *call) noteFetched() {
	got := value{from: fetched}
	url := ""
	for _, v := range c.args {
		if strings.Contains(v.text, "/") && !strings.HasPrefix(v.text, "-") || strings.Contains(v.text, "://") {
			url = v.text
		}
	}
	file := base(strings.SplitN(url, "?", 2)[0])
	switch c.name {
	case "curl", "wget", "aria2c", "http", "xh", "fetch", "axel":
		into := "-o --output"
		if c.name == "wget" {
			into = "-O --output-document"
		} else if c.name == "aria2c" {
			into = "-o --out"
		}
		to := valueOf(bundled(c.args, into[1:2]), names(into))
		dir := ""
		if d := valueOf(c.args, "-P --directory-prefix -d --dir --output-dir"); len(d) > 0 && c.name != "curl" {
			dir = d[0].text
		} else if d := valueOf(c.args, "--output-dir"); len(d) > 0 {
			dir = d[0].text
		}
		switch {
		case len(to) > 0 && to[0].text != "-" && to[0].text != "/dev/stdout":
			c.writes(path.Join(dir, to[0].text), got, false)
		case len(to) == 0 && url != "" && (c.name == "wget" || c.name == "aria2c" || c.name == "axel" || option(texts(c.args), "OJ", "--remote-name")):
			c.writes(path.Join(dir, file), got, false)
		}
	case "git", "gh", "hg", "svn":
		ops := operands(c.args, "-b --branch --depth -c -C --config --origin -o -j -R")
		for i, v := range ops {
			if (v.text == "clone" || v.text == "checkout" && c.name == "svn") && i+1 < len(ops) {
				dir := strings.TrimSuffix(base(ops[i+1].text), ".git")
				if i+2 < len(ops) {
					dir = ops[i+2].text
				}
				c.files.fetch(dir)
			}
		}
	case "aws", "gsutil", "gcloud", "rclone", "s3cmd", "mc", "az":
		ops := operands(c.args, "--profile --region --endpoint-url")
		if n := len(ops); n > 2 && strings.Contains(ops[n-2].text, ":") && !strings.Contains(ops[n-1].text, ":") && ops[n-1].text != "-" {
			c.writes(ops[n-1].text, got, false)
			c.writes(path.Join(ops[n-1].text, base(ops[n-2].text)), got, false)
		}
	}
}

// bundled splits bundled short options if the last one takes a value: -sSLo file.
func bundled(args []value, letter string) []value {
	out := make([]value, 0, len(args)+1)
	for _, v := range args {
		t := v.text
		if len(t) > 2 && t[0] == '-' && t[1] != '-' && strings.HasSuffix(t, letter) {
			out = append(out, value{text: t[:len(t)-1]}, value{text: "-" + letter})
			continue
		}
		out = append(out, v)
	}
	return out
}
