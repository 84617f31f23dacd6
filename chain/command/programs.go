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
	repacks                        // writes its input in another form
	editsText                      // runs commands of its own language, with a shell in it
	lists                          // prints the names of all files
	mails                          // sends its input to a person
	printsClip                     // prints what a person copied
	packs                          // prints an archive, or everything in a store
	describes                      // prints what this machine is
	listsWork                      // prints names that a next command works through
	buildsImages                   // runs the steps of a Dockerfile
	compiles                       // makes a program of source text
	builds                         // runs the recipes in files
)

var roleNames = []string{"shell", "code", "fetch", "send", "socket", "secrets", "pass", "say", "name", "decode", "change", "scratch", "sql", "starts", "writes", "inplace", "archive", "packs", "edits", "lists", "mails", "clip", "pack", "describe", "work", "image", "compile", "build"}

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
gh ^gist
gh ^release download
ftp,drill,kdig,delv,host,whois,finger,elinks,curlie,wget2,lwp-request,lwp-download,websocat,tftp,ipfs,hurl
gcloud storage cat
gsutil,gcloud,rclone,mc,s5cmd,azcopy cp,copy,copyto -
az storage blob download
s5cmd,mc cat`},
	{sends, `curl,wget,http,https,xh,nc,ncat,netcat,socat,ftp,lftp,tftp,sftp,ssh,telnet,mail,mailx,mutt,sendmail,swaks,dig,nslookup,host,ping,croc,wormhole,drill,kdig,delv,getent,whois,finger,msmtp,ssmtp,sendemail,sendEmail,s-nail,mpack,wput,ncftpput,cadaver,smbclient,mosquitto_pub,kcat,kafkacat,websocat,grpcurl,curlie,hurl,wget2,ffsend,slackcat,telegram-send,pastebinit,wgetpaste,nopaste,ipfs,hping3,nping,logger,azcopy,s5cmd,megaput,mega-put,gdrive,onionshare-cli,wormhole-william,snmptrap
scp,rsync @lastremote
openssl s_client
aws,gsutil,gcloud,rclone,s3cmd,b2 cp,mv,sync,copy,copyto,put,upload,rsync,upload-file @lastremote
aws,gsutil,gcloud,rclone,s3cmd,b2 cp,mv,sync,copy,copyto,put,upload,rsync,upload-file *:*
mc cp,mv,mirror
az upload
gh ^gist create
gh ^issue,^pr create,comment,edit
gh ^release create,upload
glab snippet create
aws s3api put-object
b2 upload-file,upload_file,file,sync
aws lambda invoke
swift,oci upload,put`},
	{mails, `mail,mailx,mutt,sendmail,swaks,dig,nslookup,host,drill,kdig,delv,whois,finger,msmtp,ssmtp,sendemail,sendEmail,mosquitto_pub,kcat,kafkacat,websocat`},
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
pass,gopass show,*
vault kv,read,token,print
kubectl,oc,k create token
tcpdump,tshark,dumpcap -w=-
arecord,rec,parec,sox *
ffmpeg x11grab,avfoundation,gdigrab,alsa,pulse,v4l2
grep,egrep,rg,ag *passw*,*secret*,*token*,*AKIA*,*api_key*,*PRIVATE* -r,-R,--recursive
rg,ag *passw*,*secret*,*AKIA*,*api_key*
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
pg_dump,pg_dumpall,mysqldump,mariadb-dump,mongodump !-s,--schema-only,--no-data
redis-cli --rdb
docker,podman inspect`},
	{passes, `cat,head,tail,sort,uniq,tac,nl,less,more,pv,dos2unix,unix2dos,grep,egrep,rg,fmt,fold,stdbuf,expand,tee`},
	{says, `echo,printf,yes,print,Write-Output`},
	{namesFiles, `echo,printf,ls,stat,chmod,chown,chgrp,mkdir,touch,test,[,wc,file,du,rm,ssh-add,ssh-keygen,ssh-keyscan,sha256sum,sha1sum,md5sum,shasum,ssh-agent,cd,pushd,docker,export,unset,source,.,ln,true,:,gh,vercel,heroku,fly,kubectl`},
	{decodes, `jq,gojq,yq,jaq *base64d*,*base32d*,*implode*
mmencode,qprint,recode,uconv,zbarimg,basE91,ascii85,a85 *
tar,bsdtar,gtar -O,--to-stdout
tar,bsdtar,gtar x*O*
7z,7za -so
base64,gbase64,base32,base58,basenc -d,-D,--decode
xxd -r,--revert
openssl -d,-decrypt
gpg,gpg2,age -d,--decrypt
gzip,bzip2,xz,zstd,lz4,brotli,lzma -d,--decompress
uudecode,rev,gunzip,zcat,bunzip2,bzcat,unxz,xzcat,zstdcat,uncompress,rot13,steghide
unzip -p`},
	{changes, `cut,paste,tr,sed,gsed,awk,gawk,mawk,nawk,perl,python3,python,ruby,openssl,xxd,gzip,bzip2,xz,jq,yq,iconv,envsubst,m4,cpp,column,strings`},
	{makesScratch, `mktemp`},
	{runsSQL, `sqlplus,isql,impala-shell,hive,beeline,spark-sql,presto,trino,db2,osql,tsql,mssql-cli,cypher-shell,arangosh,surreal,vsql,turso,pscale,litecli,psql,mysql,mariadb,sqlite3,sqlcmd,bq,duckdb,clickhouse-client,clickhouse,cockroach,snowsql,mycli,pgcli,usql,mongosh,mongo,cqlsh,wrangler`},
	{startsOthers, `find,docker,podman,nerdctl`},
	{writesFiles, `tee,sponge,truncate,ed,ex,chattr,Add-Content,Set-Content,Out-File,New-Item`},
	{editsFiles, `sed,gsed,perl,ruby`},
	{archives, `tar,bsdtar,gtar,unzip,7z,7za`},
	{repacks, `zip,gpg,openssl,gzip,base64,age`},
	{editsText, `rview,rvim,vimdiff,pico,emacsclient,most,gimp,mutt,neomutt,lftp,smbclient,sftp,psftp,vim,vi,nvim,ex,view,gdb,lldb,emacs,less,more,ftp,ed`},
	{lists, `ls !@word
git ^ls-files !-d,-o,--others,-i,*.*,*/*`},
	{printsClip, `scrot,screencapture,grim,maim,pbpaste,xclip,xsel,wl-paste,Get-Clipboard`},
	{packs, `tar,bsdtar,gtar c*,-c*,--create
zip -
cpio -o,--create
7z,7za -so
git ^archive,^bundle
docker,podman,nerdctl save,export
restic,borg dump,export-tar
dd if=/dev/*
mysqldump,pg_dump,pg_dumpall,mongodump
etcdctl get --prefix`},
	{describes, `whoami,hostname,uname,id,ifconfig,ipconfig,ps,netstat,ss,arp,lsof,last,w,who,systeminfo,lscpu,dmidecode,groups,hostnamectl
ip a,addr,address,route,r`},
	{listsWork, `docker,podman,nerdctl ps,images,ls
git ^branch,^tag,^for-each-ref,^ls-remote
git ^worktree list
kubectl,oc,k get`},
	{buildsImages, `docker,podman,buildah,nerdctl`},
	{compiles, `go run
gcc,g++,cc,c++,clang,clang++,tcc,rustc,javac,java,jshell,ghc,runghc,swift,kotlinc,nim,csc,dotnet,crystal,v
zig run`},
	{builds, `make,gmake`},
}

// Lists of words.
const (
	shells names = "sh bash zsh dash ksh ash fish mksh csh tcsh rbash yash posh lksh oksh"

	// interpreters run their input as a program when no file is named.
	interpreters names = "python python2 python3 pypy3 perl ruby node nodejs php lua luajit deno bun pwsh powershell osascript tclsh wish expect R Rscript julia elixir groovy jshell scala guile racket octave octave-cli ghci runghc irb pry swipl sbcl clojure bb raku crystal jrunscript jjs qjs slsh gnuplot erl ghc bpftrace"

	// gnuTools are the programs that have a second name with g in front.
	gnuTools names = "rm dd shred cp mv chmod chown chgrp cat tee tac base64 base32 basenc tr cut find env timeout nice nohup head tail ln install truncate printf paste sort split stdbuf unlink touch fold nl uniq csplit"

	// documents are the endings of files that rarely hold programs.
	documents names = ".json .yaml .yml .xml .dat .bmp .ttf .woff .woff2 .sqlite .db .pyc .xlsx .pptx .avi .flac .ogg .md .markdown .txt .rst .adoc .html .htm .log .csv .pdf .doc .docx .png .jpg .jpeg .gif .webp .svg .ico .mp3 .mp4 .wav"

	// tame are the programs that other programs usually start.
	tame names = "cat less more most bat delta vim vi nvim nano emacs emacsclient code true false : echo dot git ssh gh gpg gpg2 gzip pigz zstd zstdmt xz pixz bzip2 pbzip2 lbzip2 lz4 lzop brotli make npm pnpm yarn go cargo date ls pwd sleep cloudflared aws gcloud nc ncat connect corkscrew test printf sort wc column fmt jq gofmt prettier black osxkeychain store cache manager pytest python python3 head tail diff difft meld sed sccache ccache gdb valgrind open xdg-open firefox pass op secret-tool colordiff ydiff"

	// regrown are names that the next build makes again.
	regrown names = "*.log build dist out target node_modules bower_components coverage __pycache__ htmlcov .next .nuxt .turbo .parcel-cache .cache .pytest_cache .mypy_cache .ruff_cache .tox .nox .eggs .gradle .venv venv .nyc_output .svelte-kit .angular .terraform .DS_Store tmp temp .tmp _build public site obj bin debug release Debug Release DerivedData Pods *.pyc *.pyo *.o *.obj *.class *.tmp *.temp *.bak *.orig *.rej *.swp *~ *.egg-info .coverage cmake-build-debug package-lock.json yarn.lock pnpm-lock.yaml"

	// trunk are the branches that others build on.
	trunk names = "main master trunk develop development production prod staging stable live release HEAD"

	// dryRuns are options that make a rehearsal of a command.
	dryRuns names = "--dry-run --dryrun --dry_run --dry-run=client --dry-run=server --dry-run=true --help --version --what-if --noop --just-print --check --simulate --pretend -WhatIf"

	// globalOptions have a value and stand before a subcommand.
	globalOptions names = "-C -c --git-dir --work-tree --config-env -R --repo"

	// knownHosts, with all hosts below them, are where packages and source usually come from.
	knownHosts names = "github.com githubusercontent.com ghcr.io gitlab.com bitbucket.org codeberg.org sr.ht gitea.com npmjs.org npmjs.com yarnpkg.com jsr.io pypi.org pythonhosted.org pytorch.org anaconda.org nvidia.com crates.io rust-lang.org golang.org go.dev goproxy.io rubygems.org packagist.org maven.org maven.apache.org gradle.org google.com googleapis.com gcr.io pkg.dev nuget.org docker.io docker.com quay.io mcr.microsoft.com microsoft.com public.ecr.aws amazonaws.com debian.org ubuntu.com launchpad.net fedoraproject.org archlinux.org alpinelinux.org kernel.org nodejs.org deb.nodesource.com nixos.org brew.sh hashicorp.com k8s.io kubernetes.io npmmirror.com hex.pm cpan.org r-project.org julialang.org huggingface.co savannah.gnu.org gnu.org apache.org eclipse.org mozilla.org jsdelivr.net unpkg.com"

	// usualOwners publish the tools that developers run in their newest state.
	usualOwners names = "golang google googlecloudplatform kubernetes kubernetes-sigs golangci air-verse cosmtrek swaggo golang-migrate sqlc-dev bufbuild goreleaser onsi securego vektra a-h pressly rakyll mvdan dominikh go-delve oapi-codegen deepmap 99designs gotestyourself hashicorp grpc-ecosystem protocolbuffers uber uber-go charmbracelet cweill fatih josharian mgechev magefile go-task helm prometheus docker cli caddyserver envoyproxy istio ory stretchr matryer boyter evilmartians segmentio cue-lang open-policy-agent sigstore anchore aquasecurity client9 kisielk aws awslabs azure microsoft actions github gitlab-org psf pallets astral-sh django pytorch huggingface openai anthropics tensorflow numpy scipy pandas-dev encode tiangolo fastapi python pypa burntsushi sharkdp rust-lang tokio-rs serde-rs facebook facebookresearch vercel vuejs angular sveltejs prettier eslint nodejs denoland oven-sh nixos nix-community homebrew ohmyzsh junegunn neovim tmux-plugins asdf-vm pyenv nvm-sh rbenv jesseduffield argoproj cert-manager jetstack metallb cilium projectcalico fluxcd rook strimzi elastic grafana prometheus-operator longhorn k3s-io rancher tektoncd knative kubernetes-csi nvidia intel ansible ansible-collections jenkinsci apache eclipse postgres redis mongodb mui babel webpack vitejs typicode expressjs sass cypress-io playwright-community puppeteer storybookjs tailwindlabs withastro remix-run nuxt preactjs solidjs phoenixframework elixir-lang rails ruby sinatra jekyll laravel symfony composer"

	// dropHosts keep what anybody sends them.
	dropHosts names = "transfer.sh webhook.site requestbin.com requestbin.net pipedream.net pastebin.com paste.ee hastebin.com 0x0.st file.io ix.io termbin.com dpaste.com dpaste.org bashupload.com gofile.io anonfiles.com catbox.moe oast.fun oast.pro oast.live interact.sh burpcollaborator.net ngrok.io ngrok.app ngrok-free.app trycloudflare.com temp.sh tmpfiles.org beeceptor.com hookbin.com ptsv2.com requestcatcher.com"

	// identity are options whose values identify the user, or name the destination of an answer.
	identity names = "-i -E -o -O --key --cert --cacert --capath --netrc-file --identity --private-key --output --output-document --ca-certificate --certificate -c --cookie-jar -K --config -e --rsh -S --proto --exclude --exclude-from --include"

	// runners are variables whose value is a command.
	runners names = "PAGER GIT_PAGER MANPAGER EDITOR VISUAL SUDO_EDITOR GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_SSH_COMMAND GIT_SSH GIT_EXTERNAL_DIFF GIT_ASKPASS SSH_ASKPASS GIT_PROXY_COMMAND LESSOPEN PROMPT_COMMAND RSYNC_RSH MANOPT BROWSER SYSTEMD_EDITOR SYSTEMD_PAGER PSQL_EDITOR PSQL_PAGER FCEDIT HGEDITOR SVN_EDITOR SVN_SSH CVS_RSH BORG_RSH BORG_PASSCOMMAND RESTIC_PASSWORD_COMMAND LESSCLOSE TEXEDIT MAIL_PAGER BAT_PAGER AWS_PAGER GH_PAGER GH_EDITOR KUBE_EDITOR KUBECTL_EXTERNAL_DIFF RUSTC_WRAPPER SUDO_ASKPASS npm_config_script_shell"

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
	{"man", "-P --pager -H --html", true},
	{"tar gtar bsdtar", "--to-command -I --use-compress-program -F --info-script --new-volume-script --rsh-command --checkpoint-action", true},
	{"zip", "-TT --unzip-command", true},
	{"split", "--filter", true},
	{"sort", "--compress-program", true},
	{"gcc g++ cc c++ clang clang++ gfortran", "-wrapper", true},
	{"scp sftp", "-S", true},
	{"nano", "-s --speller", true},
	{"dmsetup", "--exec", true},
	{"sftp", "-D", true},
	{"wget", "--use-askpass", true},
	{"cpio", "--rsh-command", true},
	{"pidstat perf", "-e", false},
	{"scrot", "-e --exec", true},
	{"mail mailx", "--exec", true},
	{"restic rclone", "--password-command", true},
	{"borg", "--rsh", true},
	{"mysql mariadb", "--pager", true},
	{"svn", "--editor-cmd --diff-cmd --diff3-cmd", true},
	{"aria2c", "--on-download-complete --on-download-error --on-download-start --on-download-stop --on-bt-download-complete", true},
	{"yt-dlp youtube-dl", "--exec", false},
	{"mosh", "--server --client --ssh", true},
	{"xterm urxvt rxvt konsole gnome-terminal xfce4-terminal kitty alacritty foot st", "-e --command -x", false},
	{"sshuttle", "-e --ssh-cmd", true},
	{"genie", "-c", false},
	{"fzf", "--preview", false},
	{"gem", "-e", true},
	{"fly flyctl cf", "-C -c --command", false},
	{"inotifywait nodemon watchexec entr", "--exec -x", false},
	{"docker podman", "--entrypoint", false},
	{"openvpn", "--up --down --route-up", true},
	{"git", "--upload-pack --receive-pack --extcmd --open-files-in-pager", true},
	{"git", "--tree-filter --index-filter --msg-filter --env-filter --commit-filter --parent-filter", false},
	{"make gmake", "--eval -E", false},
}

// outputTable are the options of programs whose value is a file that they write.
var outputTable = []struct{ programs, options, dir names }{
	{"curl xh http fetch axel ftp", "-o --output", "--output-dir"},
	{"Invoke-WebRequest Invoke-RestMethod iwr irm", "-OutFile -outfile -o", ""},
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
run0|capsh|ld.so|ld-linux-x86-64.so.2|logsave - 1|cpulimit lpPe|choom np|softlimit|multitime|pexec|msgexec|msgfilter|exec-path|winpty|wsl due|aws-vault - 2|chpst u|runcon turl|tsocks|dash-run`

// startWords are the calls of other languages that start a program.
const startWords = `\b(system|popen|execSync|execFileSync|execFile|spawnSync|spawn|shell_exec|passthru|proc_open|os\.execute|getoutput|getstatusoutput|call|check_call|check_output|Popen|run|capture2e?|capture3|Command|doShellScript|exec[lv]?[pe]*|do shell script)\b\s*(\(|["'\[])|\bos\.spawn\w*\(|\b(exec|system)\s+[/$\w]|\|&?\s*getline|\|&?\s*["']|%x[\(\[{]|\bqx\b|\bpty\.spawn\b|\bpcntl_exec\b|ProcessBuilder|\bcallCommand\b|\bposix_spawn\w*\(|Runtime\.getRuntime|\bforkpty\b|Start-Process|\(term\s|\(ansi-term\s|\(shell-command\s`

// patternTable are the patterns about texts that no row can take apart.
var patternTable = []pattern{
	// Statements of a database.
	{"update", `(?i)\bUPDATE\s+[\w."` + "`" + `]+\s+SET\s`, false},
	{"where", `(?i)\bWHERE\b`, false},
	{"flush", `(?im)^\s*(flush_?all|flushdb)\b`, false},
	{"drop", `(?i)\b(DELETE\s+FROM\s+\S+\s+WHERE\s+(1\s*=\s*1|true)|\.remove\s*\(\s*\{\s*\}|DROP\s+(KEYSPACE|COLLECTION|VIEW|MATERIALIZED\s+VIEW|TABLESPACE|EXTENSION|TABLE|DATABASE|SCHEMA|USER|ROLE|OWNED)|TRUNCATE(\s+TABLE)?\s+[\w."` + "`" + `]+\s*(CASCADE\s*|RESTART IDENTITY\s*)*(;|$)|DELETE\s+FROM\s+[\w."` + "`" + `]+\s*(;|$)|FLUSHALL|FLUSHDB|dropDatabase\s*\(|DETACH\s+DELETE\s+n\b)|\.drop\s*\(\s*\)|\bdeleteMany\s*\(\s*(\{\s*\})?\s*\)`, false},
	{"tickdecode", "`[^`]*(pack|decode|unhex|\\.chr|b64)[^`]*`", false},
	{"pieced", `\b(getattr|setattr|send|public_send|const_get|require|import_module|__import__)\b\s*\(?[^;\n(]*['"]\w+['"]\s*[+.]\s*['"]|(globals\(\)|__dict__|globalThis|global|window|this|process|vars\(\w*\))\s*\[\s*['"]\w*['"]\s*\+|[&.]\s*\(\s*['"]\w*['"]\s*\+\s*['"]|['"]\w+['"]\s*\+\s*['"]\w+['"]\s*\)\s*\.\s*Invoke|"(\{\d\})+"\s*-f\s*['"]|__import__\s*\(\s*['"]\w*['"]\s*\+|getattr\s*\(.*['"]\s*\+\s*['"]|\$\w+\s*=\s*["']\w+["']\s*\.\s*["']\w+["'];.*\$\w+\(`, false},
	{"grant", `(?i)\bGRANT\s+ALL\b.*(\bPUBLIC\b|'%'|\*\.\*)|\bSUPERUSER\b|WITH\s+GRANT\s+OPTION|\bBYPASSRLS\b|DISABLE\s+ROW\s+LEVEL|IDENTIFIED\s+BY\s+''|ALTER\s+SYSTEM\s+SET\s+(ssl|listen_addresses|password_encryption|log_)|CREATE\s+USER\s+\S+@'%'|SET\s+GLOBAL\s+(validate_password|local_infile|general_log|read_only|super_read_only)`, false},
	{"hook", `(?m)^\s*(ProxyCommand|LocalCommand)\s+\S|\bau(tocmd)?!?\s+\w+(,\w+)*\s+\S+\s+((silent!?|exec(ute)?|:)\s*["']?)*\s*(!|call system)|"runOn"\s*:\s*"folderOpen"|RemoteCommand\s+\S`, false},
	{"startup", `(?im)(^|[\s;:])(silent!?\s+)?!\S|system\s*\(|os\.(execute|system|popen)|jobstart|termopen|call-process|shell-command|start-process|^\s*(exec|exec_always|exec-once|spawn|autospawn_\w+)\s+\S|\.execute\s*\(|run-shell|if-shell|\\!|subprocess|Runtime\.|ProcessBuilder|default-command|default-shell|^\s*["']?\|\s*["']?[/~]|^\s*shell\s|script-shell|node-options|rustc-wrapper|curl\s|wget\s`, false},
	{"webshell", `(?i)(system|eval|exec|passthru|shell_exec|assert|popen|proc_open|include|require)\s*\(?\s*(base64_decode\s*\()?\\?\$_(GET|POST|REQUEST|COOKIE|SERVER)|getRuntime\(\)\.exec\(\s*request|Request(\.Item)?[\[(]["'].*(eval|exec)|eval\s+request|child_process.*req\.(query|body|url)|os\.(popen|system)\(\s*request`, false},
	{"privpod", `privileged:\s*true|hostPID:\s*true|hostIPC:\s*true|path:\s*/\s*(\n|$|\})|"privileged"\s*:\s*true|name:\s*cluster-admin|verbs:\s*\["\*"\]`, false},
	{"plainregistry", `(?m)^\s*(@?[\w:-]*registry|index-url|extra-index-url|index|replace-with|mirror)\s*=\s*"?http://|^\s*deb\s+(\[[^\]]*trusted=yes[^\]]*\])`, false},
	{"justshell", `["'` + "`" + `](/usr)?(/local)?(/bin/)?(ba|z|da|k|a|c|tc|fi)?sh(\s+-[ipl]+)*["'` + "`" + `]\s*(,\s*\[?\s*["'](-[ipl]+|(/bin/)?(ba|z|da)?sh)["']\s*\]?|,\s*\{\s*stdio[^}]*\}|,\s*(\[\]|nil|0|os\.environ))*\s*([\])};|]|$|<@)|exec\s+(/\S*/)?(ba|z|da)?sh\s*(<@|-i|$)`, false},
	{"ttyspawn", `\b(pty\.spawn|pcntl_exec|os\.exec\w+|os\.posix_spawn\w*|\(?(term|ansi-term|eshell|vterm|shell)\s|interact\b|callCommand|launchProcess|System\.Process)`, true},
	{"weak", `NOPASSWD|PermitRootLogin yes|PermitEmptyPasswords yes|StrictHostKeyChecking[ =]no|sslVerify ?= ?false|strict-ssl ?= ?false|insecure-registries|check_certificate ?= ?off|(?m:^\s*-?-?insecure\s*$)|check-certificate ?= ?(off|false)|SSL_VERIFY_NONE|ssl_verify_mode:? ?0|gpgcheck ?= ?0|SigLevel ?= ?Never|verify_ssl ?[:=] ?[Ff]alse|\[trusted=yes\]|Acquire::https?::Verify-Peer "?false|AllowUnauthenticated "?(true|1)|PasswordAuthentication yes|anonymous_enable=YES|bypassPermissions|dangerouslySkipPermissions|host\s+all\s+all\s+\S+\s+trust`, false},

	// Programs in other languages, by their words.
	{"start", startWords, true},
	{"eval", `(^|[^\w.])(exec|eval|compile|instance_eval|assert|create_function|Function|runInThisContext|execScript|(?i:iex|Invoke-Expression)|loadstring|load|include)\b\s*[\(\{$\s]|(?i:\[scriptblock\]::create)|\.then\(\s*eval\s*\)|\(eval\s|&\s*\$\w|vm\.run\w*\(|pickle\.loads`, true},
	{"getline", `\|\s*getline`, true},
	{"ticked", "`[^`]*#\\{[^`]*`", false},
	{"fetch", `\bdownload\s*\(\s*["']https?:|url-retrieve|\b(curl|wget)\s+-?\w|urlopen|urlretrieve|requests\.(get|post)|httpx\.|http\.client|LWP::|HTTP::Tiny|Net::HTTP|open-uri|URI\.open|\bfetch\s*\(|https?['"]?\)?\.(get|request)\s*\(|axios|file_get_contents\s*\(\s*['"]https?:|DownloadString|DownloadFile|Invoke-WebRequest|Invoke-RestMethod|\biwr\b|\birm\b|Net\.WebClient|\bget\s*\(?\s*["']https?:|Start-BitsTransfer`, false},
	{"decode", `b64decode|b32decode|decode_base64|unhexlify|fromhex|base64_decode|hex2bin|str_rot13|gzinflate|gzuncompress|['"](base64|hex)['"]|\batob\s*\(|unpack1?\s*\(?\s*['"][uHm]|\bpack\s*\(?\s*['"][uHmC]|marshal\.loads|zlib\.decompress|codecs\.decode|unescape\(|decodeURIComponent|strrev|string\.char|:reverse\(|\.translate\(|maketrans|\b(tr|y)/[a-zA-Z]-|\.tr\(|\[char(\[\])?\]|-bxor|-join\b|GetString\(|DeflateStream|GzipStream|a85decode|b85decode|Base64\.(strict_|urlsafe_)?decode64|FromBase64String|fromCharCode|\bchr\b|strtonum|bytes\(\[|%c%c|\[::-1\]|\.reverse\b|Buffer\.from`, false},
	{"dials", `(?i)TCPSocket|TCPServer|fsockopen|create_?connection|IO::Socket|Socket::INET|stream_socket|/inet/tcp|TCPClient|\[\s*socket\s+\S|\bconnect\b|\blisten\b|\bbind\b`, false},
	{"socket", `(?i)\bsocket|TCPSocket|fsockopen|\bnet['"]\)\.(connect|createConnection|Socket)|\bnet\.(connect|createConnection|Socket)|TCPClient|/inet/tcp|Socket::INET|stream_socket_client`, false},
	{"shellname", `pty\.spawn|dup2|["'` + "`" + `](/bin/|/usr/bin/)?(ba|z|da)?sh(\s+-i)?\b|cmd\.exe|powershell|/bin/(ba)?sh\b`, false},
	{"fork", `while\s*(\(?\s*(True|1|true)\s*\)?)?\s*[:{]?\s*(do)?\s*(os\.|pcntl_)?fork|fork\s*(\(\))?\s+while|loop\s*(\{|do)\s*(Process\.)?fork|for\s*\(;;\)[^;]*(fork|spawn)`, true},
	{"write", `\bopen\s*\([^\n]*,\s*(mode\s*=\s*)?['"](a|w|r\+)[bt+]*['"]|write_text|write_bytes|writeFile|appendFile|createWriteStream|File\.(write|open)|file_put_contents|fopen|copyfile|copyFile|shutil\.(copy|move)|os\.rename|['"]>>?|Add-Content|Set-Content|Out-File`, false},
	{"send", `requests\.(post|put|get)|urlopen|httpx\.|http\.client|\.sendall?\s*\(|fetch\s*\(|https?\.(request|get)|axios|Net::HTTP|LWP::|HTTP::Tiny|curl_exec|fsockopen|smtplib|net\.connect|(?i:socket)|\)\.(request|connect)\s*\(|Invoke-RestMethod|Invoke-WebRequest|Upload(String|File|Data|Values)|http_post|stream_context_create|file_get_contents\s*\(\s*["']|TCPSocket|open_connection|gethostbyname|getaddrinfo|dns\.(resolve|lookup)|nslookup|\bcurl\b|[wW]eb[sS]ocket|boto3|paramiko|ftplib`, true},
	{"environ", `os\.environ\b([^\[.g]|$)|process\.env\b([^.\[]|$)|%ENV\b|\$_ENV\b|ENV\.to_|getenv\(\s*\)|environ\(\)|Deno\.env\.toObject|(Get-ChildItem|gci|dir|ls)\s+env:|GetEnvironmentVariables|os\.Environ\(|System\.getenv\(\)`, true},
	{"keyvar", `(?i)(environ|getenv|process\.env|ENV)\b\W{0,3}(get)?\W{0,3}\w*(SECRET|TOKEN|PASSW|_KEY|CREDENTIAL)`, false},
	{"login", `(?i)authorization|bearer`, false},
	{"unlink", `\b(os\.remove|os\.unlink|unlink|unlinkSync|File\.delete|\.unlink|os\.rmdir|delete)\b|\bunlink['"]?,\s*glob`, false},
	{"many", `\b(glob|rglob|listdir|walk|scandir|iterdir|readdir\w*|find|foreach|opendir)\b|\bDir\[|<\*|<[^>]*\*[^>]*>`, true},
	{"query", `\.execute\w*\s*\(|\.query\s*\(|dropDatabase\s*\(|\.drop\s*\(\s*\)|deleteMany\s*\(\s*(\{\s*\})?\s*\)`, true},

	// Text that is no shell's.
	{"text-startup", `(?i)Start Menu[\\/]+Programs[\\/]+Startup|CurrentVersion[\\/]+Run|schtasks\s+/create|New-ScheduledTask|Register-ScheduledTask`, false},
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
