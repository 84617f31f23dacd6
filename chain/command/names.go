package command

import (
	"strings"
	"sync"
)

// names is a list of words between spaces. It is data, and costs nothing at the start.
type names string

func (n names) has(s string) bool {
	if s == "" || strings.ContainsAny(s, " \t\n") {
		return false
	}
	for at := 0; ; at++ {
		i := strings.Index(string(n[at:]), s)
		if i < 0 {
			return false
		}
		at += i
		end := at + len(s)
		if (at == 0 || n[at-1] == ' ') && (end == len(n) || n[end] == ' ') {
			return true
		}
	}
}

const (
	shells names = "sh bash zsh dash ksh ash fish mksh csh tcsh rbash"

	// interpreters run their input as a program when no file is named.
	interpreters names = "python python2 python3 pypy3 perl ruby node nodejs php lua luajit deno bun pwsh powershell osascript tclsh expect R Rscript"

	// fetchers print, or write, data from the network.
	fetchers names = "curl wget fetch aria2c http https xh lynx w3m links nc ncat netcat socat ftp lftp tftp sftp scp GET axel telnet dig nslookup host s_client"

	// senders send data to another machine.
	senders names = "curl wget http https xh nc ncat netcat socat ftp lftp tftp sftp scp rsync ssh telnet mail mailx mutt sendmail swaks dig nslookup host ping rclone croc wormhole"

	// namers use the name of a file, and print nothing of its content.
	namers names = "echo printf ls stat chmod chown chgrp mkdir touch test [ wc file du rm ssh-add ssh-keygen ssh-keyscan sha256sum sha1sum md5sum shasum ssh-agent cd pushd docker export unset source . ln true : gh vercel heroku fly kubectl"

	sqlClients names = "psql mysql mariadb sqlite3 sqlcmd bq duckdb clickhouse-client clickhouse cockroach snowsql mycli pgcli usql mongosh mongo cqlsh wrangler"

	// documents are the endings of files that rarely hold programs.
	documents names = ".md .markdown .txt .rst .adoc .html .htm .log .csv .pdf .doc .docx .png .jpg .jpeg .gif .webp .svg .ico .mp3 .mp4 .wav"

	// tame are the programs that other programs usually start.
	tame names = "cat less more most bat delta vim vi nvim nano emacs emacsclient code true false : echo dot git ssh gh gpg gpg2 gzip pigz zstd zstdmt xz pixz bzip2 pbzip2 lbzip2 lz4 lzop brotli make npm pnpm yarn go cargo date ls pwd sleep cloudflared aws gcloud nc ncat connect corkscrew test printf sort wc column fmt jq gofmt prettier black osxkeychain store cache manager pytest python python3 head tail diff difft meld"

	// regrown are names that the next build makes again.
	regrown names = "build dist out target node_modules bower_components coverage __pycache__ htmlcov .next .nuxt .turbo .parcel-cache .cache .pytest_cache .mypy_cache .ruff_cache .tox .nox .eggs .gradle .venv venv .nyc_output .svelte-kit .angular .terraform .DS_Store tmp temp .tmp _build public site obj bin debug release Debug Release DerivedData Pods *.pyc *.pyo *.o *.obj *.class *.tmp *.temp *.bak *.orig *.rej *.swp *~ *.egg-info .coverage cmake-build-debug package-lock.json yarn.lock pnpm-lock.yaml"
)

// A wrapped program runs the rest of its words as a command.
type wrapped struct {
	name     string
	valued   string // short options that take a value of their own
	operands int    // words of its own before the command
}

// wrapper returns the wrapper of a name.
func wrapper(name string) (wrapped, bool) {
	w, ok := wrapperTable()[name]
	return w, ok
}

var wrapperTable = sync.OnceValue(func() map[string]wrapped {
	out := map[string]wrapped{}
	for _, row := range strings.Split(`sudo ugpCThDRU|doas uC|env uCS|nohup|nice n|ionice cnp|time fo|timeout ks 1|gtimeout ks 1|xargs IEdnPLsa|gxargs IEdnPLsa
exec a|command|builtin|stdbuf ioe|setsid|busybox|toybox|watch n|chroot - 1|unshare|nsenter tSG|strace eopEs|ltrace eo|parallel j|caffeinate tw
entr|flock wE 1|script TBIOo|su - 9|runuser - 9|ssh bcDEeFIiJlLmOoPpQRSWw 1|chrt - 1|taskset - 1|systemd-run puEd|pkexec u|gosu - 1|su-exec - 1|setpriv|firejail
proxychains f|proxychains4 f|torsocks|torify|chronic|unbuffer|rlwrap|xvfb-run sne|dbus-run-session|start-stop-daemon|setarch - 1|linux64|prlimit
uv|poetry C|pipenv|bundle|conda np|hyperfine wrmMnN|doppler|dotenv ef|op|faketime - 1|cgexec g|numactl CmNp|perf eo|valgrind|mosh p 1|autossh MopLRD 1|eatmydata|fakeroot|sshpass pfd
run0|capsh|exec-path|winpty|cmd|wsl due|aws-vault - 2|chpst u|runcon turl|tsocks|dash-run`, "\n") {
		for _, entry := range strings.Split(row, "|") {
			f := strings.Fields(entry)
			w := wrapped{name: f[0]}
			if len(f) > 1 && f[1] != "-" {
				w.valued = f[1]
			}
			if len(f) > 2 {
				w.operands = int(f[2][0] - '0')
			}
			out[w.name] = w
		}
	}
	return out
})

// subcommands are the words that some wrappers need before the command: uv run, poetry run.
const subcommands names = "run exec r run0 stat record tool"

// unwrap drops a wrapper's own options, assignments and operands.
func (w wrapped) unwrap(args []value) []value {
	skip, first := w.operands, true
	for len(args) > 0 {
		t := args[0].text
		switch {
		case t == "--":
			args = args[1:]
			if skip == 0 {
				return args
			}
		case len(t) > 1 && t[0] == '-':
			args = args[1:]
			if len(t) == 2 && strings.ContainsRune(w.valued, rune(t[1])) && len(args) > 0 {
				args = args[1:]
			}
		case w.assigns() && strings.Contains(t, "="):
			args = args[1:]
		case skip > 0:
			skip--
			args = args[1:]
		case first && w.needsSub():
			if first = false; !subcommands.has(t) {
				return nil
			}
			args = args[1:]
		default:
			return args
		}
	}
	return nil
}

// assigns reports whether a wrapper accepts NAME=value before the command.
func (w wrapped) assigns() bool { return names("env sudo doas").has(w.name) }

// needsSub reports whether a program is a wrapper only with a word such as run.
func (w wrapped) needsSub() bool {
	return names("uv poetry pipenv bundle conda doppler op perf aws-vault").has(w.name) && w.name != "aws-vault"
}
