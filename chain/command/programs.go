package command

// A role is what a program does with data.
type role uint32

// The roles, in the order of roleNames.
const (
	runsShell     role = 1 << iota // runs its input as shell commands
	runsCode                       // runs its input in another language
	fetches                        // brings data from the network
	sends                          // sends its input, or files, to another machine
	connects                       // connects its input and output with the network
	printsSecrets                  // prints secrets
	passes                         // prints its input, or files, as they are
	says                           // prints its words
	namesFiles                     // uses the names of files, and prints nothing of their content
	decodes                        // makes hidden text readable
	changes                        // changes the text that it passes on
	makesScratch                   // makes a temporary file
	runsSQL                        // runs statements of a database
	startsOthers                   // starts other programs, whose options may stand among its own
	writesFiles                    // writes its operands
	editsFiles                     // changes its operands with -i
	archives                       // packs and unpacks
	repacks                        // writes what it reads in another form
	editsText                      // runs commands of its own language, with a shell in it
	lists                          // prints the names of all files
	mails                          // sends what it reads to a person
	printsClip                     // prints what a person copied
	builds                         // runs the recipes in files
)

var roleNames = []string{"shell", "code", "fetch", "send", "socket", "secrets", "pass", "say", "name", "decode", "change", "scratch", "sql", "starts", "writes", "inplace", "archive", "packs", "edits", "lists", "mails", "clip", "build"}

// roleTable says which programs have which roles, in the rows of rules.go.
var roleTable = []struct {
	role role
	rows string
}{
	{fetches, `curl,wget,fetch,aria2c,http,https,xh,lynx,w3m,links,nc,ncat,netcat,socat,lftp,axel,GET,telnet,dig,nslookup,iwr,irm,Invoke-WebRequest,Invoke-RestMethod
openssl s_client
aws s3 -
aws,gsutil,rclone cat
gh ^api
gh ^gist`},
	{sends, `curl,wget,http,https,xh,nc,ncat,netcat,socat,ftp,lftp,tftp,sftp,ssh,telnet,mail,mailx,mutt,sendmail,swaks,dig,nslookup,host,ping,croc,wormhole
scp,rsync @lastremote
openssl s_client
aws,gsutil,gcloud,rclone,s3cmd,b2 cp,mv,sync,copy,copyto,put,upload,rsync,upload-file @lastremote
aws,gsutil,gcloud,rclone,s3cmd,b2 cp,mv,sync,copy,copyto,put,upload,rsync,upload-file *:*
mc cp,mv,mirror
az upload
gh ^gist create`},
	{mails, `mail,mailx,mutt,sendmail,swaks,dig,nslookup,host`},
	{connects, `nc,ncat,netcat,socat,telnet
openssl s_client`},
	{printsSecrets, `printenv !PATH,HOME,USER,SHELL,PWD,LANG,TERM,EDITOR
set,history,export @none
export -p
env @none
gpg --export-secret*
security find-*,dump-keychain
kubectl,oc,k get secret,secrets,secret/*,secrets/*
kubectl config view --raw
pass show
vault kv,read
secret-tool lookup
git ^credential fill
git ^bundle create
aws get-secret-value,export-credentials,get-session-token
aws get-parameter,get-parameters-by-path --with-decryption
gcloud secrets
gcloud print-access-token
az get-access-token
az keyvault secret
gh ^auth token
op read,item
bw get,list
doppler secrets
heroku config,config:get
terraform,tofu state pull
terraform,tofu output
getent shadow
pg_dump,pg_dumpall,mysqldump,mariadb-dump,mongodump
redis-cli --rdb
docker,podman inspect`},
	{passes, `cat,head,tail,sort,uniq,tac,nl,less,more,pv,dos2unix,unix2dos,grep,egrep,rg,fmt,fold,stdbuf,expand,tee`},
	{says, `echo,printf,yes,print,Write-Output`},
	{namesFiles, `echo,printf,ls,stat,chmod,chown,chgrp,mkdir,touch,test,[,wc,file,du,rm,ssh-add,ssh-keygen,ssh-keyscan,sha256sum,sha1sum,md5sum,shasum,ssh-agent,cd,pushd,docker,export,unset,source,.,ln,true,:,gh,vercel,heroku,fly,kubectl`},
	{decodes, `base64,gbase64,base32,base58,basenc -d,-D,--decode
xxd -r,--revert
openssl -d,-decrypt
gpg,gpg2,age -d,--decrypt
gzip,bzip2,xz,zstd,lz4,brotli,lzma -d,--decompress
uudecode,rev,gunzip,zcat,bunzip2,bzcat,unxz,xzcat,zstdcat,uncompress,rot13,steghide
unzip -p`},
	{changes, `cut,paste,tr,sed,gsed,awk,gawk,mawk,nawk,perl,python3,python,ruby,openssl,xxd,gzip,bzip2,xz,jq,yq,envsubst,m4,cpp,column,strings`},
	{makesScratch, `mktemp`},
	{runsSQL, `psql,mysql,mariadb,sqlite3,sqlcmd,bq,duckdb,clickhouse-client,clickhouse,cockroach,snowsql,mycli,pgcli,usql,mongosh,mongo,cqlsh,wrangler`},
	{startsOthers, `find,docker,podman,nerdctl`},
	{writesFiles, `tee,sponge,truncate,ed,ex,chattr,Add-Content,Set-Content,Out-File,New-Item`},
	{editsFiles, `sed,gsed,perl,ruby`},
	{archives, `tar,bsdtar,gtar,unzip,7z,7za`},
	{repacks, `zip,gpg,openssl,gzip,base64,age`},
	{editsText, `vim,vi,nvim,ex,view,gdb,lldb,emacs,less,more,ftp,ed`},
	{lists, `ls !@word
git ^ls-files !-d,-o,--others,-i,*.*,*/*`},
	{printsClip, `pbpaste,xclip,xsel,wl-paste,Get-Clipboard`},
	{builds, `make,gmake`},
}

// Lists of words.
const (
	shells names = "sh bash zsh dash ksh ash fish mksh csh tcsh rbash"

	// interpreters run their input as a program when no file is named.
	interpreters names = "python python2 python3 pypy3 perl ruby node nodejs php lua luajit deno bun pwsh powershell osascript tclsh expect R Rscript"

	// documents are the endings of files that rarely hold programs.
	documents names = ".md .markdown .txt .rst .adoc .html .htm .log .csv .pdf .doc .docx .png .jpg .jpeg .gif .webp .svg .ico .mp3 .mp4 .wav"

	// tame are the programs that other programs usually start.
	tame names = "cat less more most bat delta vim vi nvim nano emacs emacsclient code true false : echo dot git ssh gh gpg gpg2 gzip pigz zstd zstdmt xz pixz bzip2 pbzip2 lbzip2 lz4 lzop brotli make npm pnpm yarn go cargo date ls pwd sleep cloudflared aws gcloud nc ncat connect corkscrew test printf sort wc column fmt jq gofmt prettier black osxkeychain store cache manager pytest python python3 head tail diff difft meld sed"

	// regrown are names that the next build makes again.
	regrown names = "build dist out target node_modules bower_components coverage __pycache__ htmlcov .next .nuxt .turbo .parcel-cache .cache .pytest_cache .mypy_cache .ruff_cache .tox .nox .eggs .gradle .venv venv .nyc_output .svelte-kit .angular .terraform .DS_Store tmp temp .tmp _build public site obj bin debug release Debug Release DerivedData Pods *.pyc *.pyo *.o *.obj *.class *.tmp *.temp *.bak *.orig *.rej *.swp *~ *.egg-info .coverage cmake-build-debug package-lock.json yarn.lock pnpm-lock.yaml"

	// trunk are the branches that others build on.
	trunk names = "main master trunk develop development production prod staging stable live release HEAD"

	// dryRuns are options that make a rehearsal of a command.
	dryRuns names = "--dry-run --dryrun --dry_run --dry-run=client --dry-run=server --dry-run=true --help --version --what-if --noop --just-print --check --simulate --pretend -WhatIf"

	// globalOptions have a value and stand before a subcommand.
	globalOptions names = "-C -c --git-dir --work-tree --config-env -R --repo"

	// knownHosts, with all hosts below them, are where packages and source usually come from.
	knownHosts names = "github.com githubusercontent.com ghcr.io gitlab.com bitbucket.org codeberg.org sr.ht gitea.com npmjs.org npmjs.com yarnpkg.com jsr.io pypi.org pythonhosted.org pytorch.org anaconda.org nvidia.com crates.io rust-lang.org golang.org go.dev goproxy.io rubygems.org packagist.org maven.org maven.apache.org gradle.org google.com googleapis.com gcr.io pkg.dev nuget.org docker.io docker.com quay.io mcr.microsoft.com microsoft.com public.ecr.aws amazonaws.com debian.org ubuntu.com launchpad.net fedoraproject.org archlinux.org alpinelinux.org kernel.org nodejs.org deb.nodesource.com nixos.org brew.sh hashicorp.com k8s.io kubernetes.io npmmirror.com hex.pm cpan.org r-project.org julialang.org huggingface.co savannah.gnu.org gnu.org apache.org eclipse.org mozilla.org jsdelivr.net unpkg.com"

	// dropHosts keep what anybody sends them.
	dropHosts names = "transfer.sh webhook.site requestbin.com requestbin.net pipedream.net pastebin.com paste.ee hastebin.com 0x0.st file.io ix.io termbin.com dpaste.com dpaste.org bashupload.com gofile.io anonfiles.com catbox.moe oast.fun oast.pro oast.live interact.sh burpcollaborator.net ngrok.io ngrok.app ngrok-free.app trycloudflare.com temp.sh tmpfiles.org beeceptor.com hookbin.com ptsv2.com requestcatcher.com"

	// identity are options whose values identify the user, or name the destination of an answer.
	identity names = "-i -E -o -O --key --cert --cacert --capath --netrc-file --identity --private-key --output --output-document --ca-certificate --certificate -c --cookie-jar -K --config -e --rsh -S --proto --exclude --exclude-from --include"

	// runners are variables whose value is a command.
	runners names = "PAGER GIT_PAGER MANPAGER EDITOR VISUAL SUDO_EDITOR GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_SSH_COMMAND GIT_SSH GIT_EXTERNAL_DIFF GIT_ASKPASS SSH_ASKPASS GIT_PROXY_COMMAND LESSOPEN PROMPT_COMMAND RSYNC_RSH MANOPT"

	// settings of git whose value is a command, beside those of gitRuns in given.go.
	settings names = "core.pager core.editor core.sshcommand core.fsmonitor core.askpass core.gitproxy diff.external sequence.editor gpg.program credential.helper"

	// windows are programs whose words hold paths with backslashes.
	windows names = "reg schtasks cmd powershell pwsh del erase rd rmdir copy xcopy icacls attrib sc wmic"
)

// givenTable are the options of programs whose value is a shell command. Where hardly anybody
// writes one, a command is a finding of its own.
var givenTable = []struct {
	programs, options names
	strange           bool
}{
	{"sg vagrant npm npx nix-shell gcloud nix", "-c --command --run --call", false},
	{"ansible", "-a --args", false},
	{"expect", "-c", false},
	{"rsync", "-e --rsh --rsync-path", true},
	{"tcpdump", "-z", true},
	{"man", "-P --pager", true},
	{"tar gtar bsdtar", "--to-command -I --use-compress-program -F --info-script --new-volume-script --rsh-command --checkpoint-action", true},
	{"zip", "-TT --unzip-command", true},
	{"split", "--filter", false},
	{"sort", "--compress-program", true},
	{"inotifywait nodemon watchexec entr", "--exec -x", false},
	{"docker podman", "--entrypoint", false},
	{"openvpn", "--up --down --route-up", true},
	{"git", "--upload-pack --receive-pack --extcmd --open-files-in-pager", true},
	{"git", "--tree-filter --index-filter --msg-filter --env-filter --commit-filter --parent-filter", false},
	{"make gmake", "--eval -E", false},
}

// outputTable are the options of programs whose value is a file that they write.
var outputTable = []struct{ programs, options, dir names }{
	{"curl xh http fetch axel", "-o --output", "--output-dir"},
	{"wget", "-O --output-document", "-P --directory-prefix"},
	{"aria2c", "-o --out", "-d --dir"},
}

// wrappers run the rest of their words as a command: the name, the short options with a value
// of their own, and the number of words before the command.
const wrappers = `sudo ugpCThDRU|doas uC|env uCS|nohup|nice n|ionice cnp|time fo|timeout ks 1|gtimeout ks 1|xargs IEdnPLsa|gxargs IEdnPLsa
exec a|command|builtin|stdbuf ioe|setsid|busybox|toybox|watch n|chroot - 1|unshare|nsenter tSG|strace eopEs|ltrace eo|parallel j|caffeinate tw
entr|flock wE 1|script TBIOo|su - 9|runuser - 9|ssh bcDEeFIiJlLmOoPpQRSWw 1|chrt - 1|taskset - 1|systemd-run puEd|pkexec u|gosu - 1|su-exec - 1|setpriv|firejail
proxychains f|proxychains4 f|torsocks|torify|chronic|unbuffer|rlwrap|xvfb-run sne|dbus-run-session|start-stop-daemon|setarch - 1|linux64|prlimit
uv|poetry C|pipenv|bundle|conda np|hyperfine wrmMnN|doppler|dotenv ef|op|faketime - 1|cgexec g|numactl CmNp|perf eo|valgrind|mosh p 1|autossh MopLRD 1|eatmydata|fakeroot|sshpass pfd
run0|capsh|exec-path|winpty|wsl due|aws-vault - 2|chpst u|runcon turl|tsocks|dash-run`

// startWords are the calls of other languages that start a program.
const startWords = `\b(system|popen|execSync|execFileSync|execFile|spawnSync|spawn|shell_exec|passthru|proc_open|os\.execute|getoutput|getstatusoutput|call|check_call|check_output|Popen|run|capture2e?|capture3|Command|doShellScript|exec[lv]?[pe]*|do shell script)\b\s*(\(|["'\[])|\bos\.spawn\w*\(|\b(exec|system)\s+\w|\|&?\s*getline|\|&?\s*["']|%x[\(\[{]|\bqx\b`

// patternTable are the patterns about texts that no row can take apart.
var patternTable = []pattern{
	// Statements of a database.
	{"drop", `(?i)\b(DROP\s+(TABLE|DATABASE|SCHEMA|USER|ROLE|OWNED)|TRUNCATE(\s+TABLE)?\s+[\w."` + "`" + `]+\s*(CASCADE\s*|RESTART IDENTITY\s*)*(;|$)|DELETE\s+FROM\s+[\w."` + "`" + `]+\s*(;|$)|FLUSHALL|FLUSHDB|dropDatabase\s*\(|DETACH\s+DELETE\s+n\b)|\.drop\s*\(\s*\)|\bdeleteMany\s*\(\s*(\{\s*\})?\s*\)`, false},
	{"pieced", `__import__\s*\(\s*['"]\w*['"]\s*\+|getattr\s*\(.*['"]\s*\+\s*['"]|\$\w+\s*=\s*["']\w+["']\s*\.\s*["']\w+["'];.*\$\w+\(`, false},
	{"grant", `(?i)\bGRANT\s+ALL\b.*(\bPUBLIC\b|'%'|\*\.\*)|\bSUPERUSER\b`, false},
	{"hook", `(?m)^\s*(ProxyCommand|LocalCommand)\s+\S|autocmd\s+\w+\s+\S+\s+:?!`, false},
	{"weak", `NOPASSWD|PermitRootLogin yes|PermitEmptyPasswords yes|StrictHostKeyChecking[ =]no|sslVerify ?= ?false|strict-ssl ?= ?false|insecure-registries|check_certificate ?= ?off|host\s+all\s+all\s+\S+\s+trust`, false},

	// Programs in other languages, by their words.
	{"start", startWords, true},
	{"eval", `(^|[^\w.])(exec|eval|compile|instance_eval|assert|create_function|Function|runInThisContext|execScript|(?i:iex|Invoke-Expression)|loadstring|load)\b\s*[\(\{$\s]|(?i:\[scriptblock\]::create)|\.then\(\s*eval\s*\)|vm\.run\w*\(|pickle\.loads`, true},
	{"fetch", `urlopen|urlretrieve|requests\.(get|post)|httpx\.|http\.client|LWP::|HTTP::Tiny|Net::HTTP|open-uri|URI\.open|\bfetch\s*\(|https?['"]?\)?\.(get|request)\s*\(|axios|file_get_contents\s*\(\s*['"]https?:|DownloadString|DownloadFile|Invoke-WebRequest|Invoke-RestMethod|\biwr\b|\birm\b|Net\.WebClient|\bget\s*\(?\s*["']https?:|Start-BitsTransfer`, false},
	{"decode", `b64decode|b32decode|decode_base64|unhexlify|fromhex|base64_decode|hex2bin|str_rot13|gzinflate|gzuncompress|['"](base64|hex)['"]|\batob\s*\(|unpack1?\s*\(?\s*['"][uHm]|\bpack\s*\(?\s*['"][uHmC]|marshal\.loads|zlib\.decompress|codecs\.decode|Base64\.(strict_|urlsafe_)?decode64|FromBase64String|fromCharCode|\bchr\b|bytes\(\[|%c%c|\[::-1\]|\.reverse\b|Buffer\.from`, false},
	{"dials", `(?i)TCPSocket|TCPServer|fsockopen|create_?connection|IO::Socket|Socket::INET|stream_socket|/inet/tcp|TCPClient|\bconnect\b|\blisten\b|\bbind\b`, false},
	{"socket", `(?i)\bsocket|TCPSocket|fsockopen|\bnet['"]\)\.(connect|createConnection|Socket)|\bnet\.(connect|createConnection|Socket)|TCPClient|/inet/tcp|Socket::INET|stream_socket_client`, false},
	{"shellname", `pty\.spawn|dup2|["'` + "`" + `](/bin/|/usr/bin/)?(ba|z|da)?sh(\s+-i)?\b|cmd\.exe|powershell|/bin/(ba)?sh\b`, false},
	{"fork", `while\s*(\(?\s*(True|1|true)\s*\)?)?\s*[:{]?\s*(do)?\s*(os\.|pcntl_)?fork|fork\s*(\(\))?\s+while|loop\s*(\{|do)\s*(Process\.)?fork|for\s*\(;;\)[^;]*(fork|spawn)`, true},
	{"write", `\bopen\s*\([^\n]*,\s*(mode\s*=\s*)?['"](a|w|r\+)[bt+]*['"]|write_text|write_bytes|writeFile|appendFile|createWriteStream|File\.(write|open)|file_put_contents|fopen|copyfile|copyFile|shutil\.(copy|move)|os\.rename|['"]>>?|Add-Content|Set-Content|Out-File`, false},
	{"send", `requests\.(post|put|get)|urlopen|httpx\.|http\.client|\.sendall?\s*\(|fetch\s*\(|https?\.(request|get)|axios|Net::HTTP|LWP::|HTTP::Tiny|curl_exec|fsockopen|smtplib|net\.connect|(?i:socket)|\)\.(request|connect)\s*\(|Invoke-RestMethod|Invoke-WebRequest|UploadString|UploadFile`, true},
	{"environ", `os\.environ\b([^\[.g]|$)|process\.env\b([^.\[]|$)|%ENV\b|\$_ENV\b|ENV\.to_|Get-ChildItem env:`, true},
	{"keyvar", `(?i)(environ|getenv|process\.env|ENV)\b\W{0,3}(get)?\W{0,3}\w*(SECRET|TOKEN|PASSW|_KEY|CREDENTIAL)`, false},
	{"login", `(?i)authorization|bearer`, false},
	{"unlink", `\b(os\.remove|os\.unlink|unlink|unlinkSync|File\.delete|\.unlink|os\.rmdir|delete)\b|\bunlink['"]?,\s*glob`, false},
	{"many", `\b(glob|rglob|listdir|walk|scandir|iterdir|readdir\w*|find|foreach|opendir)\b|\bDir\[|<\*|<[^>]*\*[^>]*>`, true},
	{"query", `\.execute\w*\s*\(|\.query\s*\(|dropDatabase\s*\(|\.drop\s*\(\s*\)|deleteMany\s*\(\s*(\{\s*\})?\s*\)`, true},

	// Text that is no shell's.
	{"text-rm", `(^|[^\w./-])rm\s+(-\w+\s+)*-(\w*[rR]|-recursive)`, false},
	{"text-push", `git\s+push\s+.*(--force|\s-f\b)`, false},
	{"text-reset", `git\s+reset\s+--hard`, false},
	{"text-sql", `(?i)\b(DROP\s+(TABLE|DATABASE|SCHEMA)|TRUNCATE\s+TABLE)\b`, false},
	{"text-chmod", `chmod\s+(-\w+\s+)*0?777`, false},
	{"text-mkfs", `(^|[^\w./-])mkfs(\.\w+)?\s+\S`, false},
	{"text-dd", `(^|[^\w./-])dd\s+.*of=/dev/`, false},
	{"text-device", `>\s*/dev/(sd|hd|vd|xvd|nvme|mmcblk|disk|mem|kmem|loop|dm-|md)`, false},
	{"text-pipe", `(curl|wget)\b.*\|\s*(sudo\s+)?(ba|z|da|k)?sh\b`, false},
	{"text-tcp", `\bsh\s+-i\s+>&\s*/dev/tcp/`, false},
}
