package transport

import (
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
)

func TestParseTarget(t *testing.T) {
	for _, row := range []struct{ in, scheme, user, hostPort, path string }{
		{"https://git.example.org/acme/registry.git", "https", "", "git.example.org", "/acme/registry.git"},
		{"https://me@git.example.org:443/a", "https", "me", "git.example.org", "/a"},
		{"HTTPS://git.example.org:8443/a%20b", "https", "", "git.example.org:8443", "/a b"},
		{"http://[::1]:80/a", "http", "", "[::1]", "/a"},
		{"git://example.org/a", "git", "", "example.org", "/a"},
		{"ssh://git@example.org:2222/a/b.git", "ssh", "git", "example.org:2222", "/a/b.git"},
		{"ssh://git@example.org/~me/b.git", "ssh", "git", "example.org", "~me/b.git"},
		{"git@example.org:a/b.git", "ssh", "git", "example.org", "a/b.git"},
		{"example.org:b", "ssh", "", "example.org", "b"},
		{"/srv/git/../a.git", "file", "", "", "/srv/a.git"},
		{"./a:b", "file", "", "", "a:b"},
		{"../x", "file", "", "", "../x"},
		{"file:///srv/a%20b", "file", "", "", "/srv/a b"},
		{"file://localhost/srv/a", "file", "", "", "/srv/a"},
	} {
		got, err := parseTarget(row.in)
		if err != nil || got.scheme != row.scheme || got.user != row.user || got.hostPort() != row.hostPort || got.path != row.path {
			t.Errorf("parseTarget(%q) = %+v, %v; want %+v", row.in, got, err, row)
		}
	}
}

func TestParseTargetRefuses(t *testing.T) {
	for _, in := range []string{
		"", "-x", "--upload-pack=touch /tmp/x", "ext::sh -c id", "ext::sh%20-c%20id", "fd::3", "transport::address",
		"ftp://example.org/a", "rsync://example.org/a", "javascript://x/a", "file://other.host/x", "file://",
		"https://example.org", "https://example.org/", "https:///a", "https://user:pw@example.org/a",
		"https://example.org/a?x=y", "https://example.org/a#x", "https://example.org/a\nb", "https://exa\x00mple.org/a",
		"https://example.org/a%0ahost=evil", "https://example.org/a%00", "https://exam ple.org/a", "https://example.org:99999/a",
		"ssh://-oProxyCommand=id/a", "ssh://example.org/-a/../x"[:0] + "ssh://git@-x/a", "ssh://-x@example.org/a",
		"-oProxyCommand=id:a", "a@-oProxyCommand=id:a", "host:-oX", "host:", "ssh://exa$(id)mple.org/a", "a;b@host:x",
		"git://me@example.org/a", "[git@example.org:22]:a", strings.Repeat("x", 3000), "https://ex\u0430mple.org/a", "\x1b[2J",
	} {
		if got, err := parseTarget(in); !fault.Is(err, fault.Usage) {
			t.Errorf("parseTarget(%q) = %+v, %v; want Usage", in, got, err)
		}
	}
	if _, err := Dial("http://example.org/a", Options{}); !fault.Is(err, fault.Usage) || !strings.Contains(fault.HintOf(err).String(), "https://example.org/a") {
		t.Errorf("plain http to another host: %v, hint %q", err, fault.HintOf(err).String())
	}
	for _, ok := range []string{"http://127.0.0.1:3000/a", "http://localhost/a", "http://[::1]/a"} {
		if _, err := Dial(ok, Options{}); err != nil {
			t.Errorf("Dial(%q): %v", ok, err)
		}
	}
	if _, err := Dial("https://user:hunter2@example.org/a", Options{}); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("password in the address: %v", err)
	}
}

func TestSSHArguments(t *testing.T) {
	r, err := Dial("ssh://git@example.org:2222/o'brien/$(id)!.git", Options{})
	if err != nil {
		t.Fatal(err)
	}
	args := r.dial.(*sshDialer).args(uploadPack)
	tail := strings.Join(args[len(args)-7:], "|")
	want := `-p|2222|-l|git|--|example.org|git-upload-pack '/o'\''brien/$(id)'\!'.git'`
	if tail != want {
		t.Errorf("arguments end in %s, want %s", tail, want)
	}
}

func TestValidRef(t *testing.T) {
	for _, ok := range []string{"refs/heads/main", "refs/heads/spaces/project", "refs/tags/acme/tool/hi@1.4.0", "refs/rye/system/0a", "refs/tags/v1.0+build", "refs/heads/_x"} {
		if !validRef(ok) {
			t.Errorf("validRef(%q) = false", ok)
		}
	}
	for _, bad := range []string{"", "HEAD", "main", "refs/", "refs/heads/", "refs//x", "refs/heads/a..b", "refs/heads/.x", "refs/heads/x.lock",
		"refs/heads/x.lock/y", "refs/heads/-x", "refs/heads/a b", "refs/heads/@{x", "refs/heads/x.", "refs/heads/a\x7f", "refs/heads/a\\b",
		"refs/heads/ä", "refs/../x/y", "refs/heads/../../config", "refs/heads/x^{}", "refs/heads/" + strings.Repeat("x", 2000), "config", "refs/heads/a:b"} {
		if validRef(bad) {
			t.Errorf("validRef(%q) = true", bad)
		}
	}
}

func FuzzAddress(f *testing.F) {
	for _, s := range []string{"https://a@h:1/x", "git@h:x", "/x", "ssh://h/~u/x", "file:///x", "ext::x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got, err := parseTarget(in)
		if err != nil {
			if !fault.Is(err, fault.Usage) {
				t.Fatalf("parseTarget(%q): %v", in, err)
			}
			return
		}
		if strings.ContainsAny(got.user+got.host+got.path, "\n\r\x00") || strings.HasPrefix(got.host, "-") || strings.HasPrefix(got.user, "-") {
			t.Fatalf("parseTarget(%q) = %+v", in, got)
		}
		if got.scheme == "ssh" && strings.HasPrefix(got.path, "-") {
			t.Fatalf("parseTarget(%q) = %+v", in, got)
		}
	})
}
