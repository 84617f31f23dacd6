package command

import (
	"encoding/base64"
	"encoding/hex"
	"path"
	"slices"
	"strconv"
	"strings"
)

// printsOf returns a program's output: its text, as far as it is known, and its origin.
func printsOf(m *machine, name string, args []value, in value) value {
	from := sourceOf(m, name, args)
	switch {
	case name == "echo":
		return echoed(args)
	case name == "printf":
		return printed(args)
	case name == "tee":
		return in
	case name == "mktemp":
		return value{text: "/tmp/mktemp.X" + strconv.Itoa(m.files.count())}
	case name == "find":
		return value{text: found(texts(args)), from: from}
	case name == "yes":
		return merged(args)
	}
	data := in
	if name != "tr" && name != "rev" || len(args) > 2 {
		for _, v := range operands(args, "") {
			if f, ok := m.files.known(v.text); ok {
				data = join(data, f)
			} else if !namers.has(name) {
				data.from |= m.files.read(v.text).from
			}
			if !namers.has(name) {
				data.from |= v.from & (secret | fetched)
			}
		}
	}
	if !namers.has(name) {
		data.from |= m.files.contents(args).from
	}
	data.from |= from
	return transformed(m, name, args, data)
}

// sourceOf returns the origin of the output of some programs, by their names and subcommands.
func sourceOf(m *machine, name string, args []value) origin {
	t := texts(args)
	ops := operands(args, "-n --namespace -o --output --profile --region")
	sub := func(i int) string {
		if i < len(ops) {
			return ops[i].text
		}
		return ""
	}
	switch {
	case fetchers.has(name) && !names("host scp sftp tftp ftp").has(name):
		return fetched
	case name == "openssl" && len(t) > 0 && t[0] == "s_client", name == "aws" && slices.Contains(t, "s3") && slices.Contains(t, "-"),
		name == "gsutil" && slices.Contains(t, "cat"), name == "gh" && (sub(0) == "api" || sub(0) == "gist"), name == "rclone" && sub(0) == "cat":
		return fetched
	case names("printenv set history").has(name) && len(args) == 0, name == "export" && slices.Contains(t, "-p"):
		return secret
	case name == "gpg" && slices.ContainsFunc(t, func(s string) bool { return strings.HasPrefix(s, "--export-secret") }),
		name == "security" && (strings.HasPrefix(sub(0), "find-") || sub(0) == "dump-keychain"),
		name == "kubectl" && sub(0) == "get" && (strings.HasPrefix(sub(1), "secret")),
		name == "pass" && sub(0) == "show", name == "vault" && (sub(0) == "kv" || sub(0) == "read"), name == "secret-tool" && sub(0) == "lookup",
		name == "git" && sub(0) == "credential" && sub(1) == "fill", name == "aws" && (sub(1) == "get-secret-value" || sub(1) == "export-credentials"),
		name == "gcloud" && (sub(0) == "secrets" || sub(1) == "print-access-token"), name == "gh" && sub(0) == "auth" && sub(1) == "token":
		return secret
	case names("pbpaste xclip xsel wl-paste").has(name):
		return document
	}
	return 0
}

// echoed returns the output of echo.
func echoed(args []value) value {
	i, escape := 0, false
	for i < len(args) && len(args[i].text) > 1 && args[i].text[0] == '-' && strings.Trim(args[i].text[1:], "neE") == "" {
		escape = escape || strings.Contains(args[i].text, "e")
		i++
	}
	v := merged(args[i:])
	if escape {
		v.text = escapes(v.text)
	}
	v.text += "\n"
	return v
}

// printed returns the output of printf. The format repeats while words are left.
func printed(args []value) value {
	if len(args) > 1 && args[0].text == "-v" || len(args) == 0 {
		return value{}
	}
	if args[0].text == "--" && len(args) > 1 {
		args = args[1:]
	}
	format, rest := args[0].text, args[1:]
	out := merged(args)
	var b strings.Builder
	for b.Len() < maxValue {
		used := false
		for i := 0; i < len(format); i++ {
			if format[i] != '%' || i+1 == len(format) {
				b.WriteByte(format[i])
				continue
			}
			for i++; i+1 < len(format) && strings.IndexByte("-+ 0123456789.#", format[i]) >= 0; i++ {
			}
			if format[i] == '%' {
				b.WriteByte('%')
				continue
			}
			if used = true; len(rest) > 0 {
				if format[i] == 'b' {
					b.WriteString(escapes(rest[0].text))
				} else {
					b.WriteString(rest[0].text)
				}
				rest = rest[1:]
			}
		}
		if !used || len(rest) == 0 {
			break
		}
	}
	out.text = clip(escapes(b.String()))
	return out
}

var escape = lazy(`\\(x[0-9a-fA-F]{1,2}|0?[0-7]{1,3}|u[0-9a-fA-F]{1,4}|(?s:.))`)

// escapes replaces backslash sequences as printf, echo -e and $'...' do.
func escapes(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	return escape().ReplaceAllStringFunc(s, func(e string) string {
		digits, radix := e[1:], 8
		switch e[1] {
		case 'x', 'u':
			digits, radix = e[2:], 16
		case 'n':
			return "\n"
		case 't':
			return "\t"
		case 'r':
			return "\r"
		}
		n, err := strconv.ParseUint(digits, radix, 32)
		if err != nil {
			return e[1:]
		}
		return string(rune(n))
	})
}

// found returns one possible name in find's output: the start directory joined with the pattern
// of -name.
func found(args []string) string {
	dir, name := ".", ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		dir = args[0]
	}
	for i, w := range args {
		if (w == "-name" || w == "-iname" || w == "-path" || w == "-wholename") && i+1 < len(args) && (i == 0 || args[i-1] != "!" && args[i-1] != "-not") {
			name = args[i+1]
		}
	}
	if name == "" {
		return dir
	}
	return path.Join(dir, name)
}

// transformed returns the output of a filter for its input.
func transformed(m *machine, name string, args []value, data value) value {
	t := texts(args)
	if decoder(name, t) {
		return decoded(name, t, data)
	}
	switch name {
	case "cat", "head", "tail", "sort", "uniq", "tac", "nl", "less", "more", "pv", "dos2unix", "unix2dos", "grep", "egrep", "rg", "fmt", "fold", "stdbuf", "expand":
		return data
	case "tr":
		return translated(t, data)
	case "sed", "gsed":
		return substituted(m, t, data)
	case "awk", "gawk", "mawk", "nawk":
		lits := value{text: strings.Join(quoted(line(args)), " "), from: data.from}
		if whole(data) && lits.text == "" {
			lits.from |= built
		}
		if lits.text != "" && strings.Contains(line(args), "$") {
			lits.text += " *" // the fields of a line, with unknown content
		}
		return lits
	}
	out := value{from: data.from | partial}
	if whole(data) && names("cut paste perl python3 python ruby openssl rot13 xxd gzip bzip2 xz jq yq envsubst m4 cpp column").has(name) {
		out.from |= built
	}
	return out
}

// whole reports whether the whole text is known.
func whole(v value) bool { return strings.TrimSpace(v.text) != "" && !v.is(partial) }

// translated returns the output of tr for a known text.
func translated(t []string, data value) value {
	if data.text == "" || len(t) == 0 {
		return data
	}
	if len(t) == 2 && strings.HasPrefix(t[0], "-") && strings.Contains(t[0], "d") {
		set := ranges(t[1])
		data.text = strings.Map(func(r rune) rune {
			if strings.ContainsRune(set, r) {
				return -1
			}
			return r
		}, data.text)
		return data
	}
	if len(t) != 2 || strings.HasPrefix(t[0], "-") {
		return data
	}
	from, to := []rune(ranges(t[0])), []rune(ranges(t[1]))
	if len(to) == 0 {
		return data
	}
	data.text = strings.Map(func(r rune) rune {
		if i := slices.Index(from, r); i >= 0 {
			return to[min(i, len(to)-1)]
		}
		return r
	}, data.text)
	return data
}

// ranges expands a range such as a-e.
func ranges(set string) string {
	r := []rune(escapes(strings.NewReplacer("[:upper:]", "A-Z", "[:lower:]", "a-z", "[:digit:]", "0-9", "[:space:]", " \t\n").Replace(set)))
	var out []rune
	for i := 0; i < len(r) && len(out) < 1024; i++ {
		if i+2 < len(r) && r[i+1] == '-' && r[i] <= r[i+2] && r[i+2]-r[i] < 256 {
			for c := r[i]; c <= r[i+2]; c++ {
				out = append(out, c)
			}
			i += 2
			continue
		}
		out = append(out, r[i])
	}
	return string(out)
}

// substituted returns sed's output for one plain s command. For other scripts it keeps the text,
// and may mark it as changed.
func substituted(m *machine, t []string, data value) value {
	script := ""
	for i, w := range t {
		if !strings.HasPrefix(w, "-") || i > 0 && (t[i-1] == "-e" || t[i-1] == "--expression") {
			script = w
			break
		}
	}
	old, with, flags, ok := substitution(script)
	switch {
	case !ok:
		return data
	case data.text == "" || data.text == ".":
		data.text = with
	case old == "^":
		data.text = clip(with + m.replaced(strings.TrimSuffix(data.text, "\n"), "\n", "\n"+with, -1))
	case old == "$":
		data.text = clip(m.replaced(strings.TrimSuffix(data.text, "\n"), "\n", with+"\n", -1) + with)
	case strings.ContainsAny(old, `.*[\+?(|^$`) || strings.ContainsAny(with, `\&`):
		if whole(data) {
			data.from |= built
		}
		data.text = with + "\n" + data.text
	case strings.Contains(flags, "g"):
		data.text = m.replaced(data.text, old, with, -1)
	default:
		data.text = m.replaced(data.text, old, with, 1)
	}
	return data
}

// substitution splits s/old/with/flags.
func substitution(script string) (old, with, flags string, ok bool) {
	if len(script) < 4 || script[0] != 's' || strings.IndexByte(" \t\n\\", script[1]) >= 0 {
		return "", "", "", false
	}
	var part [3]strings.Builder
	n := 0
	for i := 2; i < len(script); i++ {
		c := script[i]
		switch {
		case c == '\\' && i+1 < len(script) && script[i+1] == script[1]:
			i++
			part[n].WriteByte(script[i])
		case c == script[1] && n < 2:
			n++
		default:
			part[n].WriteByte(c)
		}
	}
	return part[0].String(), part[1].String(), part[2].String(), n == 2
}

// decoder reports whether a command turns hidden text into plain text.
func decoder(name string, args []string) bool {
	switch name {
	case "base64", "gbase64", "base32", "base58", "basenc":
		return option(args, "dD", "--decode")
	case "xxd":
		return option(args, "r", "--revert")
	case "openssl":
		return slices.Contains(args, "-d") || slices.Contains(args, "-decrypt")
	case "gpg", "gpg2", "age":
		return option(args, "d", "--decrypt")
	case "gzip", "bzip2", "xz", "zstd", "lz4", "brotli", "lzma":
		return option(args, "d", "--decompress")
	case "uudecode", "rev", "gunzip", "zcat", "bunzip2", "bzcat", "unxz", "xzcat", "zstdcat", "uncompress", "rot13", "steghide":
		return true
	case "unzip":
		return option(args, "p", "")
	}
	return false
}

func decoded(name string, args []string, data value) value {
	text, from := data.text, data.from
	if strings.TrimSpace(text) == "" || data.is(fetched) {
		return value{from: from | unseen}
	}
	out, ok := "", false
	switch name {
	case "base64", "gbase64":
		s := strings.Join(strings.Fields(text), "")
		for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding} {
			if b, err := e.DecodeString(s); err == nil {
				out, ok = string(b), true
				break
			}
		}
	case "xxd":
		b, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
		out, ok = string(b), err == nil
	case "rev":
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		for i, l := range lines {
			r := []rune(l)
			slices.Reverse(r)
			lines[i] = string(r)
		}
		return value{strings.Join(lines, "\n"), from}
	}
	if !ok {
		return value{from: from | unseen}
	}
	return value{clip(out), from | encoded}
}
