package command

import (
	"regexp"
	"strings"
)

// Patterns for lines of Python, Perl, Ruby, Node and PHP that act. These languages are too rare
// in commands to justify a parser for each.
var (
	codeRuns    = lazy(`\b(system|popen|execSync|execFileSync|execFile|spawnSync|spawn|shell_exec|passthru|proc_open|os\.execute|getoutput|getstatusoutput|call|check_call|check_output|Popen|run|capture2e?|capture3|Command|doShellScript|exec[lv]?[pe]*|do shell script)\b\s*(\(|["'\[])|\bos\.spawn\w*\(`)
	codeTicks   = regexps("`([^`]+)`", `%x[\(\[{]([^\)\]}]+)[\)\]}]`, `\bqx[\(\[{/]([^\)\]}/]+)`)
	codeDeletes = lazy(`\b(shutil\.rmtree|rmtree|rm_rf|rm_r|rimraf|remove_tree|remove_dir_all|rmSync|rmdirSync|removeSync|rm|remove|unlink|emptyDirSync|secure_remove)\b\s*(\(|["'])|\b(rm_rf|rm_r|rmtree|remove_tree|remove_entry_secure)\s`)
	codeUnlinks = lazy(`\b(os\.remove|os\.unlink|unlink|unlinkSync|File\.delete|\.unlink|os\.rmdir|delete)\b`)
	codeMany    = lazy(`\b(glob|rglob|listdir|walk|scandir|iterdir|readdir\w*|find|foreach|opendir)\b|\bDir\[|<\*|<[^>]*\*[^>]*>`)
	codeFetches = lazy(`urlopen|urlretrieve|requests\.(get|post)|httpx\.|http\.client|LWP::|HTTP::Tiny|Net::HTTP|open-uri|URI\.open|\bfetch\s*\(|https?['"]?\)?\.(get|request)\s*\(|axios|file_get_contents\s*\(\s*['"]https?:|DownloadString|Invoke-WebRequest|\biwr\b|Net\.WebClient`)
	codeDecodes = lazy(`b64decode|b32decode|decode_base64|unhexlify|fromhex|base64_decode|str_rot13|gzinflate|['"]base64['"]|\batob\s*\(|unpack\s*\(?\s*['"][uHm]|marshal\.loads|zlib\.decompress|codecs\.decode|Base64\.decode64|FromBase64String`)
	codeEvals   = lazy(`(^|[^\w.])(exec|eval|compile|instance_eval|assert|create_function|Function|runInThisContext|execScript|iex|Invoke-Expression|loadstring)\b\s*[\(\{$\s]|\.then\(\s*eval\s*\)|vm\.run\w*\(|pickle\.loads`)
	codeSends   = lazy(`requests\.(post|put|get)|urlopen|httpx\.|http\.client|\.sendall?\s*\(|fetch\s*\(|https?\.(request|get)|axios|Net::HTTP|LWP::|HTTP::Tiny|curl_exec|fsockopen|smtplib|net\.connect|(?i:socket)|\)\.(request|connect)\s*\(`)
	codeSockets = lazy(`(?i)\bsocket|TCPSocket|fsockopen|net['"]\)\.connect|\bnet\.(connect|createConnection|Socket)|TCPClient|/inet/tcp|Socket::INET|stream_socket_client`)
	codeShells  = lazy(`pty\.spawn|dup2|["'` + "`" + `](/bin/|/usr/bin/)?(ba|z|da)?sh(\s+-i)?\b|cmd\.exe|powershell|/bin/(ba)?sh\b`)
	codeWrites  = lazy(`open\s*\([^)]*,\s*(mode\s*=\s*)?['"](a|w|r\+)|write_text|write_bytes|writeFile|appendFile|createWriteStream|File\.(write|open)|file_put_contents|fopen|copyfile|copyFile|shutil\.(copy|move)|os\.rename|['"]>>?`)
	codeForks   = lazy(`while\s*(\(?\s*(True|1|true)\s*\)?)?\s*[:{]?\s*(do)?\s*(os\.|pcntl_)?fork|fork\s*(\(\))?\s+while|loop\s*(\{|do)\s*(Process\.)?fork|for\s*\(;;\)[^;]*(fork|spawn)`)
	codeEnviron = lazy(`os\.environ\b([^\[.g]|$)|process\.env\b([^.\[]|$)|%ENV|\$_ENV|ENV\.to_`)
	codeSQL     = lazy(`\.execute\w*\s*\(|\.query\s*\(|dropDatabase\s*\(|\.drop\s*\(\s*\)|deleteMany\s*\(\s*(\{\s*\})?\s*\)`)
	tclRuns     = lazy(`(?m)\b(?:exec|spawn)\s+([^\]\n;]+)`)
	comments    = lazy(`(?m)^\s*(#|//).*$`)
)

func regexps(patterns ...string) []func() *regexp.Regexp {
	var out []func() *regexp.Regexp
	for _, p := range patterns {
		out = append(out, lazy(p))
	}
	return out
}

// judgeCode analyses a program in another language by its calls that delete, run, fetch or send.
// A word that is only printed is not a call.
func judgeCode(m *machine, lang, src string) {
	if !m.spend(4 * len(src)) {
		return
	}
	src = comments().ReplaceAllString(src, "")
	switch lang {
	case "lua", "luajit":
		src = strings.NewReplacer("[[", `"`, "]]", `"`).Replace(src)
	case "tclsh", "expect":
		for _, f := range tclRuns().FindAllStringSubmatch(src, 16) {
			m.script(f[1], value{})
		}
	}
	judgeCodeRuns(m, lang, src)
	judgeCodeDeletes(m, src)
	bare := unquoted(src)
	if codeEvals().MatchString(bare) {
		switch {
		case codeFetches().MatchString(src):
			m.add("pipe to shell", T4, src)
		case codeDecodes().MatchString(src):
			m.add("encoded command", T3, src)
		}
	}
	if codeSockets().MatchString(src) && codeShells().MatchString(src) && lang != "make" {
		m.add("reverse shell", T3, src)
	}
	if codeForks().MatchString(bare) {
		m.add("fork bomb", T4, src)
	}
	writes := codeWrites().MatchString(src)
	if writes && codeFetches().MatchString(src) && codeRuns().MatchString(masked(src)) {
		m.add("downloaded and run", T3, src)
	}
	sends := codeSends().MatchString(bare)
	if sends && codeEnviron().MatchString(bare) {
		m.add("secrets leave", T3, src)
	}
	for _, q := range quoted(src) {
		if writes && device(q) {
			m.add("write to device", T4, src)
		}
		if writes {
			m.touches(strings.TrimPrefix(q, "> "), value{})
		}
		if sends && (secretPath(q) && q != "/" || strings.HasPrefix(q, "/.ssh")) {
			m.add("secrets leave", T3, src)
		}
	}
	if codeSQL().MatchString(bare) {
		for _, q := range quoted(src) {
			m.judgeSQL(q)
		}
	}
	if strings.Contains(bare, "dropDatabase") {
		m.add("SQL drop", T3, src)
	}
}

// judgeCodeRuns analyses the text that a program hands to a shell: the quoted text after a call
// that runs.
func judgeCodeRuns(m *machine, lang, src string) {
	for _, at := range codeRuns().FindAllStringIndex(masked(src), 32) {
		call := argument(src[at[1]:])
		if last := src[at[1]-1]; last == '"' || last == '\'' || last == '[' {
			call = argument(src[at[1]-1:])
		}
		q := quoted(call)
		if len(q) == 0 {
			continue
		}
		for _, s := range q {
			if strings.ContainsAny(s, " \t") {
				m.script(s, value{})
			}
		}
		list := make([]value, len(q))
		for i, s := range q {
			list[i] = value{text: s}
		}
		if len(q) == 1 {
			m.script(q[0], value{})
		} else {
			m.command(list, value{})
		}
	}
	for i, ticks := range codeTicks {
		if i == 0 && !strings.HasPrefix(lang, "perl") && !strings.HasPrefix(lang, "ruby") && lang != "php" {
			continue // in JavaScript these are strings
		}
		for _, f := range ticks().FindAllStringSubmatch(src, 16) {
			m.script(f[1], value{})
		}
	}
}

// judgeCodeDeletes analyses calls that delete trees, or single files in a loop.
func judgeCodeDeletes(m *machine, src string) {
	for _, at := range codeDeletes().FindAllStringSubmatchIndex(masked(src), 32) {
		word, call := src[at[0]:at[1]], argument(src[at[1]:])
		word = strings.TrimRight(word, " (\"'\t\n")
		if src[at[1]-1] != '(' {
			call = argument(src[at[1]-1:])
		}
		if names("rm remove unlink rmSync rmdirSync").has(word) && !strings.Contains(call, "recursive") {
			continue
		}
		if q := quoted(call); len(q) == 0 || !regrowable(q[0]) {
			m.add("recursive delete", T3, src)
		}
	}
	bare := unquoted(src)
	if codeUnlinks().MatchString(bare) && codeMany().MatchString(bare) || strings.Contains(src, `"unlink", glob`) || strings.Contains(src, `'unlink', glob`) {
		if q := quoted(src); len(q) == 0 || !regrowable(strings.TrimPrefix(q[len(q)-1], "**/")) {
			m.add("recursive delete", T3, src)
		}
	}
}

// argument returns the text from the bracket before s to its end.
func argument(s string) string {
	open, quote := 0, byte(0)
	for i := 0; i < len(s) && i < 4096; i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == '\\' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'' || c == '`':
			quote = c
		case c == '(' || c == '[' || c == '{':
			open++
		case c == ')' || c == ']' || c == '}':
			if open--; open < 0 {
				return s[:i]
			}
		case (c == ';' || c == '\n') && open == 0:
			return s[:i]
		}
	}
	return s[:min(len(s), 4096)]
}

// quoted returns the strings of a program.
func quoted(s string) (out []string) {
	scan(s, func(text string, inside bool) {
		if inside {
			out = append(out, escapes(text))
		}
	})
	return out
}

// masked returns a program with blanks in its strings. Every byte keeps its position.
func masked(s string) string {
	var b strings.Builder
	first := true
	scan(s, func(text string, inside bool) {
		if !first {
			b.WriteByte('"')
		}
		if first = false; inside {
			text = strings.Repeat(" ", len(text))
		}
		b.WriteString(text)
	})
	return b.String()
}

// unquoted returns a program without its strings.
func unquoted(s string) string {
	var b strings.Builder
	scan(s, func(text string, inside bool) {
		if !inside {
			b.WriteString(text)
		} else {
			b.WriteString(`""`)
		}
	})
	return b.String()
}

// scan visits the parts of a program inside and outside of quotes.
func scan(s string, part func(text string, inside bool)) {
	start := 0
	for i := 0; i < len(s); i++ {
		quote := s[i]
		if quote != '"' && quote != '\'' && quote != '`' {
			continue
		}
		end := i + 1
		for end < len(s) && s[end] != quote {
			if s[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(s) {
			break
		}
		part(s[start:i], false)
		part(s[i+1:end], true)
		start, i = end+1, end
	}
	part(s[start:], false)
}
