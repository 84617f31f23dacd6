package command

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/rye-os/rye/objects"
)

// judgeActs analyses a program's own acts. The long list of programs that destroy lasting data is
// a table: destructive.
func (c *call) judgeActs() {
	t := texts(c.args)
	if c.name == "find" || strings.HasPrefix(c.name, "mkfs") || names("docker podman nerdctl").has(c.name) {
		// Here a word such as --help may belong to another program.
	} else if only := before(t, "--"); slices.ContainsFunc(only, rehearses) {
		return
	}
	tier, label := act(c.name, t)
	if label == "" {
		label = destroyed(c.name, t)
		tier = T3
	}
	if label != "" {
		c.add(label, tier, c.all)
	}
	switch c.name {
	case "rm", "unlink", "shred":
		for _, v := range operands(c.args, "") {
			if traces().MatchString(v.text) {
				c.add("traces removed", T3, c.all)
			} else if len(v.text) < 4096 && system().MatchString(v.text) {
				c.add("system file changed", T3, c.all)
			}
		}
	case "docker", "podman", "nerdctl", "docker-compose":
		if wide(t) {
			c.add("container with the host's powers", T3, c.all)
		}
	}
}

// rehearses reports whether an option is a dry run.
func rehearses(w string) bool {
	switch w {
	case "--dry-run", "--dryrun", "--dry_run", "--dry-run=client", "--dry-run=server", "--dry-run=true", "--help", "--version", "--what-if", "--noop", "--just-print", "--check", "--simulate", "--pretend", "-WhatIf":
		return true
	}
	return false
}

func before(list []string, word string) []string {
	if i := slices.Index(list, word); i >= 0 {
		return list[:i]
	}
	return list
}

func act(name string, args []string) (Tier, string) {
	switch name {
	case "rm":
		if option(args, "rR", "--recursive") {
			return deletion(args)
		}
		if slices.Contains(args, "*") {
			return T3, "recursive delete"
		}
	case "shred", "wipe", "srm":
		if len(args) > 0 {
			return T3, "recursive delete"
		}
	case "git":
		return git(args)
	case "chmod":
		return chmod(args)
	case "chown", "chgrp":
		if option(args, "R", "--recursive") && len(args) > 1 && slices.ContainsFunc(args[1:], func(w string) bool { return path.IsAbs(w) && top(w) }) {
			return T3, "wide-open permissions"
		}
	case "setfacl":
		for _, w := range args {
			if strings.Contains(w, "o::rwx") || strings.Contains(w, "other::rwx") {
				return T3, "wide-open permissions"
			}
		}
	case "install":
		if i := slices.Index(args, "-m"); i >= 0 && i+1 < len(args) {
			return chmod(args[i+1:])
		}
	case "dd":
		for _, w := range args {
			if to, ok := strings.CutPrefix(w, "of="); ok && device(to) {
				return T4, "raw disk write"
			}
		}
	case "cp", "tee", "cat", "truncate", "pv", "ddrescue", "mv":
		if len(args) > 0 && device(args[len(args)-1]) && (name == "tee" || len(args) > 1 && name != "cat") {
			return T4, "write to device"
		}
	case "rsync":
		return rsync(args)
	case "kill", "pkill", "killall", "killall5":
		if name == "kill" && len(args) > 1 && args[len(args)-1] == "-1" || name == "killall5" {
			return T3, "system stopped"
		}
	case "shutdown", "reboot", "halt", "poweroff", "telinit", "init":
		if len(args) == 0 && name != "init" && name != "telinit" || len(args) > 0 && (strings.Trim(args[0], "+0123456789:") == "" || args[0] == "now" || strings.HasPrefix(args[0], "-")) {
			return T3, "system stopped"
		}
	case "DROP", "drop", "Drop", "TRUNCATE", "truncate-table":
		if len(args) > 1 && names("table database schema").has(strings.ToLower(args[0])) {
			return T3, "SQL drop"
		}
	case "DELETE", "delete":
		if len(args) == 2 && strings.EqualFold(args[0], "from") {
			return T3, "SQL drop"
		}
	case "dropdb":
		return T3, "SQL drop"
	}
	if strings.HasPrefix(name, "mkfs") || formatters.has(name) {
		return formats(name, args)
	}
	return 0, ""
}

const formatters names = "mke2fs newfs wipefs mkswap mkntfs mkdosfs mkexfatfs sgdisk sfdisk gdisk fdisk parted blkdiscard cryptsetup diskutil badblocks hdparm nvme mdadm pvremove"

// top reports whether a path is the top of a system, of a home, or of the current directory.
func top(w string) bool {
	clean := path.Clean(strings.TrimSuffix(w, "*"))
	if w == "" {
		return false // unknown, so not T4
	}
	return w == "*" || clean == "/" || clean == ".." || clean == "~" || clean == "." || clean == ".ai" || clean == ".git" ||
		clean == "./.git" || names("/etc /usr /var /home /root /boot /bin /sbin /lib /lib64 /opt /dev /Users /System /Library").has(clean)
}

// deletion is critical for the top of a tree. It allows names that the next build makes again.
func deletion(args []string) (Tier, string) {
	again, some := true, false
	for i, w := range args {
		if w == "--no-preserve-root" {
			return T4, "recursive delete"
		}
		if strings.HasPrefix(w, "-") && !slices.Contains(args[:i], "--") {
			continue
		}
		if top(w) {
			return T4, "recursive delete"
		}
		some, again = true, again && regrowable(w)
	}
	if some && again {
		return 0, ""
	}
	return T3, "recursive delete"
}

// regrowable reports whether a path is below the current directory and made again by the next
// build, or a temporary file of the text itself.
func regrowable(w string) bool {
	if strings.HasPrefix(w, "/tmp/mktemp.X") {
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
		if names("node_modules target dist coverage __pycache__ .next .cache .venv venv").has(path.Base(dir)) {
			return true
		}
	}
	ext := path.Ext(last)
	return len(ext) > 1 && ext != last && regrown.has("*"+ext)
}

func rsync(args []string) (Tier, string) {
	deletes := false
	var from []string
	for _, w := range args {
		deletes = deletes || strings.HasPrefix(w, "--delete")
		if !strings.HasPrefix(w, "-") {
			from = append(from, w)
		} else if len(w) > 1 && w[1] != '-' && strings.Contains(w, "n") {
			return 0, ""
		}
	}
	if !deletes || len(from) > 0 && regrowable(from[0]) {
		return 0, ""
	}
	return T2, "recursive delete"
}

// formats analyses programs that make, wipe or partition a disk. On a file they do no harm, and
// some only print without an option such as -a.
func formats(name string, args []string) (Tier, string) {
	for _, w := range args {
		if w == "-n" || w == "--no-act" || w == "-V" || w == "--help" || w == "--dry-run" || w == "-l" || w == "-p" || w == "--list" || w == "print" || w == "-N" {
			return 0, ""
		}
	}
	does := true
	has := func(words names) { does = slices.ContainsFunc(args, words.has) }
	switch name {
	case "wipefs":
		does = option(args, "ao", "--all")
	case "cryptsetup":
		has("luksFormat luksErase erase reencrypt")
	case "diskutil":
		has("eraseDisk eraseVolume zeroDisk secureErase partitionDisk reformat")
		if does {
			return T4, "format filesystem"
		}
	case "badblocks":
		does = option(args, "w", "")
	case "hdparm":
		has("--security-erase --security-erase-enhanced --trim-sector-ranges")
	case "nvme":
		has("format sanitize")
	case "mdadm":
		has("--zero-superblock --stop")
	case "parted":
		has("mklabel mktable rm mkpart")
	case "sgdisk":
		has("-Z -o -z --zap-all --clear -d -g")
	}
	for _, w := range args {
		if does && (w == "" || device(w)) {
			return T4, "format filesystem"
		}
	}
	return 0, ""
}

// trunk are the branches that others build on.
const trunk names = "main master trunk develop development production prod staging stable live release HEAD"

func trunkName(ref string) bool {
	ref = strings.TrimPrefix(strings.TrimPrefix(ref, "refs/heads/"), "refs/tags/")
	return ref == "" || trunk.has(ref) || strings.HasPrefix(ref, "release") || len(ref) > 1 && ref[0] == 'v' && ref[1] >= '0' && ref[1] <= '9'
}

// git analyses git by its subcommand, which may follow options.
func git(args []string) (Tier, string) {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		if names("-C -c --git-dir --work-tree --config-env").has(args[0]) {
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
	short := func(letter string) bool { return option(rest, letter, "") }
	switch args[0] {
	case "push":
		if short("n") {
			return 0, ""
		}
		return pushed(rest)
	case "reset":
		for _, w := range rest {
			if len(w) > 3 && strings.HasPrefix("--hard", w) {
				return T3, "hard reset"
			}
		}
	case "clean":
		if option(rest, "f", "--force") && option(rest, "dxX", "--directories") && !short("n") {
			return T3, "recursive delete"
		}
	case "filter-branch", "filter-repo":
		return T3, "history rewritten"
	case "reflog":
		if slices.Contains(rest, "expire") && slices.ContainsFunc(rest, func(w string) bool {
			return strings.HasSuffix(w, "=now") || strings.HasSuffix(w, "=all") || w == "--all"
		}) {
			return T3, "history rewritten"
		}
	case "gc":
		if slices.Contains(rest, "--prune=now") || slices.Contains(rest, "--prune=all") {
			return T3, "history rewritten"
		}
	case "update-ref":
		if short("d") {
			return T3, "history rewritten"
		}
	case "branch", "tag":
		if short("Dd") && slices.ContainsFunc(rest, func(w string) bool { return trunk.has(w) }) {
			return T3, "history rewritten"
		}
	case "stash":
		if len(rest) > 0 && rest[0] == "clear" {
			return T3, "hard reset"
		}
	}
	return 0, ""
}

func pushed(rest []string) (Tier, string) {
	deletes := option(rest, "d", "--delete")
	seen := 0
	for _, w := range rest {
		switch {
		case w == "--mirror", w == "--prune", strings.HasPrefix(w, "--force"), len(w) > 1 && w[0] == '+', len(w) > 4 && strings.HasPrefix("--force", w):
			return T3, "force push"
		case strings.HasPrefix(w, "-"):
			continue
		case w != ":" && w[:min(1, len(w))] == ":" && trunkName(w[1:]), deletes && seen > 0 && trunkName(w):
			return T3, "branch deleted"
		}
		seen++
	}
	if option(rest, "f", "--force") {
		return T3, "force push"
	}
	return 0, ""
}

// option reports whether args has one of the short options, alone or bundled, or the long one,
// abbreviated as getopt allows. Words after "--" are not options.
func option(args []string, short, long string) bool {
	for _, w := range args {
		switch {
		case w == "--":
			return false
		case strings.HasPrefix(w, "--"):
			if name, _, _ := strings.Cut(w, "="); len(name) > 4 && strings.HasPrefix(long, name) {
				return true
			}
		case len(w) > 1 && w[0] == '-' && strings.ContainsAny(w[1:], short) && !strings.Contains(w, "/"):
			return true
		}
	}
	return false
}

// chmod analyses the mode, which is the first word that is not an option.
func chmod(args []string) (Tier, string) {
	for _, w := range args {
		if w == "" || w[0] == '-' && strings.Trim(w, "-RHLPcfv") == "" || strings.HasPrefix(w, "--") {
			continue
		}
		if set := setID(w); set {
			return T3, "set-id program"
		}
		if option(args, "R", "--recursive") && len(args) > 0 && top(args[len(args)-1]) && path.IsAbs(args[len(args)-1]) {
			return T3, "wide-open permissions"
		}
		digits := strings.TrimLeft(w, "0")
		if len(digits) >= 3 && len(digits) <= 4 && strings.Trim(digits, "01234567") == "" && strings.HasSuffix(digits, "7") && digits[len(digits)-2] == '7' && digits[len(digits)-3] == '7' || digits == "666" {
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

// setID reports whether a mode makes a program run as its owner.
func setID(mode string) bool {
	if len(mode) >= 4 && strings.Trim(mode, "01234567") == "" {
		d := mode[len(mode)-4]
		return d == '4' || d == '6' || d == '5' || d == '7'
	}
	for _, clause := range strings.Split(mode, ",") {
		who, what, ok := strings.Cut(clause, "+")
		if !ok {
			who, what, ok = strings.Cut(clause, "=")
		}
		if ok && strings.Trim(who, "ugoa") == "" && strings.Trim(what, "rwxXst") == "" && strings.Contains(what, "s") && (who == "" || strings.ContainsAny(who, "ua")) {
			return true
		}
	}
	return false
}

// harmlessDevices are devices that every program may write to at any time.
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

// wide reports whether a container gets the powers of its host.
func wide(args []string) bool {
	if len(args) == 0 || !slices.ContainsFunc(args[:min(4, len(args))], func(w string) bool { return w == "run" || w == "create" || w == "exec" }) {
		return false
	}
	for i, w := range args {
		next := ""
		if i+1 < len(args) {
			next = args[i+1]
		}
		name, glued, ok := strings.Cut(w, "=")
		if ok {
			next = glued
		}
		switch name {
		case "--privileged":
			return next != "false"
		case "-v", "--volume":
			from, _, _ := strings.Cut(next, ":")
			if hostPath(from) {
				return true
			}
		case "--mount":
			for _, f := range strings.Split(next, ",") {
				if k, from, _ := strings.Cut(f, "="); (k == "source" || k == "src") && hostPath(from) {
					return true
				}
			}
		case "--pid", "--ipc", "--userns", "--uts", "--cgroupns":
			if next == "host" {
				return true
			}
		case "--cap-add":
			if names("ALL SYS_ADMIN SYS_PTRACE SYS_MODULE SYS_RAWIO DAC_READ_SEARCH all CAP_SYS_ADMIN").has(next) {
				return true
			}
		case "--security-opt":
			if strings.HasSuffix(next, "unconfined") || next == "label=disable" || next == "label:disable" {
				return true
			}
		case "--device":
			if device(next) {
				return true
			}
		}
	}
	return false
}

func hostPath(p string) bool {
	return p == "/" || strings.HasSuffix(p, "docker.sock") || names("/etc /root /boot /proc /sys /dev /var /var/run /home /usr /var/lib/docker").has(path.Clean(p))
}

// destructive maps programs to the words that make them destroy lasting data, if their arguments
// have these words in this order. A comma separates alternatives; * is any text.
var destructive = sync.OnceValue(func() map[string][]rule {
	out := map[string][]rule{}
	for _, section := range []struct{ label, rows string }{
		{"cloud resources destroyed", `terraform destroy|tofu destroy|terragrunt destroy,destroy-all|terragrunt run-all destroy|terraform apply -destroy|tofu apply -destroy|terraform state rm
pulumi destroy|cdk destroy|cdktf destroy|serverless,sls remove|sst remove|copilot delete|eb terminate|amplify delete|sam delete
helm uninstall,delete,del|helmfile destroy,delete|flux uninstall|argocd app delete|eksctl delete|kops delete|kind delete cluster*|k3d cluster delete|minikube delete --all
kubectl,oc,k delete ns,namespace,namespaces,pv,pvc,persistentvolume*,node,nodes,no,crd,crds,customresourcedefinition*,deployment,deployments,deploy,statefulset,statefulsets,sts,daemonset,ds,service,svc,ingress,secret,secrets,all,project,ns/*,namespace/*,pv/*,pvc/*,deploy/*,deployment/*,sts/*,statefulset/*,node/*,crd/*,cluster,clusterrole
kubectl,oc,k delete --all,-A,--all-namespaces|kubectl,oc,k replace --force
aws s3 rb|aws s3 rm --recursive|aws s3 sync --delete|aws * delete-bucket,delete-db-*,delete-table,delete-stack,delete-cluster,delete-function,delete-user,delete-role,delete-repository,delete-volume,delete-snapshot,delete-vpc,delete-file-system,delete-hosted-zone,delete-secret,delete-key*,delete-objects,delete-domain,delete-service,delete-load-balancer,delete-nodegroup,delete-log-group,delete-backup*,delete-identity-pool,delete-user-pool,delete-trail,delete-queue,delete-topic
aws * terminate-*,purge-*,schedule-key-deletion,deregister-*|aws iam create-access-key,attach-*-policy,put-*-policy,create-login-profile|aws cloudtrail stop-logging
gcloud * delete|gcloud * purge|gsutil rm -r,-R,-ra,-rf|gsutil rb|gcloud storage rm,rb|az * delete,purge|az delete,purge|bq rm|doctl * delete|doctl * destroy|linode-cli * delete|hcloud * delete|scw * delete|oci * delete
heroku apps:destroy,pg:reset,addons:destroy,destroy|fly,flyctl destroy|fly,flyctl * destroy|vercel remove,rm|netlify sites:delete|firebase firestore:delete,projects:delete,hosting:disable|railway delete,down|wrangler delete|wrangler * delete|supabase db reset|supabase projects delete|ibmcloud * delete
gh repo delete|gh release delete|gh api DELETE|glab repo delete|rclone purge,delete|s3cmd del,rb --recursive,-r,--force|s3cmd rb|mc rm,rb --recursive,--force|b2 delete-bucket|consul kv delete -recurse|etcdctl del --prefix|nomad system gc|nomad job stop -purge|vault secrets disable
docker,podman volume rm,prune|docker,podman system prune --volumes|docker stack rm|docker swarm leave --force|podman system reset|vagrant destroy|multipass purge|virsh undefine,destroy,vol-delete|VBoxManage unregistervm --delete|lxc delete --force|proxmox destroy|qm destroy
npm unpublish|cargo yank|gem yank|twine remove|dotnet nuget delete`},
		{"format filesystem", `lvremove|vgremove|zpool destroy|zfs destroy|btrfs subvolume delete|format c:,C:`},
		{"SQL drop", `rails,rake db:drop,db:reset,db:drop:all|bin/rails db:drop|php artisan migrate:fresh,db:wipe,migrate:reset|artisan migrate:fresh,db:wipe|prisma migrate reset|npx prisma migrate reset|sequelize db:drop|mysqladmin drop|redis-cli FLUSHALL,FLUSHDB,flushall,flushdb|knex migrate:rollback --all|sequelize-cli db:drop|typeorm schema:drop|mix ecto.drop|manage.py flush,reset_db|django-admin flush|influx delete|cqlsh DROP|dropuser|flyway clean|alembic downgrade base|liquibase drop-all|curl DELETE *:9200*`},
		{"accounts or privileges changed", `usermod sudo,wheel,root,admin|gpasswd -a sudo,wheel,root|adduser sudo,wheel,root|useradd 0|useradd sudo,wheel,root|usermod 0|userdel *|deluser *|chpasswd|passwd -d|passwd root|visudo -f|setcap *|dscl append|sudoedit /etc/sudoers*|kubectl,oc,k run --privileged|kubectl,oc,k run *hostPID*|kubectl,oc,k create clusterrolebinding *cluster-admin*|gcloud projects add-iam-policy-binding *owner*`},
		{"protection off", `iptables,ip6tables -F,--flush|iptables,ip6tables -P *|nft flush|ufw disable,reset|setenforce 0,Permissive|csrutil disable|spctl --master-disable,--global-disable|systemctl stop,disable,mask auditd,firewalld,apparmor,ufw,iptables,nftables,fail2ban,falco,auditd.service,firewalld.service|service auditd,firewalld,ufw,iptables stop|auditctl -D|auditctl -e 0|aa-disable,aa-teardown|aa-complain *|history -c|journalctl --vacuum*|sysctl *randomize_va_space=0|swapoff -a|Set-MpPreference *|netsh advfirewall set *|insmod *|rmmod *|modprobe *.ko|chattr -i`},
		{"system stopped", `systemctl poweroff,reboot,halt,kexec|systemctl isolate rescue*|loginctl terminate-user|nsenter -t 1`},
	} {
		for _, row := range strings.FieldsFunc(section.rows, func(r rune) bool { return r == '|' || r == '\n' }) {
			f := strings.Fields(row)
			r := rule{label: section.label}
			for _, w := range f[1:] {
				r.words = append(r.words, strings.Split(w, ","))
			}
			for _, name := range strings.Split(f[0], ",") {
				out[name] = append(out[name], r)
			}
		}
	}
	return out
})

type rule struct {
	label string
	words [][]string
}

func destroyed(name string, args []string) string {
	for _, r := range destructive()[name] {
		if r.meets(args) {
			return r.label
		}
	}
	return ""
}

func (r rule) meets(args []string) bool {
	i := 0
	for _, alternatives := range r.words {
		for ; ; i++ {
			if i == len(args) {
				return false
			}
			if slices.ContainsFunc(alternatives, func(p string) bool { return matches(p, args[i]) }) {
				break
			}
		}
		i++
	}
	return true
}

func matches(pattern, w string) bool {
	if pattern == "*" {
		return w != "" && w[0] != '-'
	}
	if !strings.Contains(pattern, "*") {
		return pattern == w
	}
	return len(w) < 256 && objects.Covers(pattern, w)
}

var sqlDrop = lazy(`(?i)\b(DROP\s+(TABLE|DATABASE|SCHEMA|USER|ROLE|OWNED)|TRUNCATE(\s+TABLE)?\s+[\w."` + "`" + `]+\s*(CASCADE\s*)?(;|$)|DELETE\s+FROM\s+[\w."` + "`" + `]+\s*(;|$)|FLUSHALL|dropDatabase\s*\(|\.drop\s*\(\s*\)|deleteMany\s*\(\s*(\{\s*\})?\s*\)|DETACH\s+DELETE\s+n\b)`)
var sqlShell = lazy(`(?m)(^|;|\s)\s*(\\!|system\s|\.shell\s|\.system\s)\s*(\S.*)$|(?i)\b(?:FROM|TO)\s+PROGRAM\s+'([^']+)'`)
var sqlComment = lazy(`(?m)--.*$|(?s:/\*.*?\*/)`)

// judgeSQL analyses statements for a database.
func (m *machine) judgeSQL(text string) {
	m.spend(2 * len(text))
	text = sqlComment().ReplaceAllString(text, "")
	if found := sqlDrop().FindString(text); found != "" {
		m.add("SQL drop", T3, found)
	}
	for _, f := range sqlShell().FindAllStringSubmatch(text, 8) {
		m.ordered(value{text: f[3] + f[4]}, "sql", text, true)
	}
}

// judgeSQLClient analyses the statements of a database client: in its options, words, files or
// input.
func (c *call) judgeSQLClient() {
	c.judgeSQL(c.in.text)
	for i, v := range c.args {
		if i > 0 && (c.args[i-1].text == "-f" || c.args[i-1].text == "--file") {
			c.judgeSQL(c.files.read(v.text).text)
			continue
		}
		if strings.ContainsAny(v.text, " \t\n.") {
			c.judgeSQL(v.text)
		}
	}
}
