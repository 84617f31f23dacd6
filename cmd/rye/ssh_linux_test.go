package main_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye/internal/testkit"
)

// sshServer starts an OpenSSH server at an address of the other machine, with one key of its own and
// one that may log in. It returns the line of its key for known_hosts, without a name.
func sshServer(t *testing.T, in *internet, at, key string) (line string) {
	t.Helper()
	sshd, err := exec.LookPath("sshd")
	if err != nil {
		if sshd = "/usr/sbin/sshd"; !isFile(sshd) {
			t.Skip("no sshd here")
		}
	}
	testkit.NeedProgram(t, "ssh")
	dir := t.TempDir()
	testkit.Must(t, exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, "host")).Run())
	testkit.Must(t, exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).Run())
	public, err := os.ReadFile(key + ".pub")
	testkit.Must(t, err)
	testkit.WriteFile(t, filepath.Join(dir, "keys"), string(public), 0o600)
	testkit.WriteFile(t, filepath.Join(dir, "config"), "ListenAddress "+at+"\nHostKey "+dir+"/host\nAuthorizedKeysFile "+dir+"/keys\nPidFile none\nStrictModes no\nPermitRootLogin yes\nUsePAM no\nPasswordAuthentication no\n", 0o600)
	testkit.Must(t, os.MkdirAll("/run/sshd", 0o755)) // of every sshd that separates privileges
	args := append(inNetwork(in.there)[1:], sshd, "-D", "-e", "-f", filepath.Join(dir, "config"))
	cmd := exec.Command("nsenter", args...)
	stderr, err := cmd.StderrPipe()
	testkit.Must(t, err)
	testkit.Must(t, cmd.Start())
	log := bufio.NewReader(stderr)
	said := ""
	for !strings.Contains(said, "Server listening") {
		one, err := log.ReadString('\n')
		if said += one; err != nil {
			t.Fatalf("sshd ended: %s", said)
		}
	}
	rest := make(chan string)
	go func() {
		raw, _ := io.ReadAll(log)
		rest <- said + string(raw)
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		if text := <-rest; t.Failed() {
			t.Logf("sshd: %s", text)
		}
		cmd.Wait()
	})
	mine, err := os.ReadFile(filepath.Join(dir, "host.pub"))
	testkit.Must(t, err)
	return strings.Join(strings.Fields(string(mine))[:2], " ")
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// TestGitOverSSH: git reaches a real server of SSH, at a host that needs name and at one that only a
// pattern covers. For the second, rye sets the command that goes through the proxy. Another host is
// refused, and the result names it.
func TestGitOverSSH(t *testing.T) {
	t.Parallel()
	needBash(t)
	in := newInternet(t, webAddress+" git.example.org", dbAddress+" git.other.net")
	h := newHome(t)
	h.env = withoutNetwork(h.env)
	key := filepath.Join(h.dir, "key")
	line := sshServer(t, in, webAddress, key)
	repo := filepath.Join(t.TempDir(), "repo.git")
	testkit.Must(t, exec.Command("git", "init", "-q", "--bare", repo).Run())
	h.write("known", "git.example.org "+line+"\n")
	const clone = `
export GIT_SSH_COMMAND="${GIT_SSH_COMMAND-ssh} -i $PWD/key -o UserKnownHostsFile=$PWD/known -o StrictHostKeyChecking=yes -o BatchMode=yes"
git ls-remote ssh://root@git.example.org/REPO && echo "named: $?"
git ls-remote ssh://root@git.other.net/REPO || echo "other: $?"
`
	for name, needs := range map[string]string{"named": "{read: [.], net: ['git.example.org:22']}", "pattern": "{read: [.], net: ['*.example.org:22']}"} {
		h.write(".ai/tools/acme/"+name+".sh", netTool("Clone", needs, strings.ReplaceAll(clone, "/REPO", repo)))
	}
	h.rye("sign", "--all")
	for _, name := range []string{"named", "pattern"} {
		r := h.runIn(in, "tool:acme/"+name)
		if !strings.Contains(r.Data.Stdout, "named: 0\n") || !strings.Contains(r.Data.Stdout, "other: 128\n") {
			t.Errorf("%s: %s%s", name, r.Data.Stdout, r.Data.Stderr)
		}
		if len(r.Metadata.Hosts) != 1 || r.Metadata.Hosts[0].Host != "git.example.org" || r.Metadata.Hosts[0].Port != 22 || r.Metadata.Hosts[0].Received < 500 {
			t.Errorf("%s: it reached %+v", name, r.Metadata.Hosts)
		}
		if name == "pattern" && !strings.Contains(r.raw, "reaching git.other.net:22: its needs do not name it") {
			t.Errorf("%s: the result does not name the host:\n%s", name, r.raw)
		}
	}
}
