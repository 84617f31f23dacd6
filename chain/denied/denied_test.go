package denied

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/objects"
)

// had is a run in /p that may read its project, and write build in it, without network.
func had() Had {
	return Had{
		Sandbox: primitive.Sandbox{
			Tier: primitive.S3, Read: []string{"/p"}, Exec: []string{"/p", "/run/rye"}, Write: []string{"/p/build"},
			Protect: []string{"/p/.ai", "/p/.git", "/p/build/.git"}, Hide: []string{"/home/ann/.config/rye"},
		},
		Needs: objects.Needs{Declared: true, Read: []string{"."}, Write: []string{"build"}},
		Dir:   "/p", Temp: "/tmp", Project: "/p",
		Common: []string{"/usr", "/etc", "/proc", "/dev"},
		Never:  []string{"/p/.ai", "/home/ann/.config/rye", "/etc/shadow"},
		Exists: func(path string) bool {
			return slices.Contains([]string{"/", "/p", "/p/data.txt", "/p/src", "/home", "/home/ann", "/home/ann/.cargo", "/home/ann/.ssh/id_rsa", "/home/ann/.config/rye/trust.yaml"}, path)
		},
	}
}

func TestDenied(t *testing.T) {
	also := func(write string) string { return "needs: {read: [.], write: [build, " + write + "]}" }
	net := func(host string) string { return "needs: {read: [.], write: [build], net: [" + host + "]}" }
	cargo := "needs: {read: [., /home/ann/.cargo], write: [build]}"
	for _, tc := range []struct{ said, what, need string }{
		// files
		{"touch: cannot touch '.git/x': Read-only file system", "writing .git/x: read-only for this tool", also(".git")},
		{"fatal: Unable to create '/p/.git/index.lock': Read-only file system", "writing .git/index.lock: read-only for this tool", also(".git")},
		{"/run/rye/tools/a.sh: line 20: out.txt: Read-only file system", "writing out.txt: read-only for this tool", also(".")},
		{"/run/rye/tools/a.sh: line 20: data.txt: Read-only file system", "writing data.txt: read-only for this tool", also("data.txt")},
		{"sed: couldn't open temporary file ./sedAbC: Read-only file system", "writing sedAbC: read-only for this tool", also(".")},
		{"tar (child): t.tgz: Cannot open: Read-only file system", "writing t.tgz: read-only for this tool", also(".")},
		{"fatal: cannot mkdir sub: Read-only file system", "writing sub: read-only for this tool", also(".")},
		{"mv: cannot move 'data.txt' to 'x': Read-only file system", "writing data.txt: read-only for this tool", also(".")},
		{"mkdir: cannot create directory ‘src/new/deep’: Read-only file system", "writing src/new/deep: read-only for this tool", also("src")},
		{"OSError: [Errno 30] Read-only file system: 'src/x'", "writing src/x: read-only for this tool", also("src")},
		{"Error: EROFS: read-only file system, open 'src/x'", "writing src/x: read-only for this tool", also("src")},
		{"open src/x: permission denied (create)", "writing src/x: read-only for this tool", also("src")},
		{"java.io.FileNotFoundException: /p/src/x (Read-only file system)", "writing src/x: read-only for this tool", also("src")},
		{"cat: /home/ann/.cargo: No such file or directory", "reading /home/ann/.cargo: not in view", cargo},
		{"PermissionError: [Errno 13] Permission denied: '/home/ann/.cargo'", "reading /home/ann/.cargo: not in view", cargo},
		{"Error: ENOENT: no such file or directory, mkdir '/home/ann/n'", "writing /home/ann/n: read-only for this tool", also("/home/ann/n")},
		// what no need gives, or none should
		{"a.sh: line 9: .ai/y: Read-only file system", "writing .ai/y: no need gives this", ""},
		{"cp: cannot create regular file '.git/hooks/post-commit': Read-only file system", "writing .git/hooks/post-commit: no need gives this", ""},
		{"cp: cannot create regular file '.git/modules/m/config': Read-only file system", "writing .git/modules/m/config: no need gives this", ""},
		{"cat: /home/ann/.config/rye/trust.yaml: No such file or directory", "reading /home/ann/.config/rye/trust.yaml: no need gives this", ""},
		{"cat: /etc/shadow: Permission denied", "reading /etc/shadow: no need gives this", ""},
		{"cat: /home/ann/.ssh/id_rsa: No such file or directory", "reading /home/ann/.ssh/id_rsa: not in view, and by its name a secret", ""},
		{"ls: cannot access '/home/ann': No such file or directory", "reading /home/ann: not in view, and a need for all of it would be too wide", ""},
		// the network
		{"curl: (6) Could not resolve host: registry.example", "reaching registry.example: this tool has no network", net("registry.example")},
		{"fatal: unable to access 'https://git.example:444/x/': Could not resolve host: git.example", "reaching git.example:444: this tool has no network", net(`"git.example:444"`)},
		{"npm error request to https://r.example/left-pad failed, reason: getaddrinfo EAI_AGAIN r.example", "reaching r.example: this tool has no network", net("r.example")},
		{"bash: line 1: db: Temporary failure in name resolution", "reaching db: this tool has no network", net("db")},
		{"bash: line 1: /dev/tcp/127.0.0.1/5432: Connection refused", "reaching 127.0.0.1:5432: this tool has no network", net(`"127.0.0.1:5432"`)},
		{"Error: connect ECONNREFUSED 127.0.0.1:5432", "reaching 127.0.0.1:5432: this tool has no network", net(`"127.0.0.1:5432"`)},
		{`connection to server at "db.example", port 5432 failed: Connection refused`, "reaching db.example:5432: this tool has no network", net(`"db.example:5432"`)},
		{"dial tcp [2001:db8::1]:8080: connect: network is unreachable", "reaching [2001:db8::1]:8080: this tool has no network", net(`"[2001:db8::1]:8080"`)},
		{"Get \"http://x.example/\": dial tcp: lookup x.example: no such host", "reaching x.example:80: this tool has no network", net(`"x.example:80"`)},
		{"OSError: [Errno 101] Network is unreachable", "reaching the network: this tool has none", ""},
		// limits
		{"dd: error writing '/tmp/big': No space left on device", "more temporary files than its limit, perhaps", "limits: {temp: 4GiB}"},
		{"bash: fork: Resource temporarily unavailable", "more processes than its limit, perhaps", ""},
		{"sort: memory exhausted: Cannot allocate memory", "more memory than its limit, perhaps", "limits: {memory: 1GiB}"},
	} {
		h := had()
		h.Limits.Memory = 512 << 20
		got := Read([]byte("before\n"+tc.said+"\nafter\n"), h)
		if len(got) != 1 || got[0] != (Denial{tc.what, tc.need}) {
			t.Errorf("%s:\n got %+v\nwant %s; %s", tc.said, got, tc.what, tc.need)
		}
		item := "#!/bin/sh\n# version: 1.0.0\n# description: X\n# executor_id: a/b\n# category: acme\n# " + tc.need + "\ntrue\n"
		it, err := objects.Parse("tools/acme/x.sh", []byte(item))
		if err == nil && strings.HasPrefix(tc.need, "needs") && (!it.Meta.Needs.Declared || it.Validate() != nil) {
			err = fmt.Errorf("%+v, %v", it.Meta.Needs, it.Validate())
		}
		if err != nil {
			t.Errorf("%s: an item cannot state %s: %v", tc.said, tc.need, err)
		}
	}
}

// TestNotDenied: what the sandbox does not explain is not explained.
func TestNotDenied(t *testing.T) {
	for _, said := range []string{
		"", "all well", "cat: nothing.txt: No such file or directory", "cat: /home/ann/nothing: No such file or directory",
		"cat: /p/nothing: No such file or directory", "cc: build/x.c: Permission denied", "mv: cannot move 'build/a' to 'build/b': Permission denied",
		"cat: /etc/passwd: Permission denied", "bash: ./run.sh: Permission denied", "ls: cannot open directory '/': Permission denied", "write /p/build/x: no space left on device",
		"read: Resource temporarily unavailable", "ping: socket: raw: Operation not permitted",
		strings.Repeat("x", 3000) + ": Permission denied",
	} {
		if got := Read([]byte(said), had()); len(got) != 0 {
			t.Errorf("%q: %+v", said, got)
		}
	}
}

// TestDeniedPorts: where the network is open in part, only what is closed is the sandbox's
// doing. Who stated no needs had the project, which stating some would take away.
func TestDeniedPorts(t *testing.T) {
	h := had()
	h.Needs = objects.Needs{}
	h.Sandbox.Net, h.Sandbox.Ports = true, []uint16{53, 80, 443}
	const whole = "needs: {read: [.], write: [.], net: ["
	for said, want := range map[string]string{
		"bash: line 1: /dev/tcp/db.example/5432: Permission denied":                             whole + `"db.example:5432"]}`,
		"Error: connect EACCES 127.0.0.1:5432 - Local (0.0.0.0:0)":                              whole + `"127.0.0.1:5432"]}`,
		"curl: (7) Failed to connect to db.example port 5432 after 0 ms: Couldn't connect":      whole + `"db.example:5432"]}`,
		"socket: Operation not permitted":                                                       whole + "unix]}",
		"    _socket.socket.__init__(self)\nPermissionError: [Errno 1] Operation not permitted": whole + "unix]}",
		"curl: (6) Could not resolve host: nosuch.example":                                      "",
		"curl: (7) Failed to connect to a.example port 443 after 0 ms: Connection refused":      "",
	} {
		got := Read([]byte(said), h)
		if want == "" && len(got) != 0 || want != "" && (len(got) != 1 || got[0].Need != want) {
			t.Errorf("%q: %+v, want %s", said, got, want)
		}
	}
	h.Sandbox.Tier = primitive.S2 // where all that is refused is a permission
	if got := Read([]byte("bash: src/x: Permission denied"), h); len(got) != 1 || got[0].What != "writing src/x: read-only for this tool" {
		t.Errorf("S2: %+v", got)
	}
	h.Sandbox.Ports = nil
	if got := Read([]byte("connect ECONNREFUSED 127.0.0.1:5432"), h); got != nil {
		t.Errorf("in the open: %+v", got)
	}
}

// TestDeniedHosts: in a network of its own, a tool is told which host its needs lack. A host that
// they name failed by itself, and so did a server of the run.
func TestDeniedHosts(t *testing.T) {
	h := had()
	h.Needs = objects.Needs{Declared: true, Net: []string{"db.example:5432", "a.example"}}
	h.Sandbox.Net, h.Sandbox.Own, h.Sandbox.Tier, h.Sandbox.Ports = true, true, primitive.S3, []uint16{53, 443, 5432}
	for said, want := range map[string]string{
		"curl: (6) Could not resolve host: nosuch.example":                                 `net: ["db.example:5432", a.example, nosuch.example]`,
		"bash: line 1: /dev/tcp/db.example/443: Connection refused":                        `net: ["db.example:5432", a.example, db.example]`,
		"Error: connect ECONNREFUSED 127.0.0.1:6379":                                       `net: ["db.example:5432", a.example, "127.0.0.1:6379"]`,
		"bash: line 1: /dev/tcp/db.example/5432: Connection reset by peer":                 "",
		"curl: (7) Failed to connect to a.example port 443 after 0 ms: Connection refused": "",
		"Error: connect ECONNREFUSED 127.0.0.1:40123":                                      "",
	} {
		got := Read([]byte(said), h)
		if want == "" && len(got) != 0 || want != "" && (len(got) != 1 || !strings.Contains(got[0].Need, want) || !strings.Contains(got[0].What, "its needs do not name it")) {
			t.Errorf("%q: %+v, want %s", said, got, want)
		}
	}
}

// TestDeniedPrograms: messages of programs without a host, or without its port. The text of the tool
// names them, and what it also names is no part of the answer.
func TestDeniedPrograms(t *testing.T) {
	const failure = "Temporary failure in name resolution"
	for _, tc := range []struct{ said, text, net string }{
		{"wget: unable to resolve host address ‘a.example.org’", "", "a.example.org"},
		{"Caused by: [6] Couldn't resolve host name (Could not resolve host: a.example.org); class=Net (12)", "", "a.example.org"},
		{`psql: error: could not translate host name "db.example.org" to address: ` + failure, "", `"db.example.org:5432"`},
		{"ssh: Could not resolve hostname db.example.org: " + failure, "", `"db.example.org:22"`},
		{"fatal: unable to look up db.example.org (port 9418) (" + failure + ")", "", `"db.example.org:9418"`},
		{"telnet: could not resolve db.example.org/7000: " + failure, "", `"db.example.org:7000"`},
		{"Could not connect to Redis at db.example.org:6379: " + failure, "", `"db.example.org:6379"`},
		{"Error: getaddrinfo EAI_AGAIN db.example.org", "connect(7000, 'db.example.org')", `"db.example.org:7000"`},
		{"Failed to open TCP connection to db.example.org:8080 (getaddrinfo: " + failure + ")", "", `"db.example.org:8080"`},
		{"  -> [AbstractCommand.cc:799] errorCode=19 CUID#7 - Name resolution for a.example.org failed:No address returned", "", "a.example.org"},
		{"Server lookup failure:  db.example.org:7000, " + failure, "", `"db.example.org:7000"`},
		{"java.net.UnknownHostException: db.example.org", "", "db.example.org"},
		{"w3m: Can't load http://a.example.org/.", "", `"a.example.org:80"`},
		{"socket.gaierror: [Errno -3] " + failure, "# see https://docs.example.org/\nc = create_connection(('db.example.org', 7000))\nopen('data.txt')", `docs.example.org, "db.example.org:7000"`},
		{"-e:1:in `initialize': getaddrinfo: " + failure, `TCPSocket.new("db.example.org", 7000)`, `"db.example.org:7000"`},
		{"socket.gaierror: [Errno -3] " + failure, `HTTPSConnection("a.example.org", timeout=20)`, "a.example.org"},
		{"Bad hostname 'db.example.org'", `PeerAddr => "db.example.org", PeerPort => 7000`, `"db.example.org:7000"`},
		{"OSError: Multiple exceptions: [Errno 111] Connect call failed ('fd72:7965::1', 7000, 0, 0), [Errno 111] Connect call failed ('127.9.0.1', 7000)", "", `"web.example.org:7000"`},
		{"nc: connect to web.example.org (127.9.0.1) port 7000 (tcp) failed: Connection refused", "", `"web.example.org:7000"`},
		{"dial tcp: lookup p.pattern.org on 10.0.0.1:53: dial udp 10.0.0.1:53: connect: network is unreachable", "p.pattern.org:7000", `"p.pattern.org:7000"`},
	} {
		h := had()
		h.Needs = objects.Needs{Declared: true, Net: []string{"web.example.org", "*.pattern.org:7000"}}
		h.Sandbox.Net, h.Sandbox.Own, h.Names, h.Text = true, true, map[string]string{"127.9.0.1": "web.example.org"}, []byte(tc.text)
		got := Read([]byte(tc.said), h)
		if want := `needs: {net: [web.example.org, "*.pattern.org:7000", ` + tc.net + "]}"; len(got) != 1 || got[0].Need != want {
			t.Errorf("%s:\n got %+v\nwant %s", tc.said, got, want)
		}
	}
	// A host that a need names failed by itself, and a text of a program that did not complain says nothing.
	h := had()
	h.Needs = objects.Needs{Declared: true, Net: []string{"web.example.org"}}
	h.Sandbox.Net, h.Sandbox.Own, h.Text = true, true, []byte("get https://web.example.org/ and data.txt, 10 and 1.2.3")
	for _, said := range []string{"socket.gaierror: [Errno -3] " + failure, "Connection refused", "all well"} {
		if got := Read([]byte(said), h); len(got) != 0 {
			t.Errorf("%s: %+v", said, got)
		}
	}
}

// TestDeniedIsBounded: a program says what it likes, as much as it likes.
func TestDeniedIsBounded(t *testing.T) {
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, "touch: cannot touch 'src/%d/\x1b[2Jx\u202e': Read-only file system\n", i)
	}
	got := Read([]byte(b.String()), had())
	if len(got) != maxDenials {
		t.Errorf("%d denials", len(got))
	}
	for _, d := range got {
		if strings.ContainsAny(d.What+d.Need, "\x1b\u202e\n") || len(d.What) > 400 || strings.Contains(d.What, "src/0/") {
			t.Errorf("%+v", d)
		}
	}
	h := had()
	h.Exists = func(string) bool { return true }
	if got := Read([]byte("cat: /home/ann/"+strings.Repeat("a", 1000)+": Permission denied"), h); len(got) != 1 || got[0].Need != "" || len(got[0].What) > 400 {
		t.Errorf("a long path: %+v", got)
	}
}

func FuzzDenied(f *testing.F) {
	f.Add("touch: cannot touch '.git/x': Read-only file system")
	f.Add("curl: (6) Could not resolve host: registry.example")
	f.Add("OSError: [Errno 30] Read-only file system: '/home/ann/.config/rye/../x'")
	f.Add("gaierror: Temporary failure in name resolution ('db.example.org', 7000)")
	f.Fuzz(func(t *testing.T, said string) {
		h := had()
		h.Text = []byte(said)
		for _, d := range Read([]byte(said), h) {
			if strings.ContainsAny(d.What+d.Need, "\x1b\n\r\u202e") || d.What == "" || len(d.What) > 1200 {
				t.Errorf("%q: %+v", said, d)
			}
			for _, never := range []string{", .ai", "/home/ann/.config/rye/", ".git/hooks"} {
				if strings.Contains(d.Need, never) {
					t.Errorf("%q: a need for what none gives: %+v", said, d)
				}
			}
		}
	})
}
