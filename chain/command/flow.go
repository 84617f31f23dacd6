package command

import (
	"path"
	"slices"
	"strings"
)

// writes records that a file gets a value, and checks which file it is.
func (m *machine) writes(p string, v value, more bool) {
	if proc := m.open.reader(p); proc != nil {
		m.stmts(proc.Stmts, v)
		return
	}
	m.touches(p, v)
	if old, ok := m.files.known(p); ok && more {
		v = join(old, v)
	}
	if at := m.files.place(p); at != "" && !strings.HasPrefix(at, "/dev/") {
		m.files.put(p, v)
	}
}

// touches checks whether a written file starts programs or belongs to the system's configuration.
func (m *machine) touches(p string, v value) {
	p = m.files.spelled(p)
	if p == "" || len(p) > 4096 || m.remote && strings.HasSuffix(p, "authorized_keys") { // ssh-copy-id by hand
		return
	}
	if p == "/etc/hosts" && (strings.HasPrefix(v.text, "127.") || strings.HasPrefix(v.text, "::1")) {
		return // a name for this machine
	}
	m.happens(">", []value{{text: p}}, v, "> "+p)
}

// noteChanged checks the files that sed -i and perl -i change.
func (c *call) noteChanged() {
	if c.is(editsFiles) && option(texts(c.args), "i", "--in-place") {
		for _, v := range operands(c.args, "-f --file -e") {
			c.touches(v.text, value{})
		}
	}
}

// noteFiles records the files that a program writes through its own options and operands.
func (c *call) noteFiles() {
	c.noteChanged()
	c.noteFetched()
	switch {
	case c.is(writesFiles):
		for _, v := range operands(c.args, "-s -Value -Encoding") {
			c.writes(v.text, c.in, option(texts(c.args), "a", "--append"))
		}
		if c.name == "truncate" {
			c.happens(">emptied", operands(c.args, "-s"), value{}, c.all)
		}
	case c.is(archives):
		c.noteArchive()
	case c.is(repacks):
		c.notePacked()
	}
	switch c.name {
	case "cp", "mv", "install", "ln", "rsync", "scp", "Copy-Item", "Move-Item", "copy", "xcopy", "move":
		c.noteCopies()
	case "dd":
		for _, v := range c.args {
			if to, ok := strings.CutPrefix(v.text, "of="); ok && !device(to) {
				c.writes(to, c.in, false)
			}
		}
	case "cd", "pushd":
		if len(c.args) > 0 && c.args[0].text != "" {
			c.files.enter(c.files.place(c.args[0].text))
		}
	case "read", "mapfile", "readarray":
		valued := names("-p -d -n -t -u")
		if c.name != "read" {
			valued = "-d -n -u -O -s -C -c"
		}
		for _, v := range operands(c.args, valued) {
			c.vars[v.text] = []value{{strings.TrimSpace(c.in.text), c.in.from}}
		}
	case "printf":
		if len(c.args) > 2 && c.args[0].text == "-v" {
			c.vars[c.args[1].text] = []value{c.call("printf", c.args[2:], c.in).said()}
		}
	case "set":
		if i := slices.Index(texts(c.args), "--"); i >= 0 {
			c.vars.arguments(c.args[i+1:])
		}
	case "alias":
		for _, v := range c.args {
			if n, text, ok := strings.Cut(v.text, "="); ok && n != "" {
				c.vars["alias "+n] = []value{{text, v.from}}
			}
		}
	case "scrot", "screencapture", "grim", "maim", "gnome-screenshot", "fswebcam", "imagesnap", "arecord", "import":
		for _, v := range append(operands(c.args, "-d -a -q -D -window"), valueOf(c.args, "-f --file")...) {
			c.writes(v.text, value{from: secret}, false)
		}
	case "unset":
		for _, v := range c.args {
			delete(c.vars, v.text)
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
		if v.text == "/dev/null" {
			c.happens(">emptied", []value{{text: to}}, value{}, c.all)
		}
		if (c.name == "scp" || c.name == "rsync") && strings.Contains(v.text, ":") {
			content = value{from: fetched}
			c.writes(path.Join(to, base(v.text[strings.IndexByte(v.text, ':')+1:])), content, false)
		}
		if c.name == "mv" {
			c.touches(v.text, value{})
			c.files.remove(v.text)
		}
		if to == "." || strings.HasSuffix(to, "/") {
			c.touches(to, content)
			c.writes(path.Join(to, base(v.text)), content, false)
			continue
		}
		if !strings.Contains(to, ":") || c.name != "scp" && c.name != "rsync" {
			c.writes(to, content, false)
			if content.from != partial && !device(to) {
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
	switch {
	case c.name == "unzip", strings.HasPrefix(flags, "x"), strings.Contains(flags, "x") && !strings.Contains(flags, "="), slices.Contains(texts(c.args), "--extract"):
		from := c.in
		for _, f := range files {
			from = join(from, c.files.read(f.text))
		}
		if from.is(fetched) {
			dir := "."
			if d := valueOf(c.args, "-C -d --directory"); len(d) > 0 {
				dir = d[0].text
			}
			c.files.fetch(dir, false)
		}
	case c.is(packs) || c.files.contents(c.args).is(secret):
		for _, f := range files {
			if f.text != "-" && !secretPath(f.text) {
				c.writes(f.text, value{from: packed | c.files.contents(c.args).from&secret}, false)
			}
		}
	}
}

// notePacked records a secret that is written under another name.
func (c *call) notePacked() {
	v := join(c.files.contents(c.args), c.in)
	if c.name == "zip" {
		v.from |= packed
	}
	if !v.is(secret | packed) {
		return
	}
	to := valueOf(c.args, "-o -out --output")
	if ops := operands(c.args, "-P"); c.name == "zip" && len(ops) > 0 {
		to = ops[:1]
	}
	for _, f := range to {
		c.writes(f.text, value{from: v.from & (secret | packed)}, false)
	}
}

// outgoing returns the words that may hold or name what a program sends to another machine.
func (c *call) outgoing() []value {
	if local(c.args) {
		return nil
	}
	switch c.name {
	case "scp", "rsync":
		ops := operands(c.args, identity)
		return ops[:max(len(ops)-1, 0)]
	case "ssh": // the other words are about files on the other machine
		return slices.DeleteFunc(operands(c.args, "-i -F -o -l -p -L -R -D -J -S -E -c -m -b"), func(v value) bool { return !v.is(secret) })
	}
	var out []value
	for i := 0; i < len(c.args); i++ {
		t := c.args[i].text
		n, _, _ := strings.Cut(t, "=")
		switch {
		case identity.has(t):
			i++
		case identity.has(n), strings.HasPrefix(t, "Authorization: ") && c.args[i].is(secret):
		default:
			out = append(out, c.args[i])
		}
	}
	if names("ftp sftp lftp tftp smbclient").has(c.name) {
		for _, f := range strings.FieldsFunc(line(c.args)+" "+c.in.text, func(r rune) bool { return strings.ContainsRune(" \t\n;\"'", r) }) {
			out = append(out, value{text: f})
		}
	}
	return out
}

// remoteGet matches the commands of file transfer clients that bring a file.
var remoteGet = lazy(`\b(?:m?get|reget)\s+([^\s;"']+)(?:[ \t]+([^\s;"'-][^\s;"']*))?`)

// noteFetched records the files that a program fetches.
func (c *call) noteFetched() {
	got := value{from: fetched}
	url := ""
	for _, v := range c.args {
		if strings.Contains(v.text, "/") && !strings.HasPrefix(v.text, "-") || strings.Contains(v.text, "://") {
			url = v.text
		}
	}
	for _, o := range outputTable {
		if !o.programs.has(c.name) {
			continue
		}
		to, dir := valueOf(bundled(c.args, string(o.options[:2])), o.options), ""
		if d := valueOf(c.args, o.dir); len(d) > 0 {
			dir = d[0].text
		}
		switch {
		case len(to) > 0 && to[0].text != "-" && to[0].text != "/dev/stdout":
			c.writes(path.Join(dir, to[0].text), got, false)
		case len(to) == 0 && url != "" && (names("wget aria2c axel fetch wget2 lwp-download").has(c.name) || option(texts(c.args), "OJ", "--remote-name")):
			c.writes(path.Join(dir, base(strings.SplitN(url, "?", 2)[0])), got, false)
		}
	}
	if c.name == "gh" && c.find([]string{"download"}, 0) > 0 {
		for _, v := range valueOf(c.args, "-p --pattern -O --output") {
			c.writes(v.text, got, false)
		}
	}
	if c.name == "az" && c.find([]string{"download"}, 0) > 0 {
		for _, v := range valueOf(c.args, "-f --file") {
			c.writes(v.text, got, false)
		}
	}
	if names("smbclient ftp sftp lftp tftp").has(c.name) {
		for _, f := range remoteGet().FindAllStringSubmatch(line(c.args)+"\n"+c.in.text, 16) {
			c.writes(base(f[1]), got, false)
			if f[2] != "" {
				c.writes(f[2], got, false)
			}
		}
	}
	switch c.name {
	case "git", "gh", "hg", "svn":
		ops := operands(c.args, "-b --branch --depth -c -C --config --origin -o -j -R")
		for i, v := range ops {
			if (v.text == "clone" || c.name == "svn" && names("checkout co export").has(v.text)) && i+1 < len(ops) {
				dir := strings.TrimSuffix(base(ops[i+1].text), ".git")
				if i+2 < len(ops) {
					dir = ops[i+2].text
				}
				c.files.fetch(dir, foreign(ops[i+1].text))
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
