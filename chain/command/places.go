package command

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

func lazy(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// home matches the start of any user's home directory.
const home = `(~[\w.-]*|/root|/home/[^/]+|/Users/[^/]+)`

// Files by their names. A text holds the name as it was written, with ~ for $HOME.
var (
	secretFiles = lazy(`(^|/)\.env(\.(local|prod|production|staging|dev|development|test|live))?$|(^|/)\.(ssh|aws|gnupg|kube|azure|password-store)(/|$)|(^|/)id_(rsa|dsa|ecdsa|ed25519)$` +
		`|(^|/)\.(netrc|npmrc|pypirc|git-credentials|pgpass|my\.cnf|vault-token|boto|s3cfg)$|(^|/)\.docker/config\.json$|(^|/)\.config/(gcloud|gh|rclone|op|sops|hub|doctl|google-chrome|chromium)(/|$)|(^|/)\.(git|config)/?$` +
		`|^/etc/(passwd|shadow|gshadow|sudoers)|^/etc/(ssl/private|ssh/ssh_host|kubernetes)|\.(pem|key|p12|pfx|kdbx|keystore|jks|ppk|ovpn)$|(_|\.)history$` +
		`|(^|/)(cookies\.sqlite|Cookies(\.db|\.binarycookies)?|Login Data|logins\.json|key4\.db|wallet\.dat)$|/Keychains/|^/proc/[^/]+/environ$|^/(var/)?run/secrets/|(^|/)credentials(\.json|\.ya?ml|\.db)?$` +
		`|(^|/)secrets?\.(ya?ml|json|env|toml|txt)$|service[-_]account[^/]*\.json$|\.tfstate$|^` + home + `/?$|^/$|^/etc/?$|/\.(mozilla|thunderbird)(/|$)`)
	openFiles = lazy(`\.pub$|/known_hosts|/\.ssh/config$|\.env\.(example|sample|template|dist)$|localhost[^/]*\.pem$|cacert|ca-certificates|(^|/)ca[^/]*\.(pem|crt)$`)

	autostart = lazy(`(^|/)\.(bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|cshrc|tcshrc|kshrc|mkshrc|xinitrc|xprofile|xsession|xsessionrc|pam_environment|gitconfig)$` +
		`|\.config/fish/(config\.fish|conf\.d/)|\.ssh/(authorized_keys2?|rc)$|\.config/(autostart|environment\.d)(/|$)|\.config/plasma-workspace/|systemd/(system|user)(/|$)|^/etc/(profile|bash\.bashrc|bashrc|zshrc|zshenv|profile\.d/|cron|anacrontab|rc\.|init\.d/|ld\.so\.|zsh/|environment|xdg/autostart|update-motd\.d/|apt/apt\.conf\.d/|modules-load\.d/|udev/rules\.d/|inittab)` +
		`|^/var/spool/(cron|at)|Library/Launch(Agents|Daemons)(/|$)|Library/LoginItems|(^|/)\.git/(hooks/|config$)|(sitecustomize|usercustomize)\.py$|-packages/[^/]*\.pth$|^/[^/]+\.pth$|(^|/)\.vscode/tasks\.json$` +
		`|(?i:Start Menu/Programs/Startup)|(^|/)\.claude/settings(\.local)?\.json$|^~/\.(cursor/)?mcp\.json$|WindowsPowerShell/.*profile\.ps1$|(^|/)\.config/(git/config|powershell/)|/(startup|ipython_config)\.py$|etc/gitconfig$|(^|/)\.gradle/(init\.gradle|init\.d/)|(^|/)\.(vim|config/nvim)/(plugin|after)/|(^|/)\.husky/|(^|/)\.ssh/environment$|\.local/share/(applications/|dbus-1/services/)|systemd/(system|user)-generators/|/system-sleep/|(^|/)\.config/(openbox/autostart|bspwm/bspwmrc|lxsession/)|(^|/)\.fluxbox/startup$|(^|/)\.jupyter/jupyter_\w+_config\.py$|claude_desktop_config\.json$` +
		`|(^|/)\.(claude/(hooks/|CLAUDE\.md)|codex/(config\.toml|AGENTS\.md)|gemini/(settings\.json|GEMINI\.md)|cursor/(mcp\.json|hooks))|(^|/)\.mcp\.json$|^/etc/(NetworkManager/dispatcher\.d/|network/(if-|interfaces)|dhcp/|ppp/ip-|acpi/|pm/|skel/|ssh/sshrc|ssh/authorized|modprobe\.d/|initramfs-tools/|dracut|grub\.d/|logrotate\.d/|xinetd|inetd\.conf|bash_completion\.d/|bash\.bash_logout|X11/X|X11/xinit|gdm|lightdm|apt/apt\.conf$|dnf/plugins|yum/pluginconf|binfmt\.d/|vim/vimrc|fish/|periodic/|local\.d/|runit/|service/|supervisor|monit|incron|openvpn/.*\.(sh|up))|^/usr/local/etc/rc\.d/|^/Library/StartupItems/|^/Library/(Security|LaunchD)`)
	system = lazy(`pg_hba\.conf$|^/etc/(default/grub|exports|samba/smb\.conf|vsftpd|firewalld/|ufw/|iptables/|nftables\.conf|fail2ban/|crypto-policies|krb5\.conf|ldap|openldap|kubernetes/|containers/(policy|registries)|ssl/openssl\.cnf|ssh/sshd_config\.d|systemd/resolved|subuid|subgid|adduser\.conf|mysql/|my\.cnf|redis/|mongod\.conf|rsyslog|audisp|dnsmasq|bind/|named|chrony|authselect|passwd|shadow|group|gshadow|sudoers|pam\.d/|pam\.conf|ssh/sshd_config|hosts$|hosts\.(allow|deny)|fstab|crypttab|selinux/|resolv\.conf|nsswitch\.conf|securetty|security/|shells$|login\.defs|polkit-1/|sysctl|apt/(sources\.list|trusted\.gpg|preferences)|yum\.repos\.d/|pacman\.(conf|d/)|docker/daemon\.json|pip\.conf|ca-certificates|audit/|apparmor)` +
		`|^/boot/|^/proc/(sysrq-trigger|sys/(kernel|net|fs)/)|^/sys/(firmware/|fs/selinux/)|^/proc/kcore|^/var/log/(auth|secure|wtmp|btmp|lastlog|audit|syslog)|^/usr/s?bin/(sudo|su|login|sshd|passwd)$|^/usr/local/share/ca-certificates/|drivers/etc/hosts$|^/(usr/)?s?bin/(ba|z|da)?sh$|^/(usr/)?lib(64)?/`)
	traces   = lazy(`(^|/)\.[a-z]+_history$|^/var/log/(auth|secure|wtmp|btmp|lastlog|audit)`)
	gitStore = lazy(`(^|/)\.git/(HEAD|refs|packed-refs|objects|logs|ORIG_HEAD)(/|$)`)
)

// Files by what an intruder does with them.
var (
	keyFiles = lazy(`(^|/)id_(rsa|dsa|ecdsa|ed25519)$|(^|/)\.(netrc|git-credentials|pgpass|vault-token|s3cfg|boto)$|\.aws/credentials$|\.config/gh/hosts\.yml$|^/etc/(shadow|gshadow|krb5\.keytab|ssl/private/)|\.kdbx$|/Keychains/` +
		`|(^|/)(Login Data|key4\.db|logins\.json|wallet\.dat)$|^/proc/[^/]+/environ$|/\.gnupg/(private|secring)|\.config/gcloud/(credentials\.db|application_default)|\.azure/(accessTokens|msal_token)|^/etc/kubernetes/(admin\.conf|pki/.*\.key)|ssh_host_\w+_key$|(?i:ntds\.dit)|/var/run/secrets/kubernetes`)
	personal = lazy(`^` + home + `/(Documents|Desktop|Pictures|Photos|Movies|Mail|Dropbox|Nextcloud|OneDrive|Library/(Messages|Mail|Safari|Keychains)|\.thunderbird|[Pp]rivate)/?\*?$`)

	// editorFiles configure programs that can start others.
	editorFiles = lazy(`(^|/)\.(vimrc|gvimrc|exrc|emacs|tmux\.conf|screenrc|psqlrc|sqliterc|irbrc|pryrc|Rprofile|gdbinit|lldbinit|mailcap|forward|procmailrc|inputrc|mongorc\.js|mongoshrc\.js|perldb|pythonrc(\.py)?|envrc|hgrc|npmrc|Xresources|Xdefaults|wezterm\.lua|xbindkeysrc|sxhkdrc|muttrc|mutt/muttrc)$` +
		`|(^|/)\.config/(nvim|i3|sway|hypr|bspwm|openbox|awesome|kitty|alacritty|tmux|direnv|mpv|ranger|qtile|lxsession|sxhkd|polybar|waybar|herbstluftwm)/|(^|/)\.(vim|emacs\.d|fluxbox|i3|doom\.d|weechat|irssi)/`)

	// shadowing are places where a program hides the one that its user means.
	shadowing = lazy(`^(~/\.local/bin|~/bin|~/\.bin|/usr/local/s?bin|/opt/homebrew/bin|/usr/s?bin|/s?bin)/(sudo|su|ssh|git|ls|ps|cat|passwd|login|bash|sh|sshd|systemctl|grep|sed|awk|netstat|ss|top|find|id|who|last|w|rm|cp|mv|cd|man|less|vim?)$`)

	bareAddress = lazy(`^\d{1,3}(\.\d{1,3}){3}$`)
)

// keyFile reports whether a file holds keys and nothing else, of a user or of the system.
func keyFile(p string) bool {
	return len(p) < 4096 && p != "/proc/self/environ" && keyFiles().MatchString(p) && !openFiles().MatchString(p)
}

// near reports whether a word names a host of the own network.
func near(args []value) bool {
	return slices.ContainsFunc(args, func(v value) bool {
		host := hostOf(v.text)
		if host == "" {
			host, _, _ = strings.Cut(v.text, ":")
		}
		return private().MatchString(host)
	})
}

// homeCaches are directories of a home that programs fill again by themselves.
var homeCaches = lazy(`^~/(\.cache|Library/Caches|Library/Developer/Xcode/DerivedData|Library/Developer/CoreSimulator/Caches|\.npm/_(cacache|npx|logs)|\.gradle/caches|\.m2/repository|\.cargo/registry|\.local/share/Trash|\.terraform\.d/plugin-cache)(/|$)`)

// secretHints are parts of the names of secrets. They exclude most words quickly.
const secretHints = ".env .ssh .aws .gnupg .kube .azure password-store id_ netrc npmrc pypirc git-cred pgpass my.cnf vault boto s3cfg .docker .config .git /etc .pem .key .p12 .pfx kdbx keystore .jks .ppk .ovpn " +
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

// base returns a program's name without its directory and its variant: /bin/rm, grm and rm.exe are rm.
func base(word string) string {
	name := path.Base(strings.TrimSpace(word))
	if len(name) > 2 && name[0] == 'g' && gnuTools.has(name[1:]) {
		name = name[1:] // of GNU, beside the system's own
	}
	for _, variant := range []string{".exe", ".traditional", ".openbsd"} {
		name = strings.TrimSuffix(name, variant)
	}
	return name
}

// top reports whether a path is the top of a system, of a home, or of the current directory.
func top(w string) bool {
	clean := path.Clean(strings.TrimSuffix(w, "*"))
	if w == "" {
		return false // unknown, so not t4
	}
	return w == "*" || names("/ .. ~ . .ai .git ./.git /etc /usr /var /home /root /boot /bin /sbin /lib /lib64 /opt /dev /Users /System /Library /usr/bin /usr/lib /usr/sbin C: C:/ C:/Windows C:/Users").has(clean)
}

// regrowable reports whether a path is below the current directory and made again by the next
// build, or a temporary file of the text itself.
func regrowable(w string) bool {
	if strings.HasPrefix(w, scratchName) || homeCaches().MatchString(w) {
		return !strings.Contains(w, "..")
	}
	if w == "" || path.IsAbs(w) || w[0] == '~' || strings.HasPrefix(path.Clean(w), "..") {
		return false
	}
	last := path.Base(strings.TrimSuffix(strings.TrimSuffix(w, "*"), "/"))
	if regrown.has(last) {
		return true
	}
	for dir := path.Dir(path.Clean(w)); dir != "."; dir = path.Dir(dir) {
		if names("tmp temp node_modules target build dist coverage __pycache__ .next .cache .venv venv").has(path.Base(dir)) {
			return true
		}
	}
	ext := path.Ext(last)
	return len(ext) > 1 && ext != last && regrown.has("*"+ext)
}

// windowsProgram reports whether a name is one of Windows or of PowerShell: reg, Remove-Item.
func windowsProgram(name string) bool {
	verb, noun, ok := strings.Cut(strings.TrimSuffix(name, ".exe"), "-")
	return !ok && windows.has(verb) || ok && verb != "" && noun != "" && verb[0] >= 'A' && verb[0] <= 'Z' && noun[0] >= 'A' && noun[0] <= 'Z'
}

// device reports whether a path is a device that not every program may write to at any time.
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
	return !names("null zero full stdout stderr stdin tty random urandom ptmx console").has(rest)
}

// hostOf returns the host of an address such as https://user@host:80/path or git@host:path.
func hostOf(w string) string {
	_, rest, ok := strings.Cut(w, "://")
	if !ok {
		user, after, at := strings.Cut(w, "@")
		if !at || strings.ContainsAny(user, "/=. ") || !strings.Contains(after, ":") {
			return ""
		}
		host, _, _ := strings.Cut(after, ":")
		return host
	}
	if i := strings.IndexAny(rest, "/?#, "); i >= 0 {
		rest = rest[:i]
	}
	rest = rest[strings.LastIndexByte(rest, '@')+1:]
	if strings.HasPrefix(rest, "[") {
		host, _, _ := strings.Cut(rest[1:], "]")
		return host
	}
	host, _, _ := strings.Cut(rest, ":")
	return strings.ToLower(host)
}

var private = lazy(`^(localhost|127\.|10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|::1$|0\.0\.0\.0$)|\.(localhost|local|internal|intern|corp|lan|home|test|svc)$`)

// foreign reports whether a word is an address of a host that is neither near nor one of those
// that package managers and developers use anyway.
func foreign(w string) bool {
	host := hostOf(w)
	if host == "" || private().MatchString(host) || !strings.Contains(host, ".") {
		return false
	}
	for known := host; known != ""; _, known, _ = strings.Cut(known, ".") {
		if knownHosts.has(known) {
			return false
		}
	}
	return true
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
		if host == "localhost" || host == "127.0.0.1" || strings.HasSuffix(host, "@127.0.0.1") || strings.HasSuffix(host, "@localhost") {
			found = true
		} else if strings.Contains(v.text, "://") {
			return false
		}
	}
	return found
}
